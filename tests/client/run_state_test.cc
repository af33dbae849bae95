// Runs that are killed at any point and carried on: what they release is bit by bit what an
// unbroken run does, and what cannot be carried on is refused by name, and kept.
#include "client/run_state.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "client/correlated_privatizer.h"
#include "client/epoch_sampler.h"
#include "tests/support/list_recorder.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::HasSubstr;
using Kind = RunState::Kind;

class RunStateTest : public ::testing::Test {
 protected:
  RunStateTest() {
    // In memory where that is: these tests kill processes, not machines, and sync some 10^4 times.
    const bool in_memory = access("/dev/shm", W_OK) == 0;
    std::string name = (in_memory ? "/dev/shm/" : ::testing::TempDir()) + "run-state-XXXXXX";
    folder_ = mkdtemp(name.data());
    key_file_ = folder_ + "/key";
    EXPECT_EQ(MakeSecretFile(key_file_, std::string(32, 'k')), absl::OkStatus());
  }
  ~RunStateTest() override { std::filesystem::remove_all(folder_); }

  static RunPosition At(const std::string& incarnation, const std::string& previous) {
    return {"projects/default/ledgers/x", "trainer", incarnation, previous};
  }
  std::unique_ptr<RunState> OpenState() {
    auto state = RunState::Open(folder_, key_file_);
    EXPECT_TRUE(state.ok()) << state.status();
    return *std::move(state);
  }
  // As the `number`-th incarnation, from 1 on.
  std::unique_ptr<RunState> CarriedOn(int number) {
    auto state = OpenState();
    const auto carried =
        state->CarryOn(At(absl::StrCat(number), number == 1 ? "" : absl::StrCat(number - 1)));
    EXPECT_TRUE(carried.ok()) << carried.status();
    return state;
  }
  absl::Status CarryOnStatus(const RunPosition& position) {
    return OpenState()->CarryOn(position).status();
  }
  std::string SamplerFile() const { return folder_ + "/default~x~trainer.sampler.state"; }

  std::string folder_, key_file_;
};

TEST_F(RunStateTest, CarriesOnWhatTheIncarnationBeforeLeft) {
  auto state = OpenState();
  EXPECT_FALSE(*state->CarryOn(At("1", "")));
  EXPECT_EQ(state->Take(Kind::kSampler), std::nullopt);
  ASSERT_EQ(state->Store(Kind::kSampler, "first"), absl::OkStatus());
  ASSERT_EQ(state->Store(Kind::kSampler, "second"), absl::OkStatus());
  state = OpenState();
  EXPECT_TRUE(*state->CarryOn(At("2", "1")));
  EXPECT_EQ(state->Take(Kind::kCorrelatedRun), std::nullopt);
  EXPECT_EQ(state->Take(Kind::kSampler), "second");
  EXPECT_EQ(state->Take(Kind::kSampler), std::nullopt);
  // Nothing was stored since: it is carried on as it is.
  EXPECT_EQ(CarriedOn(3)->Take(Kind::kSampler), "second");
}

// Killed after the state was bound to incarnation 2, before the ledger had heard of that.
TEST_F(RunStateTest, CarriesOnAfterAKillBeforeTheLedgerKnew) {
  ASSERT_EQ(CarriedOn(1)->Store(Kind::kSampler, "s"), absl::OkStatus());
  CarriedOn(2);
  auto state = OpenState();
  EXPECT_TRUE(*state->CarryOn(At("2b", "1")));
  EXPECT_EQ(state->Take(Kind::kSampler), "s");
  // But what incarnation 2b has stored is its own.
  ASSERT_EQ(state->Store(Kind::kSampler, "t"), absl::OkStatus());
  EXPECT_THAT(CarryOnStatus(At("3", "1")).message(),
              HasSubstr("is of another incarnation, 2b; this run carries on from 1. It was kept"));
}

