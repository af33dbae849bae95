#include "client/sampler.h"

#include <utility>

namespace dpledger::client {

absl::StatusOr<std::vector<uint64_t>> Sampler::Draw() {
  Drawn drawn{scheme()};
  absl::StatusOr<std::vector<uint64_t>> sample = DrawNext();
  if (!sample.ok()) return sample;
  drawn.records = sample->size();
  waiting_.push_back(std::move(drawn));
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  ++draws_;
  return sample;
}

absl::StatusOr<Sampler::Drawn> Sampler::Waiting(uint64_t number) const {
  const uint64_t gone = draws_ - waiting_.size();
  if (number <= taken_ || number <= gone || number > draws_) {
    return absl::FailedPreconditionError("sampler: has no fresh sample: draw one for each step");
  }
  if (keeps_epochs() && number != taken_ + 1) {
    return absl::FailedPreconditionError(
        "sampler: a draw before this one had no round; an epoch that the next process may carry on "
        "needs a round for each draw");
  }
  return waiting_[number - gone - 1];
}

void Sampler::Take(uint64_t number) {
  taken_ = number;
  while (draws_ - waiting_.size() < number) waiting_.pop_front();
}

}  // namespace dpledger::client
