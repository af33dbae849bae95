// A trainer on the public API that is killed by SIGKILL at every point of every step, once each:
//
//   preempted_trainer run|epochs SERVER FOLDER STATE POINTS
//
// STATE is "kept" or "none". POINTS are the names of points at which it kills itself, joined by
// commas; "begin": it ends as soon as there is something to carry on; "": it runs to its end. What
// it drew and released stands in FOLDER/drawn and FOLDER/released, a line each.
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "dpledger/client.h"

namespace dpledger {
namespace {

class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)) {}
  void Append(const std::string& line) const {
    std::ofstream(path_, std::ios::app) << line << "\n";
  }
  std::vector<std::string> Read() const {
    std::vector<std::string> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  const std::string path_;
};

class Trainer {
 public:
  Trainer(std::string server, std::string folder, bool keeps, const std::string& points)
      : server_(std::move(server)),
        folder_(std::move(folder)),
        keeps_(keeps),
        points_(absl::StrSplit(points, ',', absl::SkipEmpty())) {}

  // Six steps of DP-FTRL, saved after every second one. Gradients depend on the model.
  absl::Status RunCorrelated() {
    constexpr uint64_t kSteps = 6;
    ASSIGN_OR_RETURN(const auto recorder, Open());
    CorrelatedOptions options;
    options.sums.groups = {{"weights", kDimension, 1.0}};
    options.sums.noise_multiplier = 8;
    options.steps = kSteps;
    options.max_participations = 2;
    options.min_separation = 3;
    options.encoder = BandedToeplitz{{1, 0.5}};
    ASSIGN_OR_RETURN(const auto run, CorrelatedPrivatizer::BeginRun(options, recorder->events()));
    if (Ends()) return run->Save();
    std::vector<float> model(kDimension), gradient(kDimension);
    if (run->steps_done() > 0) model = LoadModel(run->steps_done());
    for (uint64_t step = run->steps_done(); step < kSteps; ++step) {
      for (size_t i = 0; i < kDimension; ++i) {
        gradient[i] = 0.1f * static_cast<float>(step + i) - 0.01f * model[i];
      }
      RETURN_IF_ERROR(run->Accumulate(gradient));
      Point("summed", step);
      ASSIGN_OR_RETURN(const std::vector<float> estimate, run->FinishStep());
      released_.Append(absl::StrCat(step, Bits(estimate)));
      Point("released", step);
      for (size_t i = 0; i < kDimension; ++i) model[i] -= estimate[i];
      SaveModel(step + 1, model);
      Point("modelled", step);
      if (keeps_ && step % 2 == 1) RETURN_IF_ERROR(run->Save());
      Point("saved", step);
    }
    return recorder->Close();
  }

  // Two epochs of four disjoint batches.
  absl::Status RunEpochs() {
    constexpr size_t kRounds = 8;
    ASSIGN_OR_RETURN(const auto recorder, Open());
    const SamplingScheme scheme{100, DisjointBatches{kRounds / 2, 0}};
    ASSIGN_OR_RETURN(const auto sampler, keeps_
                                             ? Sampler::CreateResumable(scheme, recorder->events())
                                             : Sampler::Create(scheme));
    PrivatizerOptions options;
    options.groups = {{"weights", kDimension, 1.0}};
    options.noise_multiplier = 4;
    ASSIGN_OR_RETURN(const auto privatizer, Privatizer::Create(options, recorder->events()));
    std::vector<float> sum(kDimension);
    for (size_t round = recorded_.Read().size(); round < kRounds; ++round) {
      ASSIGN_OR_RETURN(const auto sample, sampler->Draw());
      if (Ends()) return absl::OkStatus();
      drawn_.Append(absl::StrCat(round, ": ", absl::StrJoin(sample, " ")));
      Point("drawn", round);
      RETURN_IF_ERROR(privatizer->BeginStep(*sampler));
      recorded_.Append(absl::StrCat(round));
      Point("recorded", round);
      RETURN_IF_ERROR(privatizer->Finish(absl::MakeSpan(sum)));
      released_.Append(absl::StrCat(round));
      Point("released", round);
    }
    return recorder->Close();
  }

 private:
  static constexpr size_t kDimension = 3;

  absl::StatusOr<std::unique_ptr<Recorder>> Open() {
    RecorderOptions options{.server = server_, .ledger = "preempted"};
    options.declaration = {.dataset = "numbers",
                           .unit_of_privacy = "example",
                           .adjacency = Adjacency::kZeroOut,
                           .parameters = Parameters::kFixed};
    options.spool_folder = folder_ + "/spool";
    if (keeps_) options.state = RunState{folder_ + "/key"};
    return Recorder::Open(options);
  }

  bool Ends() const { return points_ == std::vector<std::string>{"begin"}; }

  // Where this process ends, unless one before it did.
  void Point(const std::string& name, uint64_t step) const {
    if (std::find(points_.begin(), points_.end(), name) == points_.end()) return;
    const std::string line = absl::StrCat(name, " ", step);
    const std::vector<std::string> before = killed_.Read();
    if (std::find(before.begin(), before.end(), line) != before.end()) return;
    killed_.Append(line);
    raise(SIGKILL);
  }

  static std::string Bits(const std::vector<float>& values) {
    std::string text;
    for (const float value : values) {
      absl::StrAppend(&text, " ", absl::Hex(std::bit_cast<uint32_t>(value)));
    }
    return text;
  }
  std::string ModelPath(uint64_t step) const { return absl::StrCat(folder_, "/model-", step); }
  void SaveModel(uint64_t step, const std::vector<float>& model) const {
    std::ofstream(ModelPath(step), std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()), kDimension * sizeof(float));
  }
  std::vector<float> LoadModel(uint64_t step) const {
    std::vector<float> model(kDimension);
    std::ifstream(ModelPath(step), std::ios::binary)
        .read(reinterpret_cast<char*>(model.data()), kDimension * sizeof(float));
    return model;
  }

  const std::string server_, folder_;
  const bool keeps_;
  const std::vector<std::string> points_;
  const Lines drawn_{folder_ + "/drawn"}, recorded_{folder_ + "/recorded"},
      released_{folder_ + "/released"}, killed_{folder_ + "/killed"};
};

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  dpledger::Trainer trainer(argv[2], argv[3], std::string(argv[4]) == "kept", argv[5]);
  const absl::Status status =
      std::string(argv[1]) == "run" ? trainer.RunCorrelated() : trainer.RunEpochs();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