TEST_F(RunStateTest, RefusesAnOldCopy) {
  ASSERT_EQ(CarriedOn(1)->Store(Kind::kSampler, "old"), absl::OkStatus());
  const std::string old = *ReadFile(SamplerFile());
  ASSERT_EQ(CarriedOn(2)->Store(Kind::kSampler, "new"), absl::OkStatus());
  ASSERT_EQ(WriteFileDurably(SamplerFile(), old), absl::OkStatus());
  const absl::Status status = CarryOnStatus(At("3", "2"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("is of another incarnation, 1"));
}

TEST_F(RunStateTest, NamesWhatItIsNotOfAndKeepsIt) {
  ASSERT_EQ(CarriedOn(1)->Store(Kind::kSampler, "s"), absl::OkStatus());
  const std::string before = *ReadFile(SamplerFile());
  const auto refused = [&](const RunPosition& position, const char* what) {
    const absl::Status status = CarryOnStatus(position);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(".state: is of another ", what)));
    EXPECT_EQ(*ReadFile(SamplerFile()), before);
  };
  // A copy under the other's name.
  RunPosition position = At("2", "1");
  position.ledger += "y";
  EXPECT_FALSE(*OpenState()->CarryOn(position));
  std::filesystem::copy(SamplerFile(), folder_ + "/default~xy~trainer.sampler.state");
  refused(position, "ledger, projects/default/ledgers/x");
  position = At("2", "1");
  position.writer = "other";
  std::filesystem::copy(SamplerFile(), folder_ + "/default~x~other.sampler.state");
  refused(position, "writer, trainer");
  refused(At("2", ""), "incarnation, 1; this run carries on from none");
  refused(At("2", "0"), "incarnation, 1; this run carries on from 0");
  std::filesystem::remove(key_file_);
  ASSERT_EQ(MakeSecretFile(key_file_, std::string(32, 'l')), absl::OkStatus());
  refused(At("2", "1"), "key");
}

TEST_F(RunStateTest, RefusesEveryTornAndEveryChangedFile) {
  ASSERT_EQ(CarriedOn(1)->Store(Kind::kSampler, "secret content"), absl::OkStatus());
  const std::string whole = *ReadFile(SamplerFile());
  EXPECT_EQ(whole.find("secret"), std::string::npos);
  const auto refused = [&](const std::string& file) {
    std::ofstream(SamplerFile(), std::ios::binary) << file;
    const absl::Status status = CarryOnStatus(At("2", "1"));
    EXPECT_TRUE(status.ok() || *ReadFile(SamplerFile()) == file);
    return status;
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(refused(whole.substr(0, size)).code(), absl::StatusCode::kDataLoss) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(refused(changed).ok()) << i;
  }
  EXPECT_EQ(refused(whole), absl::OkStatus());
}

// A file of one kind under another's name.
TEST_F(RunStateTest, RefusesAFileOfAnotherKind) {
  ASSERT_EQ(CarriedOn(1)->Store(Kind::kSampler, "s"), absl::OkStatus());
  std::filesystem::rename(SamplerFile(), folder_ + "/default~x~trainer.correlated-run.state");
  EXPECT_EQ(CarryOnStatus(At("2", "1")).code(), absl::StatusCode::kDataLoss);
}

