// What a server says at /metrics: all that docs/metrics.md lists and nothing else, with the numbers
// that fit what was done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::UnorderedElementsAreArray;

// name, type and labels, as one line.
std::string Row(const std::string& name, const std::string& type,
                const std::set<std::string>& labels) {
  std::string row = absl::StrCat(name, " ", type);
  for (const std::string& label : labels) absl::StrAppend(&row, " ", label);
  return row;
}

// The rows of the table of docs/metrics.md: "| `name` | type | `label`, `label` | meaning |".
std::vector<std::string> Documented(const std::string& page) {
  std::vector<std::string> rows;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    if (!absl::StartsWith(line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6) continue;  // of another table
    const std::vector<std::string> names = absl::StrSplit(cells[1], '`');
    const std::vector<std::string> between = absl::StrSplit(cells[3], '`');
    std::set<std::string> labels;
    for (size_t i = 1; i < between.size(); i += 2) labels.insert(between[i]);
    rows.push_back(Row(names[1], std::string(absl::StripAsciiWhitespace(cells[2])), labels));
  }
  return rows;
}

// A scrape: its samples by everything before the value.
struct Scrape {
  std::map<std::string, std::string> types;
  std::map<std::string, std::set<std::string>> labels;  // of families, without a histogram's le
  std::map<std::string, double> samples;

  // Of all samples of this family that have all of these labels, together.
  double Sum(const std::string& family, const std::vector<std::string>& with = {}) const {
    double sum = 0;
    for (const auto& [sample, value] : samples) {
      bool fits = sample == family || absl::StartsWith(sample, family + "{");
      for (const std::string& label : with) fits = fits && absl::StrContains(sample, label);
      if (fits) sum += value;
    }
    return sum;
  }
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows;
    for (const auto& [name, type] : types) {
      const auto found = labels.find(name);
      rows.push_back(
          Row(name, type, found == labels.end() ? std::set<std::string>() : found->second));
    }
    return rows;
  }
};

Scrape Parse(const std::string& text) {
  Scrape scrape;
  std::string family;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    if (absl::StartsWith(line, "# TYPE ")) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      family = words[2];
      scrape.types[family] = words[3];
      continue;
    }
    if (absl::StartsWith(line, "#")) continue;
    const size_t blank = line.rfind(' ');
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(line.substr(blank + 1), &value)) << line;
    scrape.samples[line.substr(0, blank)] = value;
    const size_t brace = line.find('{');
    if (brace > blank) continue;
    const std::vector<std::string> parts =
        absl::StrSplit(line.substr(brace + 1, blank - brace - 2), ',');
    for (const std::string& part : parts) {
      const std::string name = part.substr(0, part.find('='));
      if (name != "le") scrape.labels[family].insert(name);
    }
  }
  return scrape;
}

class ServedMetrics : public ::testing::Test {
 protected:
  Scrape Ask() {
    const RunResult answer =
        RunProgram({"/usr/bin/curl", "--silent", "--show-error", "--max-time", "30",
                    absl::StrCat("http://", server_.http_address(), "/metrics")});
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    return Parse(answer.out);
  }
  RunResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return Dpledger(arguments);
  }
  // Two ledgers, one of them with three entries more, a question, and a refusal.
  void Work() {
    ASSERT_EQ(Run(CreateLedger("a", "d")).exit_code, 0);
    ASSERT_EQ(Run(CreateLedger("b", "d")).exit_code, 0);
    const std::string round = R"({"mechanism":{"gaussian":{"noiseMultiplier":1}}})";
    const std::string events =
        folder_.Write("events", absl::StrCat(round, "\n", round, "\n", round, "\n"));
    ASSERT_EQ(Run({"ledger", "append", "a", "--events", events}).exit_code, 0);
    ASSERT_EQ(Run({"epsilon", "--delta", "1e-5", "--ledger", "a"}).exit_code, 0);
    ASSERT_EQ(Run(CreateLedger("a", "e")).exit_code, 1);
  }

  const ServerProcess server_;
  const TemporaryFolder folder_;
};

TEST_F(ServedMetrics, AreThoseOfTheTable) {
  Work();
  const auto page = ReadFile(absl::StrCat(std::getenv("DPLEDGER_SOURCE"), "/docs/metrics.md"));
  ASSERT_TRUE(page.ok()) << page.status();
  Scrape scrape = Ask();
  // A server without TLS has no certificate to tell of, but names the figure.
  EXPECT_EQ(scrape.labels.count("dpledger_certificate_expiry_timestamp_seconds"), 0u);
  EXPECT_THAT(scrape.Rows(), UnorderedElementsAreArray(Documented(*page)));
}

TEST(Documented, ReadsNamesTypesAndLabels) {
  EXPECT_THAT(
      Documented("# x\n| name | type | labels | |\n|---|---|---|---|\n"
                 "| `a_total` | counter | `x`, `y` | what `z` is |\n| `b` | gauge | | b |\n"),
      ElementsAre("a_total counter x y", "b gauge"));
}

