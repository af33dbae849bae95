#include "client/internal/events_like.h"

#include <algorithm>

namespace dpledger::client::internal {
namespace {

// How many rounds an epoch of the scheme has, whose number is taken off; 1 without epochs.
uint64_t TakeEpoch(v1::SamplingScheme& scheme) {
  if (scheme.has_disjoint_batches()) {
    scheme.mutable_disjoint_batches()->clear_epoch();
    return scheme.disjoint_batches().batches_per_epoch();
  }
  if (scheme.has_random_allocation()) {
    scheme.mutable_random_allocation()->clear_epoch();
    return scheme.random_allocation().rounds_per_epoch();
  }
  return 1;
}

// As many times `once` as `times`, but no more than a plan may say.
uint64_t Times(uint64_t once, uint64_t times) {
  constexpr uint64_t kMost = uint64_t{1} << 53;
  return once * std::min(times, std::max<uint64_t>(1, kMost / once));
}

}  // namespace

v1::Event EventsLike(const v1::AppendBatchRequest& batch, uint64_t times) {
  v1::Event like;
  for (const v1::NewEntry& entry : batch.entries()) {
    const v1::Event& event = entry.event();
    if (event.has_sampling()) *like.mutable_rounds()->mutable_scheme() = event.sampling().scheme();
    if (event.has_sum_query()) *like.mutable_rounds()->add_queries() = event.sum_query().query();
    if (event.has_rounds() || event.has_mechanism()) like = event;
  }
  if (like.has_mechanism()) {
    const uint64_t once = like.mechanism().has_count() ? like.mechanism().count() : 1;
    like.mutable_mechanism()->set_count(Times(once, times));
    return like;
  }
  v1::RoundsEvent& rounds = *like.mutable_rounds();
  const uint64_t epoch = TakeEpoch(*rounds.mutable_scheme());
  if (rounds.count() > 0) {  // grouped: whole epochs already
    rounds.set_count(Times(rounds.count(), times));
  } else {
    rounds.set_count(Times(epoch, (times + epoch - 1) / epoch));
  }
  return like;
}

}  // namespace dpledger::client::internal
