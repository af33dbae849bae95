// Requests as tests write them, what they expect of errors, and a clock that they set.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger {

inline const std::string kLedger = "projects/p/ledgers/a";

inline v1::CreateLedgerRequest CreateRequest(const std::string& name,
                                             const std::string& request_id = "create") {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  request.mutable_declaration()->set_dataset("adult");
  request.mutable_declaration()->set_unit_of_privacy("example");
  request.mutable_declaration()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  request.mutable_declaration()->set_parameters(v1::FIXED);
  return request;
}

inline v1::AppendBatchRequest Batch(const std::string& ledger, const std::string& writer,
                                    const std::string& request_id) {
  v1::AppendBatchRequest request;
  request.set_ledger(ledger);
  request.set_writer(writer);
  request.set_request_id(request_id);
  return request;
}

inline void AddSampling(v1::AppendBatchRequest& request, uint64_t round) {
  v1::SamplingEvent& sampling = *request.add_entries()->mutable_event()->mutable_sampling();
  sampling.set_round(round);
  sampling.mutable_scheme()->mutable_poisson()->set_probability(0.01);
}

inline void AddSumQuery(v1::AppendBatchRequest& request, uint64_t round) {
  v1::SumQueryEvent& sum = *request.add_entries()->mutable_event()->mutable_sum_query();
  sum.set_round(round);
  sum.mutable_query()->set_group("weights");
  sum.mutable_query()->set_l2_norm_bound(1);
  sum.mutable_query()->set_noise_stddev(1.1);
}

inline void AddNote(v1::AppendBatchRequest& request, const std::string& text) {
  request.add_entries()->mutable_note()->set_text(text);
}

// A batch of one round.
inline v1::AppendBatchRequest RoundBatch(const std::string& ledger, const std::string& writer,
                                         const std::string& request_id, uint64_t round) {
  v1::AppendBatchRequest request = Batch(ledger, writer, request_id);
  AddSampling(request, round);
  AddSumQuery(request, round);
  return request;
}

inline v1::SealLedgerRequest SealRequest(const std::string& name,
                                         const std::string& request_id = "seal") {
  v1::SealLedgerRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  return request;
}

// The code, the reason (empty: none wanted), and the part of the message that a user needs.
inline ::testing::AssertionResult IsError(const absl::Status& status, absl::StatusCode code,
                                          const std::string& reason, const std::string& message) {
  if (status.code() == code && ReasonOf(status).reason == reason &&
      absl::StrContains(status.message(), message)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "got " << status << ", reason " << ReasonOf(status).reason;
}

class TestClock : public Clock {
 public:
  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    ++asked_;
    mutex_.Await(absl::Condition(&released_));
    return now_ + jumped_;
  }
  absl::Duration Steady() override {
    absl::MutexLock lock(&mutex_);
    return now_ - absl::UnixEpoch();
  }
  // So much time passes.
  void Advance(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    now_ += time;
  }
  // The time of day jumps, though no time passes.
  void Jump(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    jumped_ += time;
  }
  void Set(absl::Time now) {
    absl::MutexLock lock(&mutex_);
    now_ = now;
  }
  // Whoever asks for the time waits until Release. So a store's commit thread is held with one
  // group in hand, and what comes meanwhile makes up the next.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    released_ = false;
    asked_ = 0;
  }
  void AwaitAsked() {
    absl::MutexLock lock(&mutex_);
    const auto asked = [this] { return asked_ > 0; };
    mutex_.Await(absl::Condition(&asked));
  }
  void Release() {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }

 private:
  absl::Mutex mutex_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'040);
  absl::Duration jumped_;
  bool released_ = true;
  int asked_ = 0;
};

}  // namespace dpledger
