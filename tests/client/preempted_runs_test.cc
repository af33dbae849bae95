// Trainers that are killed by SIGKILL at every point of every step and carried on by their state,
// against a real server: what they release is bit by bit what an unbroken run with the same key
// releases, and their ledger costs what its ledger costs. The control, without a state, shows
// neither.
//
// Runs with one key begin as copies of one folder: the server's store, spool, state and key after a
// process that only began the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::SizeIs;

struct Outcome {
  double epsilon;  // of the ledger, by the server
  int processes;
  std::set<std::string> released, drawn;
  size_t releases;  // with those that were repeated
};

class PreemptedRuns : public ::testing::Test {
 protected:
  // `kind` is the trainer's.
  void Begin(const std::string& kind) {
    kind_ = kind;
    std::filesystem::create_directory(folder_.File("begun"));
    const std::string key = folder_.Write("begun/key", std::string(32, 'k'));
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    const ServerProcess server(folder_.File("begun/store"));
    ASSERT_EQ(RunOnce(server, "begun", "kept", "begin"), 0);
  }

  // As many processes as it takes, on a copy of what was begun; without a state from scratch.
  Outcome Run(const std::string& name, const std::string& state, const std::string& points) {
    if (state == "kept") {
      std::filesystem::copy(folder_.File("begun"), folder_.File(name),
                            std::filesystem::copy_options::recursive);
    } else {
      std::filesystem::create_directory(folder_.File(name));
    }
    const ServerProcess server(folder_.File(name + "/store"));
    Outcome outcome{};
    for (int exit_code = 128 + SIGKILL; exit_code == 128 + SIGKILL; ++outcome.processes) {
      exit_code = RunOnce(server, name, state, points);
      EXPECT_TRUE(exit_code == 0 || exit_code == 128 + SIGKILL) << exit_code;
    }
    outcome.epsilon = Epsilon({"--server", server.address(), "--ledger", "preempted"});
    outcome.releases = Lines(name + "/released").size();
    for (const std::string& line : Lines(name + "/released")) outcome.released.insert(line);
    for (const std::string& line : Lines(name + "/drawn")) outcome.drawn.insert(line);
    return outcome;
  }

  // By hand: of one Gaussian mechanism with that multiplier.
  double GaussianEpsilon(double noise_multiplier) {
    const std::string events = absl::StrFormat(
        "{\"mechanism\":{\"gaussian\":{\"noise_multiplier\":%.17g}}}\n", noise_multiplier);
    return Epsilon({"--events", folder_.Write("events", events), "--adjacency", "zero-out"});
  }

 private:
  int RunOnce(const ServerProcess& server, const std::string& name, const std::string& state,
              const std::string& points) {
    const RunResult run = RunProgram({BinaryPath("preempted_trainer"), kind_, server.address(),
                                      folder_.File(name), state, points});
    EXPECT_EQ(run.err, "");
    return run.exit_code;
  }
  static double Epsilon(const std::vector<std::string>& subject) {
    std::vector<std::string> command = {"epsilon", "--delta", "1e-5", "--json"};
    command.insert(command.end(), subject.begin(), subject.end());
    const RunResult answer = Dpledger(command);
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    std::smatch upper;
    EXPECT_TRUE(std::regex_search(answer.out, upper, std::regex(R"("upper": *([0-9.e-]+))")))
        << answer.out;
    return upper.empty() ? -1 : std::stod(upper[1]);
  }
  std::vector<std::string> Lines(const std::string& name) {
    std::vector<std::string> lines;
    std::ifstream file(folder_.File(name));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
  std::string kind_;
};

constexpr double kNear = 1e-4;  // rounding of the multiplier to the grid, and the answer's width

// Noise multiplier 8, bands of (1, 1/2) in two participations that do not meet.
TEST_F(PreemptedRuns, WithCorrelatedNoiseReleaseWhatAnUnbrokenRunDoes) {
  constexpr char kPoints[] = "summed,released,modelled,saved";
  constexpr int kKills = 6 * 4;
  Begin("run");
  const Outcome unbroken = Run("unbroken", "kept", "");
  EXPECT_EQ(unbroken.processes, 1);
  EXPECT_THAT(unbroken.released, SizeIs(6));
  const double by_hand = GaussianEpsilon(8 / std::sqrt(2 * 1.25));
  EXPECT_NEAR(unbroken.epsilon, by_hand, kNear * by_hand);

  const Outcome killed = Run("killed", "kept", kPoints);
  EXPECT_EQ(killed.processes, kKills + 1);
  EXPECT_EQ(killed.released, unbroken.released);
  EXPECT_GT(killed.releases, unbroken.releases) << "steps behind the last save come again";
  EXPECT_EQ(killed.epsilon, unbroken.epsilon);

  const Outcome control = Run("control", "none", kPoints);
  EXPECT_EQ(control.processes, kKills + 1);
  EXPECT_THAT(control.released, SizeIs(control.releases)) << "every process has noise of its own";
  const double all = GaussianEpsilon(8 / std::sqrt((kKills + 1) * 2 * 1.25));
  EXPECT_NEAR(control.epsilon, all, kNear * all);
}

// Noise multiplier 4; a record is in one round of each epoch, so two epochs are two releases.
TEST_F(PreemptedRuns, OfEpochsDrawWhatAnUnbrokenRunDoes) {
  Begin("epochs");
  const Outcome unbroken = Run("unbroken", "kept", "");
  EXPECT_EQ(unbroken.processes, 1);
  EXPECT_THAT(unbroken.drawn, SizeIs(8));
  EXPECT_THAT(unbroken.released, SizeIs(8));
  const double by_hand = GaussianEpsilon(4 / std::sqrt(2));
  EXPECT_NEAR(unbroken.epsilon, by_hand, kNear * by_hand);

  // After its release a round is never lost; killed before it, every round is.
  for (const auto& [points, released] :
       {std::pair<std::string, size_t>{"drawn,released", 8}, {"drawn,recorded", 0}}) {
    const Outcome killed = Run(points, "kept", points);
    EXPECT_EQ(killed.processes, 2 * 8 + 1) << points;
    EXPECT_EQ(killed.drawn, unbroken.drawn) << points;
    EXPECT_EQ(killed.releases, released) << points;
    EXPECT_EQ(killed.epsilon, unbroken.epsilon) << points;
  }

  // Eight processes record a round each, of eight partitions.
  const Outcome control = Run("control", "none", "drawn,released");
  EXPECT_GT(control.drawn.size(), 8u);
  const double all = GaussianEpsilon(4 / std::sqrt(8));
  EXPECT_NEAR(control.epsilon, all, kNear * all);
}

}  // namespace
}  // namespace dpledger::testing
