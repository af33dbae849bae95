// Rounds that the tests of recorders record, and what a server makes of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "client/recorder.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/cli/process.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::client {

inline constexpr char kLedger[] = "projects/default/ledgers/adult";

inline v1::SamplingScheme PoissonScheme(double probability) {
  v1::SamplingScheme scheme;
  scheme.mutable_poisson()->set_probability(probability);
  return scheme;
}
inline v1::SamplingScheme Everything() {
  v1::SamplingScheme scheme;
  scheme.mutable_full_batch();
  return scheme;
}
// A record is in one round of all that are of one epoch.
inline v1::SamplingScheme BatchOf(uint64_t epoch, uint64_t rounds_per_epoch) {
  v1::SamplingScheme scheme;
  scheme.mutable_disjoint_batches()->set_batches_per_epoch(rounds_per_epoch);
  scheme.mutable_disjoint_batches()->set_epoch(epoch);
  return scheme;
}

inline v1::SumQuery Query(const std::string& group, double noise_stddev = 1.5) {
  v1::SumQuery query;
  query.set_group(group);
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(noise_stddev);
  return query;
}

// A round with one query, of noise 1.5 on a Poisson sample, or 1 on that of a scheme.
inline absl::StatusOr<uint64_t> Record(PrivacyRecorder& recorder) {
  return recorder.RecordRound(PoissonScheme(0.01), {Query("weights")});
}
inline absl::Status Release(PrivacyRecorder& recorder) {
  ASSIGN_OR_RETURN(const uint64_t round, Record(recorder));
  return recorder.AwaitReleasable(round);
}
inline absl::Status Release(PrivacyRecorder& recorder, const v1::SamplingScheme& scheme) {
  ASSIGN_OR_RETURN(const uint64_t round, recorder.RecordRound(scheme, {Query("g", 1)}));
  return recorder.AwaitReleasable(round);
}

// A server that is asked what ledgers under ZERO_OUT come to.
class AskedServer : public ::testing::Test {
 protected:
  v1::ComputeEpsilonResponse Epsilon(const std::string& ledger = kLedger) {
    v1::ComputeEpsilonRequest request;
    request.mutable_subject()->add_ledgers(ledger);
    return Ask(request);
  }
  // Of so many releases of all records, by closed form.
  double EpsilonOf(uint64_t rounds) {
    if (rounds == 0) return 0;
    v1::ComputeEpsilonRequest request;
    v1::RoundsEvent& event = *request.mutable_subject()->add_events()->mutable_rounds();
    *event.mutable_scheme() = Everything();
    *event.add_queries() = Query("g", 1);
    event.set_count(rounds);
    request.mutable_options()->set_adjacency(v1::ZERO_OUT);
    return Ask(request).epsilon().upper();
  }
  v1::ComputeEpsilonResponse Ask(v1::ComputeEpsilonRequest request) {
    request.set_delta(1e-5);
    grpc::ClientContext context;
    v1::ComputeEpsilonResponse response;
    const auto status = connection::FromGrpc(
        v1::AccountingService::NewStub(channel_)->ComputeEpsilon(&context, request, &response));
    EXPECT_TRUE(status.ok()) << status;
    return response;
  }

  testing::CrashingServer server_;
  testing::TemporaryFolder folder_;
  const std::shared_ptr<grpc::Channel> channel_ = connection::Connect(server_.address()).value();
  const std::unique_ptr<v1::LedgerService::Stub> ledgers_ = v1::LedgerService::NewStub(channel_);
};

}  // namespace dpledger::client
