// A race of trainers for what a filter has left, under one seed, while they, their servers and the
// database are killed: in the end exactly as many rounds are acknowledged as fit.
//
// Six of eight seeds are under a budget, with a ledger for each trainer; in two the trainers write
// to one ledger that its own filter holds. Three servers share a database (cluster_store.h); in two
// of the eight one server has the embedded engine (simulated_disk.h).
//
// Real: what enforces (FilterGate, a new one for each life of a server, with its thread: whoever
// needs it waits, so that the run depends on the seed alone), Grants, and what is real in
// simulation.h. Simulated: the trainers (trainers.h), and the rest as there.
#pragma once

#include <cstdint>

#include "tests/simulation/simulation.h"

namespace dpledger::simulation {

struct RaceFlaws {
  ClusterFlaws cluster;
  // After a restart a gate takes the first batch of each ledger unseen.
  bool gates_forget = false;
  // Trainers do not give back what they have left.
  bool keeps_rest = false;
};

struct RaceSize {
  uint64_t trainers = 8;  // even
  uint64_t rounds = 40;   // that each wants, on average
  uint64_t fits() const { return trainers * rounds * 61 / 100; }
};

// `refusals` are those of rounds and grants that did not fit.
Outcome SimulateRace(uint64_t seed, const RaceFlaws& flaws = {}, bool trace = false,
                     const RaceSize& size = {});

}  // namespace dpledger::simulation
