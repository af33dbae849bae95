// A recorder that keeps what it is told, in order, and lets everything go unless told otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/event_recorder.h"

namespace dpledger::testing {

class ListRecorder : public client::EventRecorder {
 public:
  // Rounds and mechanisms are numbered from here on.
  static constexpr uint64_t kFirstNumber = 41;

  using EventRecorder::RecordRound;
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme& scheme, v1::SampleSource source,
                                       std::vector<v1::SumQuery> round_queries) override {
    calls.push_back(absl::StrCat("record ", next_));
    schemes.push_back(scheme);
    sources.push_back(source);
    queries = std::move(round_queries);
    return Number();
  }
  absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) override {
    calls.push_back(absl::StrCat("record ", next_));
    mechanisms.push_back(mechanism);
    return Number();
  }
  absl::Status AwaitReleasable(uint64_t number) override {
    calls.push_back(absl::StrCat("await ", number));
    return await_status;
  }

  std::vector<std::string> calls;
  std::vector<v1::SamplingScheme> schemes;  // of all rounds
  std::vector<v1::SampleSource> sources;    // of all rounds
  std::vector<v1::SumQuery> queries;        // of the last round
  std::vector<v1::MechanismEvent> mechanisms;
  absl::Status record_status, await_status;  // what the calls answer

 private:
  absl::StatusOr<uint64_t> Number() {
    if (!record_status.ok()) return record_status;
    return next_++;
  }

  uint64_t next_ = kFirstNumber;
};

}  // namespace dpledger::testing
