// One machine room under one seed: clients, a server with its store, two notaries, a witness, a
// disk and a clock, without threads. The seed decides who acts next, what fails and when the power
// goes; the same seed gives the same run.
//
// Real: the embedded store (staging, commit, heads, checkpoints, loading), and the notary.
// Simulated: the database under the store, the lease to sign, the clock, the clients and the
// witness. docs/reliability.md says what that covers.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace dpledger::simulation {

// What is left out, to see that it is noticed.
struct Flaws {
  bool no_sync = false;          // synced writes are not durable
  bool no_fence = false;         // the lease and the registry's size do not stop a second signer
  bool no_request_rows = false;  // answered requests are not remembered
  bool no_keys = false;          // whatever head is stored is believed
};

struct ClusterFlaws {
  bool no_compare = false;       // a commit does not look whether the heads are those it read
  bool no_standby = false;       // commits are answered before the standby has them
  bool no_request_rows = false;  // answered requests are not remembered
  bool no_keys = false;          // whatever head is stored is believed
  bool no_transaction = false;   // the ledgers of a group are committed one after the other
};

struct Outcome {
  absl::Status status;                       // INTERNAL, with the promise that was broken
  uint64_t trace_hash = 0xcbf29ce484222325;  // of all that happened, in order
  uint64_t steps = 0;
  uint64_t acknowledged = 0;
  uint64_t rounds_signed = 0;
  uint64_t lives = 0;     // of the server
  uint64_t faults = 0;    // that struck or were done to the disk
  uint64_t refusals = 0;  // damage that was refused
};

// With `trace`, prints what happens.
Outcome Simulate(uint64_t seed, const Flaws& flaws = {}, bool trace = false);

// The same for two servers that sign and write one database, which commits, conflicts, loses
// connections and fails over. Real: the staging of requests, the heads that servers keep, the
// notary. Simulated: the transactions (tests/simulation/cluster_store.h).
Outcome SimulateCluster(uint64_t seed, const ClusterFlaws& flaws = {}, bool trace = false);

}  // namespace dpledger::simulation
