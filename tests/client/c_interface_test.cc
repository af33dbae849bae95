// libdpledger from outside: C programs and Python use it against a real server, and the ledgers
// hold what they did. This program itself holds the C++ library, and must not load the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dpledger.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The header's numbers are those of the contract and of Abseil.
static_assert(DPLEDGER_RESOURCE_EXHAUSTED ==
              static_cast<int>(absl::StatusCode::kResourceExhausted));
static_assert(DPLEDGER_FAILED_PRECONDITION ==
              static_cast<int>(absl::StatusCode::kFailedPrecondition));
static_assert(DPLEDGER_UNAUTHENTICATED == static_cast<int>(absl::StatusCode::kUnauthenticated));
static_assert(int{DPLEDGER_ADD_OR_REMOVE_ONE} == v1::ADD_OR_REMOVE_ONE &&
              int{DPLEDGER_REPLACE_ONE} == v1::REPLACE_ONE &&
              int{DPLEDGER_ZERO_OUT} == v1::ZERO_OUT);
static_assert(int{DPLEDGER_FIXED} == v1::FIXED && int{DPLEDGER_ADAPTIVE} == v1::ADAPTIVE);
static_assert(int{DPLEDGER_FAIL_CLOSED} == v1::FAIL_CLOSED && int{DPLEDGER_SPOOL} == v1::SPOOL);
static_assert(int{DPLEDGER_GAUSSIAN} == v1::GAUSSIAN &&
              int{DPLEDGER_ROUNDED_GAUSSIAN} == v1::ROUNDED_GAUSSIAN &&
              int{DPLEDGER_DISCRETE_GAUSSIAN} == v1::DISCRETE_GAUSSIAN);

// Adding members may make a struct longer; these are the lengths that callers of version 1 have.
static_assert(sizeof(void*) != 8 ||
              (offsetof(dpledger_sampling_scheme, contributions) == 56 &&
               offsetof(dpledger_declaration, filter_delta) == 80 &&
               offsetof(dpledger_recorder_options, state) == 104 &&
               sizeof(dpledger_sum_query) == 48 && sizeof(dpledger_clip_group) == 64 &&
               sizeof(dpledger_adaptive_clip_norm) == 64 &&
               sizeof(dpledger_privatizer_options) == 56 &&
               offsetof(dpledger_correlated_options, sampling) == 88 &&
               sizeof(dpledger_gradient_rows) == 40));

std::string SourcePath(const std::string& path) {
  const char* root = std::getenv("DPLEDGER_SOURCE");
  EXPECT_NE(root, nullptr);
  return absl::StrCat(root == nullptr ? "." : root, "/", path);
}

std::string LibraryFolder() { return BinaryPath("../lib"); }

// Commands of a shell whose programs find the library.
RunResult Shell(const std::string& commands) {
  return RunProgram({"/bin/sh", "-c", commands}, {{"LD_LIBRARY_PATH", LibraryFolder()}});
}