TEST_F(RunStateTest, RefusesAWeakKey) {
  ASSERT_EQ(chmod(key_file_.c_str(), 0640), 0);
  EXPECT_EQ(RunState::Open(folder_, key_file_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const auto& [size, got] : std::map<size_t, std::string>{{31, "31"}, {33, "more"}}) {
    std::filesystem::remove(key_file_);
    ASSERT_EQ(MakeSecretFile(key_file_, std::string(size, 'k')), absl::OkStatus());
    const absl::Status status = RunState::Open(folder_, key_file_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "key_file: must hold 32 bytes, got " + got);
  }
  std::filesystem::remove(key_file_);
  EXPECT_EQ(RunState::Open(folder_, key_file_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunStateTest, KeepsNothingBeforeItKnowsWhatItIsOf) {
  EXPECT_EQ(OpenState()->Store(Kind::kSampler, "s").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(SamplerFile()));
}

// A child that runs `body` and is killed by SIGKILL at the `at`-th call of its argument; false if
// it came to the end.
bool KilledAt(int at, const std::function<void(const std::function<void()>& point)>& body) {
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    int passed = 0;
    body([&] {
      if (passed++ == at) raise(SIGKILL);
    });
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "killed at " << at;
  return false;
}

// Lines that survive the process that wrote them.
class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)) {}
  void Append(const std::string& line) const {
    std::ofstream(path_, std::ios::app) << line << "\n" << std::flush;
  }
  std::vector<std::string> Read() const {
    std::vector<std::string> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string path_;
};

// The recorder's part: a state is carried on before the ledger hears of the new incarnation.
std::unique_ptr<RunState> OpenNext(const std::string& folder, const std::string& key_file,
                                   const Lines& openings, const std::function<void()>& point) {
  point();
  const std::vector<std::string> before = openings.Read();
  RunPosition position{"projects/default/ledgers/x", "trainer", absl::StrCat(getpid()), ""};
  if (!before.empty()) position.previous_incarnation = before.back();
  auto state = RunState::Open(folder, key_file);
  EXPECT_TRUE(state.ok()) << state.status();
  const auto carried = (*state)->CarryOn(position);
  EXPECT_TRUE(carried.ok()) << carried.status();
  point();
  openings.Append(position.incarnation);
  point();
  return *std::move(state);
}

// The recorder's part: how many rounds the ledger has, by epoch.
EpochPosition Recorded(const std::vector<std::string>& rounds) {
  const uint64_t epoch = std::strtoull(rounds.back().c_str(), nullptr, 10);
  const auto of_epoch = [&](const std::string& round) {
    return round.starts_with(absl::StrCat(epoch, " "));
  };
  return {epoch, static_cast<uint64_t>(std::count_if(rounds.begin(), rounds.end(), of_epoch))};
}

// In every epoch each record is in one round that the ledger has, as in an unbroken run, wherever
// processes are killed.
TEST_F(RunStateTest, EpochsGoOnAfterAKillAtAnyPoint) {
  constexpr uint64_t kPopulation = 11, kRounds = 3, kEpochs = 2;
  testing::SampledCases sampled(2);
  for (const EpochPartition partition :
       {EpochPartition::kShuffledBatches, EpochPartition::kRandomAllocation}) {
    std::vector<std::string> unbroken;
    const auto line = [](uint64_t epoch, const std::vector<uint64_t>& sample) {
      std::string text = absl::StrCat(epoch, " ");
      for (const uint64_t record : sample) absl::StrAppend(&text, record, ",");
      return text;
    };
    const auto epoch_of = [](const Sampler& sampler) {
      return accountant::EpochOf(sampler.scheme())->number;
    };
    const auto sampler =
        EpochSampler::Create({partition, kPopulation, kRounds}, RootKey::NonPrivateForTesting(7));
    for (uint64_t round = 0; round < kEpochs * kRounds; ++round) {
      // Children are forked with this process's count of samplers: theirs is the next.
      const uint64_t epoch = epoch_of(**sampler) + (uint64_t{1} << 32);
      unbroken.push_back(line(epoch, *(*sampler)->Draw()));
    }
    // Every process is killed at the same point of its own, counted from where it goes on.
    for (int at = 0; at < 14; ++at) {
      if (!sampled.Next()) continue;
      const std::string kind = absl::StrCat(static_cast<int>(partition), "-", at);
      const Lines ledger(folder_ + "/ledger-" + kind), openings(folder_ + "/openings-" + kind);
      std::filesystem::remove(SamplerFile());
      bool killed = true;
      for (int process = 0; killed && process < 40; ++process) {
        killed = KilledAt(at + process / 4, [&](const std::function<void()>& point) {
          const auto state = OpenNext(folder_, key_file_, openings, point);
          const std::vector<std::string> rounds = ledger.Read();
          EpochSamplerOptions options{partition, kPopulation, kRounds, state.get()};
          if (!rounds.empty()) options.recorded = Recorded(rounds);
          const auto mine = EpochSampler::Create(options, RootKey::NonPrivateForTesting(7));
          ASSERT_TRUE(mine.ok()) << mine.status();
          for (uint64_t round = rounds.size(); round < kEpochs * kRounds; ++round) {
            const uint64_t epoch = epoch_of(**mine);
            const auto sample = (*mine)->Draw();
            ASSERT_TRUE(sample.ok()) << sample.status();
            point();
            ledger.Append(line(epoch, *sample));
            point();
          }
        });
      }
      EXPECT_FALSE(killed);
      EXPECT_EQ(ledger.Read(), unbroken) << kind;
    }
  }
}

TEST_F(RunStateTest, APartitionIsCarriedOnAsItWas) {
  EpochSamplerOptions options{EpochPartition::kShuffledBatches, 100, 4};
  std::vector<std::vector<uint64_t>> batches;
  uint64_t epoch = 0;
  {
    const auto state = CarriedOn(1);
    options.state = state.get();
    const auto sampler = *EpochSampler::Create(options);
    epoch = accountant::EpochOf(sampler->scheme())->number;
    for (int i = 0; i < 3; ++i) batches.push_back(*sampler->Draw());
  }
  const auto carried = [&](int incarnation, const EpochSamplerOptions& with) {
    const auto state = CarriedOn(incarnation);
    EpochSamplerOptions own = with;
    own.state = state.get();
    auto sampler = EpochSampler::Create(own);
    return sampler.ok() ? (*sampler)->Draw() : sampler.status();
  };
  options.recorded = EpochPosition{epoch, 1};
  EXPECT_EQ(*carried(2, options), batches[1]);
  options.recorded = EpochPosition{epoch, 2};
  EXPECT_EQ(*carried(3, options), batches[2]);
  options.population_size = 101;
  EXPECT_EQ(carried(4, options).status(),
            absl::FailedPreconditionError(
                "population_size: is 100 in the epoch that is carried on, got 101"));
  options.population_size = 100;
  options.recorded = EpochPosition{epoch + 4, 2};
  EXPECT_EQ(carried(5, options).status(),
            absl::FailedPreconditionError(
                absl::StrCat("recorded.epoch: epoch ", epoch,
                             " is carried on, which does not follow what the ledger has")));
}

CorrelatedOptions TreeOptions(uint64_t steps) {
  CorrelatedOptions options;
  options.sums = {{{"w", 3, 0.5}}, 2.0};
  options.steps = steps;
  options.sums.threads = 1;
  return options;
}

std::vector<float> GradientOf(uint64_t step) {
  const auto x = static_cast<float>(step);
  return {0.1f * x, -0.02f, 0.3f / (1 + x)};
}

std::string LineOf(uint64_t step, const std::vector<float>& estimates) {
  std::string text = absl::StrCat(step, ":");
  for (const float estimate : estimates)
    absl::StrAppend(&text, " ", absl::Hex(std::bit_cast<uint32_t>(estimate)));
  return text;
}

// A recorder whose ledger outlives the process.
class LinesRecorder : public ListRecorder {
 public:
  LinesRecorder(const Lines& ledger, const std::function<void()>& point)
      : ledger_(ledger), point_(point) {}
  absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) override {
    point_();
    ledger_.Append("mechanism");
    return ListRecorder::RecordMechanism(mechanism);
  }
  absl::Status AwaitReleasable(uint64_t number) override {
    point_();
    return ListRecorder::AwaitReleasable(number);
  }

 private:
  const Lines& ledger_;
  const std::function<void()>& point_;
};

