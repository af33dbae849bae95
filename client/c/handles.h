// What the C interface's handles are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/internal/in_use.h"
#include "client/privatizer.h"
#include "client/recorder.h"
#include "client/run_state.h"
#include "client/sampler.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::client::c {

// A recorder with the state that it keeps, if any. What is made with it shares it: in a language
// that collects garbage the order in which handles are freed is nobody's to say.
struct Opened {
  std::unique_ptr<RunState> state;
  std::unique_ptr<PrivacyRecorder> recorder;  // destroyed before `state`
  // The state has one place for each.
  std::atomic<bool> has_sampler = false, has_run = false;
};

// FAILED_PRECONDITION for a sample of an epoch that the state's own sampler did not draw: its epoch
// would be taken for the one that is carried on. `drawn_for`: whose sampler drew it; null: none's.
absl::Status CheckEpochKept(const Opened& opened, const v1::SamplingScheme& scheme,
                            const Opened* drawn_for);

}  // namespace dpledger::client::c

struct dpledger_recorder {
  std::shared_ptr<dpledger::client::c::Opened> opened;
};

struct dpledger_sampler {
  std::shared_ptr<dpledger::client::c::Opened> opened;  // whose state keeps it; null: none's
  std::unique_ptr<dpledger::client::Sampler> sampler;
  std::vector<uint64_t> sample;
};

struct dpledger_privatizer {
  std::shared_ptr<dpledger::client::c::Opened> opened;
  std::unique_ptr<dpledger::client::Privatizer> privatizer;
};

struct dpledger_correlated_run {
  std::shared_ptr<dpledger::client::c::Opened> opened;
  std::unique_ptr<dpledger::client::CorrelatedPrivatizer> run;
  std::vector<uint64_t> records = {};  // drawn last
};

struct dpledger_cost {
  dpledger::v1::ComputeEpsilonResponse answer;
  std::string root, serialised;
  std::vector<const char*> warnings;
};

struct dpledger_sum {
  dpledger::client::ClippedSum sum;
  bool empty = true;
  mutable dpledger::client::internal::InUse in_use;
};
