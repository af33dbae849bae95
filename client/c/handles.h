// What the C interface's handles are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/internal/in_use.h"
#include "client/privatizer.h"
#include "client/sampler.h"
#include "dpledger/client.h"

struct dpledger_recorder {
  std::shared_ptr<dpledger::Recorder> recorder;
};

struct dpledger_sampler {
  std::unique_ptr<dpledger::client::Sampler> sampler;
  std::vector<uint64_t> sample;
};

struct dpledger_privatizer {
  std::unique_ptr<dpledger::client::Privatizer> privatizer;
};

struct dpledger_correlated_run {
  std::unique_ptr<dpledger::client::CorrelatedPrivatizer> run;
  std::vector<uint64_t> records = {};  // drawn last
};

struct dpledger_cost {
  dpledger::Cost cost;
  std::vector<const char*> warnings;
};

struct dpledger_sum {
  dpledger::client::ClippedSum sum;
  mutable dpledger::client::internal::InUse in_use;
};