// What is released, and released again, is bit by bit that of an unbroken run; and the ledger has a
// mechanism for each key that anything was released with.
TEST_F(RunStateTest, CorrelatedRunsGoOnAfterAKillAtAnyPoint) {
  constexpr uint64_t kSteps = 9;
  CorrelatedOptions tree = TreeOptions(kSteps), banded = tree, buffered = tree;
  banded.encoder = BandedToeplitz{{1, 0.5, 0.375, 0.25}};
  buffered.encoder = BufferedToeplitz{{0.5, 0.25}, {0.25, 0.875}};
  testing::SampledCases sampled(4);
  for (const CorrelatedOptions& options : {tree, banded, buffered}) {
    std::vector<std::string> unbroken;
    ListRecorder recorder;
    const auto run =
        *CorrelatedPrivatizer::BeginNonPrivateRunForTesting(options, &recorder, /*seed=*/5);
    for (uint64_t step = 0; step < kSteps; ++step) {
      ASSERT_EQ(run->Accumulate(GradientOf(step)), absl::OkStatus());
      unbroken.push_back(LineOf(step, *run->FinishStep()));
    }
    for (const uint64_t save_every : {1u, 3u}) {
      for (int at = 0; at < 16; at += options.encoder.index() == 0 ? 1 : 3) {
        if (!sampled.Next()) continue;
        const std::string kind = absl::StrCat(options.encoder.index(), "-", save_every, "-", at);
        const Lines ledger(folder_ + "/ledger-" + kind), releases(folder_ + "/releases-" + kind),
            openings(folder_ + "/openings-" + kind);
        for (const char* name : {"/default~x~trainer.correlated-run.state",
                                 "/default~x~trainer.correlated-steps.state"}) {
          std::filesystem::remove(folder_ + name);
        }
        bool killed = true;
        for (int process = 0; killed && process < 60; ++process) {
          killed = KilledAt(at + process / 3, [&](const std::function<void()>& point) {
            const auto state = OpenNext(folder_, key_file_, openings, point);
            LinesRecorder own(ledger, point);
            const auto mine = CorrelatedPrivatizer::BeginNonPrivateRunForTesting(
                options, &own, /*seed=*/5, state.get());
            ASSERT_TRUE(mine.ok()) << mine.status();
            while ((*mine)->steps_done() < kSteps) {
              const uint64_t step = (*mine)->steps_done();
              ASSERT_EQ((*mine)->Accumulate(GradientOf(step)), absl::OkStatus());
              point();
              const auto estimates = (*mine)->FinishStep();
              ASSERT_TRUE(estimates.ok()) << estimates.status();
              point();
              releases.Append(LineOf(step, *estimates));
              point();
              if ((step + 1) % save_every == 0) {
                ASSERT_EQ((*mine)->Save(), absl::OkStatus());
              }
              point();
            }
          });
        }
        EXPECT_FALSE(killed);
        std::vector<std::string> released = releases.Read();
        std::sort(released.begin(), released.end());
        released.erase(std::unique(released.begin(), released.end()), released.end());
        EXPECT_EQ(released, unbroken) << kind;
        EXPECT_GE(ledger.Read().size(), 1u);
      }
    }
  }
}

