// The ledger of a benchmark, and its rounds, as they are asked for.
#pragma once

#include <string>

#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::bench {

inline v1::Declaration Declared() {
  v1::Declaration declaration;
  declaration.set_dataset("bench");
  declaration.set_unit_of_privacy("example");
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
  return declaration;
}

inline v1::CreateLedgerRequest NewLedger(const std::string& name) {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id("create");
  *request.mutable_declaration() = Declared();
  return request;
}

// A trainer's round: a sampling event and a sum query.
inline void AddRound(uint64_t round, double probability, double noise_stddev,
                     v1::AppendBatchRequest& batch) {
  v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
  sampling.set_round(round);
  sampling.mutable_scheme()->mutable_poisson()->set_probability(probability);
  v1::SumQueryEvent& sum = *batch.add_entries()->mutable_event()->mutable_sum_query();
  sum.set_round(round);
  sum.mutable_query()->set_group("weights");
  sum.mutable_query()->set_l2_norm_bound(1);
  sum.mutable_query()->set_noise_stddev(noise_stddev);
}

}  // namespace dpledger::bench