TEST_F(ServedMetrics, CountWhatWasDone) {
  const Scrape before = Ask();
  EXPECT_EQ(before.Sum("dpledger_entries_appended_total"), 0);
  EXPECT_EQ(before.Sum("dpledger_ledgers_created_total"), 0);
  EXPECT_THAT(before.Sum("dpledger_refusals_total"), 0);
  Work();
  const Scrape after = Ask();
  EXPECT_EQ(after.Sum("dpledger_ledgers_created_total"), 2);
  EXPECT_EQ(after.Sum("dpledger_entries_appended_total"), 5) << "three events, two declarations";
  EXPECT_THAT(after.Sum("dpledger_commit_seconds_count"), Ge(3));
  EXPECT_THAT(after.Sum("dpledger_commit_seconds_sum"), Gt(0));
  EXPECT_EQ(after.Sum("dpledger_commit_group_requests_count"),
            after.Sum("dpledger_commit_seconds_count"));
  EXPECT_THAT(after.Sum("dpledger_commit_group_requests_sum"),
              Ge(after.Sum("dpledger_commit_group_requests_count")));
  EXPECT_EQ(after.Sum("dpledger_refusals_total", {R"(reason="LEDGER_EXISTS")"}), 1);

  const auto calls = [&](const char* family, const char* method, const char* code = "") {
    return after.Sum(family, {absl::StrCat("grpc_method=\"", method, "\""), code});
  };
  EXPECT_EQ(calls("grpc_server_started_total", "CreateLedger"), 3);
  EXPECT_EQ(calls("grpc_server_handled_total", "CreateLedger", R"(grpc_code="OK")"), 2);
  EXPECT_EQ(calls("grpc_server_handled_total", "CreateLedger", R"(grpc_code="AlreadyExists")"), 1);
  EXPECT_EQ(calls("grpc_server_handling_seconds_count", "CreateLedger"), 3);
  // The three events have one answer: exact but for the arithmetic.
  EXPECT_EQ(calls("dpledger_answer_relative_gap_count", "ComputeEpsilon"), 1);
  EXPECT_THAT(calls("dpledger_answer_relative_gap_sum", "ComputeEpsilon"), Le(1e-4));
  // Everything that came has ended.
  EXPECT_EQ(after.Sum("grpc_server_started_total"), after.Sum("grpc_server_handled_total"));
  EXPECT_EQ(after.Sum("dpledger_open_streams"), 0);
  for (const char* label : {"projects", "127.0.0.1"}) {
    for (const auto& [sample, value] : after.samples) {
      EXPECT_FALSE(absl::StrContains(sample, label)) << sample;
    }
  }
}

TEST_F(ServedMetrics, CountAStreamWhileItIsOpenAndWhenItEnds) {
  // An empty request in the envelope of the Connect protocol.
  const std::string body = folder_.Write("body", std::string("\0\0\0\0\x02{}", 7));
  const pid_t watch = StartProgram(
      {"/usr/bin/curl", "--silent", "--no-buffer", "--max-time", "60", "--header",
       "Content-Type: application/connect+json", "--data-binary", "@" + body,
       absl::StrCat("http://", server_.http_address(), "/grpc.health.v1.Health/Watch")},
      folder_.File("watch"));
  const std::vector<std::string> method = {R"(grpc_method="Watch")"};
  Scrape open = Ask();
  for (int i = 0; i < 200 && open.Sum("dpledger_open_streams") == 0; ++i) open = Ask();
  EXPECT_EQ(open.Sum("dpledger_open_streams", method), 1);
  EXPECT_EQ(open.Sum("grpc_server_handled_total", method), 0);
  StopProgram(watch, SIGKILL);
  Scrape ended = Ask();
  for (int i = 0; i < 200 && ended.Sum("dpledger_open_streams") != 0; ++i) ended = Ask();
  EXPECT_EQ(ended.Sum("dpledger_open_streams"), 0);
  EXPECT_EQ(ended.Sum("grpc_server_handled_total", {method[0], R"(grpc_code="Canceled")"}), 1);
  EXPECT_THAT(ended.Sum("grpc_server_msg_sent_total", method), Ge(1));
}

TEST_F(ServedMetrics, TellOfTheServerItself) {
  const Scrape scrape = Ask();
  EXPECT_EQ(scrape.Sum("dpledger_ready"), 1);
  EXPECT_EQ(scrape.Sum("dpledger_not_ready"), 0);
  EXPECT_EQ(scrape.Sum("dpledger_store_healthy"), 1);
  EXPECT_THAT(scrape.Sum("dpledger_store_bytes"), Gt(1000));
  EXPECT_THAT(scrape.Sum("dpledger_store_volume_free_bytes"), Gt(0));
  EXPECT_THAT(scrape.Sum("dpledger_store_volume_bytes"),
              Gt(scrape.Sum("dpledger_store_volume_free_bytes")));
  EXPECT_THAT(scrape.Sum("process_resident_memory_bytes"), Gt(1e6));
  EXPECT_THAT(scrape.Sum("process_virtual_memory_bytes"),
              Gt(scrape.Sum("process_resident_memory_bytes")));
  EXPECT_THAT(scrape.Sum("process_open_fds"), Gt(10));
  EXPECT_THAT(scrape.Sum("process_max_fds"), Gt(scrape.Sum("process_open_fds")));
  EXPECT_THAT(scrape.Sum("process_cpu_seconds_total"), Gt(0));
  EXPECT_THAT(scrape.Sum("process_start_time_seconds"), Gt(1.6e9));
  EXPECT_THAT(scrape.Sum("dpledger_signed_registry_entries"), Ge(1)) << "its key, at least";
  EXPECT_THAT(scrape.Sum("dpledger_signed_age_seconds"), Le(60));
  EXPECT_EQ(scrape.labels.at("dpledger_build_info"), std::set<std::string>{"version"});
}

}  // namespace
}  // namespace dpledger::testing