TEST_F(RunStateTest, AReleasedStepIsNotReleasedWithAnotherSum) {
  ListRecorder recorder;
  const CorrelatedOptions options = TreeOptions(5);
  std::vector<float> first, second;
  {
    const auto state = CarriedOn(1);
    const auto run = *CorrelatedPrivatizer::BeginRun(options, &recorder, state.get());
    ASSERT_EQ(run->Accumulate(GradientOf(0)), absl::OkStatus());
    first = *run->FinishStep();
    ASSERT_EQ(run->Accumulate(GradientOf(1)), absl::OkStatus());
    second = *run->FinishStep();
  }
  const auto state = CarriedOn(2);
  const auto run = *CorrelatedPrivatizer::BeginRun(options, &recorder, state.get());
  // One event, which the first process recorded.
  EXPECT_EQ(recorder.mechanisms.size(), 1u);
  EXPECT_EQ(run->steps_done(), 0u);
  ASSERT_EQ(run->Accumulate(GradientOf(7)), absl::OkStatus());
  const absl::Status other = run->FinishStep().status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.message(),
            "step 1: was released with another sum before, and its noise must not hide two: repeat "
            "the gradients of that step, or begin a new run");
  ASSERT_EQ(run->Accumulate(GradientOf(0)), absl::OkStatus());
  EXPECT_EQ(*run->FinishStep(), first);
  // A save forgets no step that is still to come.
  ASSERT_EQ(run->Save(), absl::OkStatus());
  ASSERT_EQ(run->Accumulate(GradientOf(0)), absl::OkStatus());
  EXPECT_EQ(run->FinishStep().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(run->Accumulate(GradientOf(1)), absl::OkStatus());
  EXPECT_EQ(*run->FinishStep(), second);
}

