// What a trainer promises about a whole ledger (docs/concepts.md). A server checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "accountant/interval.h"

namespace dpledger::client {

// Were schemes, noise and the number of rounds decided without looking at outputs?
enum class Parameters { kFixed, kAdaptive };

// The bound that an ADAPTIVE ledger keeps to.
struct RdpFilter {
  double order = 0;    // > 1
  double epsilon = 0;  // > 0
};
struct ZcdpFilter {
  double rho = 0;  // > 0
};
struct GdpFilter {
  double mu = 0;  // > 0
};
// Of Rényi orders 2 to 24 at once: no order has to be chosen.
struct MixtureFilter {
  double epsilon = 0;  // > 0
  double delta = 0;    // in (0, 1)
};

struct Declaration {
  std::string dataset;          // the same name in every ledger over it. 1 to 256 bytes
  std::string unit_of_privacy;  // what one record is: "example", "user". 1 to 256 bytes
  // These two must be set.
  std::optional<accountant::Adjacency> adjacency;
  std::optional<Parameters> parameters;
  uint64_t planned_rounds = 0;    // FIXED: the number decided in advance; 0 if it is not stated
  bool plan_independent = false;  // the plan did not depend on outputs of other ledgers
  std::variant<std::monostate, RdpFilter, ZcdpFilter, GdpFilter, MixtureFilter> filter;
  // That the run is held to (docs/budgets.md): its name, `x` or
  // projects/{project}/ledgers/{ledger}. The filter is the budget's then, and need not be given.
  std::string budget;
  // Of a budget with blocks, those whose units may be in the data, like "1-12,14". Empty: all.
  std::string blocks;
  std::string released;     // "final model", "all checkpoints". At most 1024 bytes
  std::string description;  // the trainer's own words. At most 4096 bytes
};

}  // namespace dpledger::client
