// What the C interface's handles are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/internal/in_use.h"
#include "client/privatizer.h"
#include "client/recorder.h"
#include "client/sampler.h"

// Shared with privatizers: in a language that collects garbage the order in which handles are freed
// is nobody's to say.
struct dpledger_recorder {
  std::shared_ptr<dpledger::client::PrivacyRecorder> recorder;
};

struct dpledger_sampler {
  std::unique_ptr<dpledger::client::Sampler> sampler;
  std::vector<uint64_t> sample;
  dpledger::v1::SamplingScheme scheme;  // of `sample`
  bool fresh = false;                   // drawn, and in no round yet
};

struct dpledger_privatizer {
  std::shared_ptr<dpledger::client::PrivacyRecorder> recorder;
  std::unique_ptr<dpledger::client::Privatizer> privatizer;
};

struct dpledger_correlated_run {
  std::shared_ptr<dpledger::client::PrivacyRecorder> recorder;
  std::unique_ptr<dpledger::client::CorrelatedPrivatizer> run;
};

struct dpledger_sum {
  dpledger::client::ClippedSum sum;
  bool empty = true;
  mutable dpledger::client::internal::InUse in_use;
};
