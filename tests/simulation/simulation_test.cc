// Many seeds, each a life of a server with faults: no promise is broken. And what is left out on
// purpose is found.
#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/simulation/budget_race.h"
#include "tests/simulation/scarce_memory.h"

namespace dpledger::simulation {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t value = otherwise;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// DPLEDGER_SIMULATION_SEED is the first seed; with DPLEDGER_SIMULATION_SECONDS it goes on for so
// long, otherwise for a thousand seeds. DPLEDGER_SIMULATION_TRACE=1 runs that seed alone, and
// prints it.
TEST(Simulation, KeepsEveryPromiseUnderEverySeed) {
  const bool trace = FromEnvironment("DPLEDGER_SIMULATION_TRACE", 0) != 0;
  const uint64_t first = FromEnvironment("DPLEDGER_SIMULATION_SEED", 1);
  const uint64_t seconds = FromEnvironment("DPLEDGER_SIMULATION_SECONDS", 0);
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  Outcome sum;
  uint64_t seed = first;
  for (; seconds > 0 ? absl::Now() < end : seed < first + 1000; ++seed) {
    const Outcome outcome = Simulate(seed, {}, trace);
    ASSERT_TRUE(outcome.status.ok())
        << "seed " << seed << ", step " << outcome.steps << ": " << outcome.status
        << "\nTo print it: DPLEDGER_SIMULATION_TRACE=1 DPLEDGER_SIMULATION_SEED=" << seed
        << " build/release/bin/simulation_test --gtest_filter='*EveryPromise*'";
    if (trace) return;
    sum.steps += outcome.steps;
    sum.acknowledged += outcome.acknowledged;
    sum.rounds_signed += outcome.rounds_signed;
    sum.lives += outcome.lives;
    sum.faults += outcome.faults;
    sum.refusals += outcome.refusals;
  }
  std::printf(
      "%llu seeds: %llu steps, %llu batches acknowledged, %llu rounds signed, %llu lives, "
      "%llu faults, %llu refusals of damage, out of memory %llu times\n",
      static_cast<unsigned long long>(seed - first), static_cast<unsigned long long>(sum.steps),
      static_cast<unsigned long long>(sum.acknowledged),
      static_cast<unsigned long long>(sum.rounds_signed),
      static_cast<unsigned long long>(sum.lives), static_cast<unsigned long long>(sum.faults),
      static_cast<unsigned long long>(sum.refusals),
      static_cast<unsigned long long>(TimesMemoryRanOut()));
  // That something happens in it.
  EXPECT_GT(sum.acknowledged, 10 * (seed - first));
  EXPECT_GT(sum.rounds_signed, 5 * (seed - first));
  EXPECT_GT(sum.lives, 3 * (seed - first));
  EXPECT_GT(sum.refusals, (seed - first) / 20);
  EXPECT_GT(TimesMemoryRanOut(), (seed - first) / 10);
}

TEST(Simulation, SameSeedGivesTheSameRun) {
  uint64_t different = 0, last = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome once = Simulate(seed);
    const Outcome again = Simulate(seed);
    EXPECT_EQ(once.trace_hash, again.trace_hash) << "seed " << seed;
    EXPECT_EQ(once.steps, again.steps);
    different += seed > 1 && once.trace_hash != last;
    last = once.trace_hash;
  }
  EXPECT_EQ(different, 19u);
}

// How many of so many seeds notice the flaw, and what the first one says of it.
struct Found {
  int seeds = 0;
  std::string first;
};
Found SeedsThatFind(const Flaws& flaws, uint64_t seeds = 100) {
  Found found;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = Simulate(seed, flaws);
    if (outcome.status.ok()) continue;
    if (found.seeds++ == 0)
      found.first = absl::StrCat("seed ", seed, ": ", outcome.status.message());
  }
  std::printf("%d of %d seeds; %s\n", found.seeds, static_cast<int>(seeds), found.first.c_str());
  return found;
}

// Servers on one database: the same, with the same variables.
TEST(Cluster, KeepsEveryPromiseUnderEverySeed) {
  const bool trace = FromEnvironment("DPLEDGER_SIMULATION_TRACE", 0) != 0;
  const uint64_t first = FromEnvironment("DPLEDGER_SIMULATION_SEED", 1);
  const uint64_t seconds = FromEnvironment("DPLEDGER_SIMULATION_SECONDS", 0);
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  Outcome sum;
  uint64_t seed = first;
  for (; seconds > 0 ? absl::Now() < end : seed < first + 300; ++seed) {
    const Outcome outcome = SimulateCluster(seed, {}, trace);
    ASSERT_TRUE(outcome.status.ok())
        << "seed " << seed << ", step " << outcome.steps << ": " << outcome.status;
    if (trace) return;
    sum.acknowledged += outcome.acknowledged;
    sum.rounds_signed += outcome.rounds_signed;
    sum.faults += outcome.faults;
    sum.refusals += outcome.refusals;
  }
  EXPECT_GT(sum.refusals, (seed - first) / 5);
  std::printf("%llu seeds: %llu batches acknowledged, %llu rounds signed, %llu faults\n",
              static_cast<unsigned long long>(seed - first),
              static_cast<unsigned long long>(sum.acknowledged),
              static_cast<unsigned long long>(sum.rounds_signed),
              static_cast<unsigned long long>(sum.faults));
  EXPECT_GT(sum.acknowledged, 10 * (seed - first));
  EXPECT_GT(sum.rounds_signed, 5 * (seed - first));
  EXPECT_EQ(SimulateCluster(first).trace_hash, SimulateCluster(first).trace_hash);
}

