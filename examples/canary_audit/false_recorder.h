// Tells the ledger of more noise than there is. It exists to show that the audit notices: a control
// of the audit, never part of a trainer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "client/event_recorder.h"

namespace dpledger::canary_audit {

class FalseRecorder : public client::EventRecorder {
 public:
  // `recorder` must outlive it. Noise is said to be `exaggeration` times what it is.
  FalseRecorder(client::EventRecorder* recorder, double exaggeration)
      : recorder_(recorder), exaggeration_(exaggeration) {}

  using EventRecorder::RecordRound;
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme& scheme, v1::SampleSource source,
                                       std::vector<v1::SumQuery> queries) override {
    for (v1::SumQuery& query : queries) {
      query.set_group(query.group() + " [FALSE: CONTROL OF AN AUDIT]");
      query.set_noise_stddev(exaggeration_ * query.noise_stddev());
    }
    return recorder_->RecordRound(scheme, source, std::move(queries));
  }
  absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) override {
    return recorder_->RecordMechanism(mechanism);
  }
  absl::Status AwaitReleasable(uint64_t number) override {
    return recorder_->AwaitReleasable(number);
  }

 private:
  client::EventRecorder* const recorder_;
  const double exaggeration_;
};

}  // namespace dpledger::canary_audit
