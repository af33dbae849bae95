#include "client/event_recorder.h"

#include <utility>

#include "events/event_values.h"

namespace dpledger::client {

absl::StatusOr<uint64_t> EventRecorder::RecordRound(const v1::SamplingScheme& scheme,
                                                    std::vector<v1::SumQuery> queries) {
  return RecordRound(scheme, v1::SAMPLE_STATED, std::move(queries));
}

absl::StatusOr<uint64_t> EventRecorder::RecordRound(
    const accountant::SamplingScheme& scheme, accountant::SampleSource source,
    const std::vector<accountant::SumQuery>& queries) {
  v1::SamplingScheme sample;
  events::ToMessage(scheme, sample);
  std::vector<v1::SumQuery> sums(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) events::ToMessage(queries[i], sums[i]);
  return RecordRound(sample, static_cast<v1::SampleSource>(source), std::move(sums));
}

absl::Status EventRecorder::CheckEpochKept(const accountant::SamplingScheme& scheme,
                                           const EventRecorder* keeper) {
  if (keeper == this) return absl::OkStatus();
  if (keeper != nullptr) {
    return absl::FailedPreconditionError("sampler: was made to be kept with another recorder");
  }
  if (kept() == nullptr || !accountant::EpochOf(scheme)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "scheme: the recorder's state keeps epochs, so that the resumable sampler must draw them");
}

}  // namespace dpledger::client