// How many of the first seeds do not keep a promise.
template <typename Simulate>
int BrokenSeeds(int tried, const Simulate& simulate) {
  int seeds = 0;
  for (int seed = 1; seed <= tried; ++seed) {
    const Outcome outcome = simulate(static_cast<uint64_t>(seed));
    if (outcome.status.ok()) continue;
    if (seeds++ == 0) std::printf("seed %d: %s\n", seed, outcome.status.ToString().c_str());
  }
  std::printf("%d of %d seeds\n", seeds, tried);
  return seeds;
}
int ClusterSeedsThatFind(const ClusterFlaws& flaws) {
  return BrokenSeeds(100, [&](uint64_t seed) { return SimulateCluster(seed, flaws); });
}

TEST(Cluster, NoticesHeadsThatAreNotCompared) {
  EXPECT_GT(ClusterSeedsThatFind({.no_compare = true}), 20);
}

TEST(Cluster, NoticesCommitsThatDoNotWaitForTheStandby) {
  EXPECT_GT(ClusterSeedsThatFind({.no_standby = true}), 20);
}

TEST(Cluster, NoticesForgedHeadsThatAreBelieved) {
  EXPECT_GT(ClusterSeedsThatFind({.no_keys = true}), 10);
}

TEST(Cluster, NoticesRequestsThatAreForgotten) {
  EXPECT_GT(ClusterSeedsThatFind({.no_request_rows = true}), 20);
}

// Trainers race for what a filter has left: the same, with the same variables.
TEST(Race, KeepsEveryPromiseUnderEverySeed) {
  const bool trace = FromEnvironment("DPLEDGER_SIMULATION_TRACE", 0) != 0;
  const uint64_t first = FromEnvironment("DPLEDGER_SIMULATION_SEED", 1);
  const uint64_t seconds = FromEnvironment("DPLEDGER_SIMULATION_SECONDS", 0);
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  Outcome sum;
  uint64_t seed = first;
  for (; seconds > 0 ? absl::Now() < end : seed < first + 100; ++seed) {
    const Outcome outcome = SimulateRace(seed, {}, trace);
    ASSERT_TRUE(outcome.status.ok())
        << "seed " << seed << ", step " << outcome.steps << ": " << outcome.status;
    if (trace) return;
    EXPECT_EQ(outcome.acknowledged, RaceSize().fits());
    sum.acknowledged += outcome.acknowledged;
    sum.lives += outcome.lives;
    sum.faults += outcome.faults;
    sum.refusals += outcome.refusals;
  }
  std::printf(
      "%llu seeds: %llu rounds acknowledged, %llu lives, %llu faults, %llu refusals\n",
      static_cast<unsigned long long>(seed - first),
      static_cast<unsigned long long>(sum.acknowledged), static_cast<unsigned long long>(sum.lives),
      static_cast<unsigned long long>(sum.faults), static_cast<unsigned long long>(sum.refusals));
  EXPECT_GT(sum.lives, 5 * (seed - first));
  EXPECT_GT(sum.refusals, RaceSize().trainers * (seed - first));
  for (seed = first; seed < first + 8; ++seed)
    EXPECT_EQ(SimulateRace(seed).trace_hash, SimulateRace(seed).trace_hash) << "seed " << seed;
}

TEST(Race, KeepsEveryPromiseAmong32Trainers) {
  const Outcome outcome = SimulateRace(1, {}, false, {.trainers = 32, .rounds = 40});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.acknowledged, 780u);
}

int RacesThatFind(const RaceFlaws& flaws) {
  return BrokenSeeds(24, [&](uint64_t seed) { return SimulateRace(seed, flaws); });
}

TEST(Race, NoticesGatesThatForgetWhenTheyStartAgain) {
  EXPECT_GT(RacesThatFind({.gates_forget = true}), 8);
}

TEST(Race, NoticesGrantsWhoseHeadsAreNotCommittedTogether) {
  EXPECT_GT(RacesThatFind({.cluster = {.no_transaction = true}}), 8);
}

TEST(Race, NoticesRequestsThatAreForgotten) {
  EXPECT_GT(RacesThatFind({.cluster = {.no_request_rows = true}}), 8);
}

TEST(Race, NoticesGrantsThatAreMadeBesideEachOther) {
  EXPECT_GT(RacesThatFind({.cluster = {.no_compare = true}}), 8);
}

TEST(Race, NoticesRoundsThatFitAndAreRefused) { EXPECT_GT(RacesThatFind({.keeps_rest = true}), 8); }

TEST(Simulation, NoticesWritesThatAreNotSynced) {
  EXPECT_GT(SeedsThatFind({.no_sync = true}).seeds, 20);
}

TEST(Simulation, NoticesSignersThatNothingKeepsApart) {
  EXPECT_GT(SeedsThatFind({.no_fence = true}).seeds, 20);
}

TEST(Simulation, NoticesForgedHeadsThatAreBelieved) {
  // One seed in 25 forges what is then read.
  EXPECT_GT(SeedsThatFind({.no_keys = true}, 600).seeds, 5);
}

TEST(Simulation, NoticesRequestsThatAreForgotten) {
  EXPECT_GT(SeedsThatFind({.no_request_rows = true}).seeds, 20);
}

}  // namespace
}  // namespace dpledger::simulation
