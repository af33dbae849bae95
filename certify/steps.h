// The independent steps that events mean, with known losses: what docs/mechanisms.md says of each
// mechanism and sampling scheme, read anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "certify/composition.h"
#include "certify/history.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::certify {

// UNIMPLEMENTED: nothing here checks this.
absl::Status Unknown(std::string_view what);

// Runs are whole numbers of at most 2^53: doubles hold them, and nothing is rounded away.
inline constexpr double kMostRuns = 0x1p53;
absl::Status AddRuns(double more, double& runs);
inline constexpr size_t kMostKinds = 64;  // of sampled steps, and of pairs

class Steps {
 public:
  Steps(const Neighbours& neighbours, const Closeness& closeness)
      : to_(neighbours), closeness_(closeness) {}

  // With which probability a record is in a round, and how much farther apart the round's sums are
  // then than by its own contribution; or how it is in one round of an epoch.
  struct Sampling {
    Ball q = 1.0;
    double times = 1;
    uint64_t draws = 1;  // each with q, that may bring the record
    enum class In {
      kEachRound,
      kRandomRound,  // of an epoch, drawn for each
      kFixedRound,   // the same of all epochs, drawn once
      kSomeRound,    // of an epoch, that others may know
    };
    In in = In::kEachRound;
    uint64_t rounds = 0, population = 0, epoch = 0;
    std::string writer, incarnation;  // an epoch is one incarnation's; fixed rounds a writer's
    bool of_epoch() const { return rounds > 1; }
  };
  // What one record changes of a round's sums over their noise, 0 if none was released, and the
  // round's sampling; the rounds of an incarnation in order.
  absl::Status AddRound(const Ball& one_record, const Sampling& sampling);
  // So many of them; whole epochs, if they are of any.
  absl::Status AddRounds(const Ball& one_record, const Sampling& sampling, double count);
  // (S/σ)² of one query.
  absl::StatusOr<Ball> Square(const v1::SumQuery& query) const;
  absl::StatusOr<Sampling> SamplingOf(const v1::SamplingScheme& scheme) const;
  absl::Status Mechanism(const v1::MechanismEvent& event) { return Mechanism(event, 1, 1); }

  // All of them; nothing is left here.
  absl::StatusOr<Claimed> Take();

 private:
  bool replaced() const { return to_.adjacency == v1::REPLACE_ONE; }
  // How much farther apart neighbours are than by one record's own contribution.
  double Times() const { return static_cast<double>(to_.group_size) * (replaced() ? 2 : 1); }

  // `event` but for its count says which pair it is.
  absl::Status AddPair(Pair pair, v1::MechanismEvent event, double count);
  static Sampling OfEpoch(Sampling::In in, uint64_t rounds, uint64_t epoch,
                          const v1::SamplingScheme& scheme);
  absl::Status AddGaussian(const Ball& one_record, const Sampling& sampling, double count);
  struct BegunEpoch;
  absl::Status Finish(BegunEpoch& begun);
  absl::Status FinishEpochs();
  absl::Status AddEpochs(const Ball& one_record, const Sampling& sampling, double epochs);
  absl::Status AddAllocated(const Ball& one_record, uint64_t rounds, double epochs);
  absl::Status AddCopies(const Ball& mu, const Ball& q, uint64_t draws, double count);
  // `name` says which pairs `make` makes.
  absl::Status AddEnclosed(const std::string& name, double count,
                           absl::FunctionRef<absl::StatusOr<Enclosed>()> make);
  // `rho` of a Gaussian that the curve allows.
  void AddCurve(Curve curve, const Ball& rho, double count);
  // `runs` of everything around it, at this depth of the tree.
  absl::Status Mechanism(const v1::MechanismEvent& event, double runs, int level);
  // μ² of a Gaussian without sampling.
  absl::StatusOr<Ball> OneSquare(const v1::MechanismEvent& event) const;
  // μ² of what runs on one sample, once. Samples of samples multiply q.
  absl::StatusOr<Ball> SampledSquare(const v1::PoissonSampled& sampled, Ball& q, int level) const;
  absl::StatusOr<Ball> JointSquare(const v1::MechanismEvent& event, double runs, int level) const;
  absl::Status Zcdp(const v1::ZCDp& zcdp, double count);
  absl::Status Renyi(const v1::RenyiCurve& curve, double count);
  // As zCDP (Canonne, Kamath, Steinke 2020, thm. 4). A Gaussian of the same curve is no bound
  // below.
  absl::Status DiscreteGaussian(const v1::DiscreteGaussian& noise, double count);
  // A record is in one leaf of one tree, so in as many sums as that tree has levels.
  absl::Status Tree(const v1::SingleEpochTreeAggregation& tree, double count);
  // Mechanisms that a pair bounds, which may be reached by none of them. CLAIM.md, section 5.
  static bool IsBoundAlone(const v1::MechanismEvent& event);
  absl::StatusOr<Pair> BoundOf(const v1::MechanismEvent& event) const;
  // Lyu, Su, Li 2017, thm. 4 and 5: it is ε-DP, however long the stream is.
  absl::StatusOr<Ball> SparseVector(const v1::SparseVector& sparse) const;
  absl::Status WithPair(const v1::MechanismEvent& event, double count);

  struct EnclosedStep {
    std::string name;
    size_t place = 0;  // of the pair above
    Pair below;
  };
  struct BegunEpoch {
    Sampling sampling;
    Ball one_record = 0.0;
    uint64_t count = 0;  // of its rounds; 0: none is begun
  };
  struct FixedBins {
    uint64_t rounds = 0, population = 0;
    Ball one_record = 0.0;  // of all epochs together
  };

  Neighbours to_;
  Closeness closeness_;
  Composition above_;
  Ball below_variance_ = 0.0;
  size_t atoms_ = 0;                      // of all pairs
  std::map<std::string, size_t> places_;  // of pairs
  std::set<size_t> above_alone_;          // pairs that are a bound, and that no mechanism reaches
  std::vector<EnclosedStep> enclosed_;
  std::map<std::string, BegunEpoch> begun_;  // the last one of each incarnation
  std::map<std::string, FixedBins> fixed_;   // by writer
};

}  // namespace dpledger::certify