TEST_F(RunStateTest, CarriesOnNoOtherRun) {
  ListRecorder recorder;
  {
    const auto state = CarriedOn(1);
    const auto run = *CorrelatedPrivatizer::BeginRun(TreeOptions(5), &recorder, state.get());
    ASSERT_TRUE(run->FinishStep().ok());
  }
  for (const auto change : std::vector<void (*)(CorrelatedOptions&)>{
           [](CorrelatedOptions& o) { o.steps = 6; },
           [](CorrelatedOptions& o) { o.max_participations = 2; },
           [](CorrelatedOptions& o) { o.sums.groups[0].clip_norm = 0.25; },
           [](CorrelatedOptions& o) {
             o.sampling = BallsInBinsSampling{10, 2};
           },
           [](CorrelatedOptions& o) { o.sums.noise_multiplier = 2.5; },
           [](CorrelatedOptions& o) {
             o.encoder = BandedToeplitz{{1, 0.5}};
           }}) {
    static int incarnation = 2;
    CorrelatedOptions options = TreeOptions(5);
    change(options);
    const auto state = CarriedOn(incarnation++);
    EXPECT_EQ(CorrelatedPrivatizer::BeginRun(options, &recorder, state.get()).status(),
              absl::FailedPreconditionError("options: are not those of the run that is carried on, "
                                            "which is charged by them"));
  }
}

// The samples are the run's own: the same ones in the process that carries it on.
TEST_F(RunStateTest, DrawsTheSamplesOfTheRunThatIsCarriedOn) {
  ListRecorder recorder;
  CorrelatedOptions options = TreeOptions(6);
  options.max_participations = options.min_separation = 1;
  options.sampling = BallsInBinsSampling{1000, 3};
  std::vector<uint64_t> first, second;
  {
    const auto state = CarriedOn(1);
    const auto run = *CorrelatedPrivatizer::BeginRun(options, &recorder, state.get());
    first = *run->DrawStep();
    ASSERT_TRUE(run->FinishStep().ok());
    ASSERT_EQ(run->Save(), absl::OkStatus());
    second = *run->DrawStep();
  }
  const auto state = CarriedOn(2);
  {
    const auto run = *CorrelatedPrivatizer::BeginRun(options, &recorder, state.get());
    EXPECT_EQ(run->steps_done(), 1u);
    EXPECT_EQ(*run->DrawStep(), second);
  }
  EXPECT_NE(first, second);
  // Another population would draw others.
  const auto other = CarriedOn(3);
  options.sampling = BallsInBinsSampling{1001, 3};
  EXPECT_EQ(CorrelatedPrivatizer::BeginRun(options, &recorder, other.get()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Without the digests nobody knows which steps were released.
TEST_F(RunStateTest, CarriesOnNoRunWithoutItsSteps) {
  ListRecorder recorder;
  {
    const auto state = CarriedOn(1);
    const auto run = *CorrelatedPrivatizer::BeginRun(TreeOptions(5), &recorder, state.get());
    ASSERT_TRUE(run->FinishStep().ok());
  }
  std::filesystem::remove(folder_ + "/default~x~trainer.correlated-steps.state");
  const auto state = CarriedOn(2);
  EXPECT_EQ(CorrelatedPrivatizer::BeginRun(TreeOptions(5), &recorder, state.get()).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(RunStateTest, ReleasesNothingThatItCouldNotKeep) {
  ListRecorder recorder;
  const auto state = CarriedOn(1);
  const auto run = *CorrelatedPrivatizer::BeginRun(TreeOptions(5), &recorder, state.get());
  const auto sampler =
      *EpochSampler::Create({EpochPartition::kShuffledBatches, 10, 2, state.get()});
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(run->FinishStep().ok());
  EXPECT_EQ(run->steps_done(), 0u);
  EXPECT_FALSE(sampler->Draw().ok());
  EXPECT_FALSE(run->Save().ok());
}

}  // namespace
}  // namespace dpledger::client