class CInterface : public ::testing::Test {
 protected:
  // Runs a part of a C program, and returns what is then in the ledger of its name.
  std::vector<v1::LedgerEntry> EntriesAfter(const std::string& program, const std::string& part) {
    const RunResult run = RunProgram({BinaryPath(absl::StrCat("c_interface_", program)), part,
                                      server_.address(), folder_.path()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Entries(part);
  }
  // But for OPENED.
  std::vector<v1::LedgerEntry> Entries(const std::string& ledger) {
    std::vector<v1::LedgerEntry> entries =
        ReadLedger(server_.address(), absl::StrCat("projects/default/ledgers/", ledger));
    std::erase_if(entries, [](const v1::LedgerEntry& entry) { return entry.has_opened(); });
    return entries;
  }

  TemporaryFolder folder_;
  CrashingServer server_;
};

std::vector<v1::SamplingScheme> SchemesOf(const std::vector<v1::LedgerEntry>& entries) {
  std::vector<v1::SamplingScheme> schemes;
  for (const v1::LedgerEntry& entry : entries) {
    if (entry.event().has_sampling()) schemes.push_back(entry.event().sampling().scheme());
  }
  return schemes;
}

std::vector<v1::SumQuery> QueriesOf(const std::vector<v1::LedgerEntry>& entries) {
  std::vector<v1::SumQuery> queries;
  for (const v1::LedgerEntry& entry : entries) {
    if (entry.event().has_sum_query()) queries.push_back(entry.event().sum_query().query());
  }
  return queries;
}

TEST_F(CInterface, TrainsByALedger) {
  const std::vector<v1::LedgerEntry> entries = EntriesAfter("training", "train");
  ASSERT_EQ(entries.size(), 1u + 2 * 5 + 1);
  for (const v1::LedgerEntry& entry : entries) {
    if (!entry.event().has_sampling()) continue;
    EXPECT_EQ(entry.event().sampling().source(), v1::SAMPLE_DRAWN);
  }
  const v1::Declaration& declaration = entries[0].declaration();
  EXPECT_EQ(declaration.dataset(), "adult");
  EXPECT_EQ(declaration.unit_of_privacy(), "example");
  EXPECT_EQ(declaration.released(), "all checkpoints");
  EXPECT_EQ(declaration.description(), "modèle");
  EXPECT_EQ(declaration.adjacency(), v1::ZERO_OUT);
  EXPECT_EQ(declaration.parameters(), v1::FIXED);
  EXPECT_EQ(declaration.planned_rounds(), 3u);
  EXPECT_TRUE(declaration.plan_independent());
  EXPECT_EQ(declaration.spool_policy(), v1::FAIL_CLOSED);
  for (const v1::SamplingScheme& scheme : SchemesOf(entries)) {
    EXPECT_EQ(scheme.population_size(), 1000u);
    EXPECT_EQ(scheme.poisson().probability(), 0.1);
  }
  for (const v1::SumQuery& query : QueriesOf(entries)) {
    EXPECT_EQ(query.group(), "weights");
    EXPECT_EQ(query.noise(), v1::ROUNDED_GAUSSIAN);
    EXPECT_NEAR(query.noise_stddev() / query.l2_norm_bound(), 1.5, 1e-5);
  }
  EXPECT_TRUE(entries.back().has_writer_closed());
  EXPECT_EQ(entries.back().writer(), "c");
}

TEST_F(CInterface, ClipsByEveryStrategy) {
  const std::vector<v1::LedgerEntry> entries = EntriesAfter("strategies", "strategies");
  // Its first privatizer says that noise in test mode hides nothing.
  EXPECT_TRUE(entries[1].event().mechanism().has_non_private());
  std::map<std::string, int> queries;
  for (const v1::SumQuery& query : QueriesOf(entries)) {
    EXPECT_THAT(query.group(), EndsWith(" [NON-PRIVATE TEST MODE]"));
    ++queries[query.group().substr(0, query.group().find(" ["))];
  }
  const std::map<std::string, int> expected = {
      {"threads", 2},    {"formats", 3},  {"flat", 6},
      {"first", 6},      {"second", 6},   {"joint", 2},
      {"normalised", 2}, {"adaptive", 6}, {"clip norm statistic", 6}};
  EXPECT_EQ(queries, expected);
}

TEST_F(CInterface, RecordsEveryScheme) {
  const std::vector<v1::LedgerEntry> entries = EntriesAfter("training", "schemes");
  const std::vector<v1::SamplingScheme> schemes = SchemesOf(entries);
  ASSERT_EQ(schemes.size(), 7u);
  EXPECT_EQ(schemes[0].poisson().probability(), 0.5);
  EXPECT_EQ(schemes[1].without_replacement().sample_size(), 60u);
  EXPECT_EQ(schemes[2].with_replacement().sample_size(), 60u);
  EXPECT_TRUE(schemes[3].has_full_batch());
  EXPECT_EQ(schemes[4].disjoint_batches().batches_per_epoch(), 10u);
  EXPECT_EQ(schemes[5].random_allocation().rounds_per_epoch(), 10u);
  EXPECT_EQ(schemes[6].truncated_poisson().probability(), 0.5);
  EXPECT_EQ(schemes[6].truncated_poisson().max_sample_size(), 60u);
  const std::vector<v1::SumQuery> queries = QueriesOf(entries);
  ASSERT_EQ(queries.size(), 14u);
  EXPECT_EQ(queries[9].group(), "b");
  EXPECT_EQ(queries[9].l2_norm_bound(), 3);
  EXPECT_EQ(queries[9].noise_stddev(), 7);
  EXPECT_EQ(queries[9].grid(), 0.125);
  EXPECT_EQ(entries[entries.size() - 2].event().mechanism().gaussian().noise_multiplier(), 2);
}

TEST_F(CInterface, SaysHowEachSamplerDraws) {
  const std::vector<v1::SamplingScheme> schemes = SchemesOf(EntriesAfter("training", "samplers"));
  ASSERT_EQ(schemes.size(), 4u * 10);
  const std::vector<v1::SamplingScheme> fixed = SchemesOf(Entries("fixed-size-samplers"));
  ASSERT_EQ(fixed.size(), 10u);
  EXPECT_EQ(fixed[9].without_replacement().sample_size(), 7u);
  for (size_t i = 0; i < schemes.size(); ++i) {
    const v1::SamplingScheme& scheme = schemes[i];
    const v1::SamplingScheme& first = schemes[i / 10 * 10];
    const uint64_t epoch = i % 10 / 5;
    EXPECT_EQ(scheme.population_size(), 100u);
    switch (i / 10) {
      case 0:
        EXPECT_EQ(scheme.poisson().probability(), 0.5);
        break;
      case 1:
        EXPECT_TRUE(scheme.has_full_batch());
        break;
      case 2:
        EXPECT_EQ(scheme.disjoint_batches().batches_per_epoch(), 5u);
        EXPECT_EQ(scheme.disjoint_batches().epoch(), first.disjoint_batches().epoch() + epoch) << i;
        break;
      default:
        EXPECT_EQ(scheme.random_allocation().rounds_per_epoch(), 5u);
        EXPECT_EQ(scheme.random_allocation().epoch(), first.random_allocation().epoch() + epoch)
            << i;
    }
  }
}

TEST_F(CInterface, AddsTheSumsOfRanks) {
  EXPECT_EQ(QueriesOf(EntriesAfter("strategies", "ranks")).size(), 2u);
}

TEST_F(CInterface, RecordsRunsWithCorrelatedNoise) {
  std::vector<v1::MatrixMechanism> runs;
  size_t non_private = 0;
  for (const v1::LedgerEntry& entry : EntriesAfter("strategies", "correlated")) {
    const v1::MechanismEvent& mechanism = entry.event().mechanism();
    if (mechanism.has_matrix_mechanism()) runs.push_back(mechanism.matrix_mechanism());
    non_private += mechanism.has_non_private() ? 1 : 0;
  }
  EXPECT_EQ(non_private, 7u);
  ASSERT_EQ(runs.size(), 5u);
  EXPECT_EQ(runs[0].tree().steps(), 4u);
  EXPECT_EQ(runs[0].tree().participation().max_participations(), 2u);
  EXPECT_EQ(runs[0].tree().participation().min_separation(), 2u);
  EXPECT_THAT(runs[1].toeplitz().coefficients(), ElementsAre(1, 0.5, 0.375));
  EXPECT_THAT(
      runs[2].toeplitz().coefficients(),
      ElementsAre(1, DoubleNear(0.5, 1e-3), DoubleNear(0.375, 1e-3), DoubleNear(0.28125, 1e-3)));
  EXPECT_EQ(runs[3].toeplitz().balls_in_bins().bins(), 2u);
  EXPECT_EQ(runs[4].toeplitz().cyclic_poisson().period(), 2u);
  EXPECT_EQ(runs[4].toeplitz().cyclic_poisson().probability(), 0.5);
  EXPECT_EQ(runs[4].toeplitz().cyclic_poisson().groups(), v1::GROUPS_DRAWN_ONE_BY_ONE);
  for (const v1::MatrixMechanism& run : runs) EXPECT_NEAR(run.noise_stddev(), 4, 0.04);
}

std::vector<v1::Opened> OpeningsOf(const std::vector<v1::LedgerEntry>& entries) {
  std::vector<v1::Opened> openings;
  for (const v1::LedgerEntry& entry : entries) {
    if (entry.has_opened()) openings.push_back(entry.opened());
  }
  return openings;
}

// Two processes' worth of recorders: one epoch, whose four rounds are in the ledger once each.
TEST_F(CInterface, CarriesAnEpochOn) {
  EXPECT_EQ(SchemesOf(EntriesAfter("state", "epochs")).size(), 4u);
  for (const v1::SamplingScheme& scheme : SchemesOf(Entries("epochs"))) {
    EXPECT_EQ(scheme.disjoint_batches().epoch(), 0u);
  }
  const auto openings =
      OpeningsOf(ReadLedger(server_.address(), "projects/default/ledgers/epochs"));
  ASSERT_EQ(openings.size(), 2u);
  EXPECT_FALSE(openings[0].carries_epochs());
  EXPECT_TRUE(openings[1].carries_epochs());
}

TEST_F(CInterface, CarriesARunOn) {
  size_t runs = 0;
  for (const v1::LedgerEntry& entry : EntriesAfter("state", "run")) runs += entry.has_event();
  EXPECT_EQ(runs, 1u);
}

TEST_F(CInterface, AsksWhatALedgerCosts) {
  EXPECT_EQ(SchemesOf(EntriesAfter("state", "cost")).size(), 1u);
}

TEST_F(CInterface, IsHeldToABudget) {
  const RunResult made = RunProgram({BinaryPath("dpledger"), "budget", "create", "of-adult",
                                     "--server", server_.address(), "--dataset", "adult", "--unit",
                                     "example", "--adjacency", "zero-out", "--filter", "zcdp:1"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // ρ .5 a round, of 1; granted once.
  v1::Event round;
  round.mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(1);
  folder_.Write("round.bin", round.mechanism().SerializeAsString());
  v1::BudgetGrant grant;
  *grant.add_plan() = round;
  folder_.Write("grant.bin", grant.SerializeAsString());
  grant.mutable_plan(0)->mutable_mechanism()->set_count(3);
  folder_.Write("large.bin", grant.SerializeAsString());
  size_t rounds = 0, grants = 0;
  for (const v1::LedgerEntry& entry : EntriesAfter("state", "budget")) {
    rounds += entry.has_event();
    grants += entry.has_granted();
  }
  EXPECT_EQ(rounds, 1u);
  EXPECT_GE(grants, 1u);
  EXPECT_EQ(ReadLedger(server_.address(), "projects/default/ledgers/of-adult").size(), 1 + grants);
}

TEST(CInterfaceErrors, NameTheMemberAndTheRule) {
  const TemporaryFolder folder;
  const RunResult run = RunProgram({BinaryPath("c_interface_errors"), folder.path()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(CInterfaceErrors, FailTheProgramThatSeesAnother) {
  const RunResult run = RunProgram({BinaryPath("c_interface_training"), "no part", "", ""});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("not so: "));
}

#ifndef DPLEDGER_SANITIZED  // which brings an allocator and a runtime of its own
TEST(CInterfaceErrors, TellThatMemoryIsShort) {
  const RunResult run = RunProgram({BinaryPath("c_interface_errors"), ".", "no-memory"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// The first block of docs/c-interface.md in that language.
std::string DocumentedProgram(const std::string& language) {
  std::ostringstream page;
  page << std::ifstream(SourcePath("docs/c-interface.md")).rdbuf();
  const std::vector<std::string> parts =
      absl::StrSplit(page.str(), absl::StrCat("```", language, "\n"));
  EXPECT_GE(parts.size(), 2u);
  return parts.size() < 2 ? "" : parts[1].substr(0, parts[1].find("```"));
}

TEST_F(CInterface, RunsTheDocumentedCProgram) {
  folder_.Write("trainer.c", DocumentedProgram("c"));
  const RunResult run = Shell(absl::StrCat(
      "cd ", folder_.path(), " && cc -std=c99 -Wall -Wextra -pedantic -Werror -o trainer ",
      "-Wno-missing-field-initializers trainer.c -I ", SourcePath("client/include"), " -L ",
      LibraryFolder(), " -ldpledger && ./trainer ", server_.address(), " spool"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("y = "));
  EXPECT_EQ(SchemesOf(Entries("line")).size(), 10u);
}

TEST_F(CInterface, RunsTheDocumentedPythonProgram) {
  folder_.Write("trainer.py", DocumentedProgram("python"));
  const RunResult run = Shell(
      absl::StrCat("cd ", folder_.path(), " && python3 trainer.py ", server_.address(), " spool"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(run.out, '\n', absl::SkipEmpty())).size(), 3u);
  const std::vector<v1::LedgerEntry> entries = Entries("python");
  EXPECT_EQ(SchemesOf(entries).size(), 3u);
  EXPECT_TRUE(entries.back().has_writer_closed());
}
#endif

TEST(CInterfaceLibrary, ShowsTheHeadersFunctionsAlone) {
  const std::string library = LibraryFolder() + "/libdpledger.so";
  const RunResult symbols = Shell("nm -D --defined-only --format=posix " + library);
  ASSERT_EQ(symbols.exit_code, 0) << symbols.err;
  std::set<std::string> shown;
  for (const auto line : absl::StrSplit(symbols.out, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" @"));
    if (words[0] != "DPLEDGER_1") shown.insert(words[0]);
  }
  EXPECT_THAT(shown, Each(StartsWith("dpledger_")));
  std::ostringstream header;
  header << std::ifstream(SourcePath("client/include/dpledger.h")).rdbuf();
  for (const std::string& name : shown) EXPECT_THAT(header.str(), HasSubstr(name + "("));
  const std::regex function("\n[a-z][\\w ]*\\*? dpledger_\\w+\\(");
  const std::string text = header.str();
  EXPECT_EQ(shown.size(), static_cast<size_t>(std::distance(
                              std::sregex_iterator(text.begin(), text.end(), function), {})));
  const RunResult head = Shell("readelf -d " + library);
  EXPECT_THAT(head.out,
              HasSubstr(absl::StrCat("soname: [libdpledger.so.", DPLEDGER_ABI_MAJOR, "]")));
}

}  // namespace
}  // namespace dpledger::testing
