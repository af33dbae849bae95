// Turns events into a composition, one at a time. Private to mechanism/; the front door is
// Resolve() in composition.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/joint_noise.h"
#include "accountant/mechanism/sampled_curve.h"

namespace dpledger::accountant {

inline constexpr char kFloatingPointNoise[] =
    "floating-point noise: GAUSSIAN noise is taken to be real-valued and added exactly";
inline constexpr char kGeneratedNoise[] =
    "generated noise: the trainer's random bits (AES-128 in counter mode, or ChaCha20) are taken "
    "to be indistinguishable from true ones";

// The number of rounds for each bracket {lower, upper} of the noise multiplier.
using NoiseCounts = std::map<std::pair<double, double>, uint64_t>;

inline constexpr uint64_t kGreatestCount = uint64_t{1} << 53;
// a·b; FAILED_PRECONDITION (reason COUNT_TOO_LARGE) above kGreatestCount.
absl::StatusOr<uint64_t> MultiplyCounts(uint64_t a, uint64_t b);

// Of the records, the share that is in a sample of fixed size.
Interval ShareOf(uint64_t sample_size, uint64_t population);

// A key that tells pairs of a round apart: a scheme, whole numbers and a noise multiplier.
std::string PairKey(std::string_view name, std::initializer_list<uint64_t> whole, Interval z);

// Gaussian mechanisms of noise multiplier z, each on a sample from `population` records.
struct GaussianRounds {
  uint64_t population;
  Interval z;
  uint64_t count;
  const std::string& owner;  // of epochs
};

// The Gaussian queries of a round as one noise multiplier, and the discrete ones as one ρ of zCDP.
struct RoundNoise {
  JointNoise gaussian;
  double rho = 0;  // rounded up
  std::set<NoiseKind> kinds;
};

class Resolver {
 public:
  explicit Resolver(const Neighbours& neighbours);

  absl::Status AddRounds(const std::vector<History::CountedRound>& rounds);
  absl::Status AddMechanism(const Mechanism& mechanism, uint64_t outer_count);
  Composition Finish() &&;

  // ---- For the kinds of events, each of which adds itself (AddTo) ----

  const Neighbours& neighbours() const { return neighbours_; }
  bool replaces() const { return neighbours_.adjacency == Adjacency::kReplaceOne; }
  Composition& composition() { return composition_; }
  // The pair added by that key.
  PairStep& PairAt(const std::string& key) { return composition_.pairs[pairs_.at(key)]; }
  bool HasPair(const std::string& key) const { return pairs_.contains(key); }
  // RESOURCE_EXHAUSTED (QUERY_TOO_LARGE), with `refusal` as the message, once the mechanisms of a
  // history take more than about a second to work out.
  absl::Status SpendWork(double additions, std::string_view refusal);
  // Whether half of that is left after so much more.
  bool LeavesHalfOfTheWork(double additions) const;

  // `count` runs of a matrix mechanism, by its encoder: a sensitivity, or one whose records take
  // part by a schedule.
  absl::Status AddEncoded(const StatedSensitivity& stated, double noise_stddev, uint64_t count);
  absl::Status AddEncoded(const TreeEncoder& tree, double noise_stddev, uint64_t count);
  absl::Status AddEncoded(const ToeplitzEncoder& toeplitz, double noise_stddev, uint64_t count);
  void Assume(NoiseKind noise);
  absl::Status AddGaussian(const SamplingScheme& scheme, Interval z, uint64_t count,
                           const std::string& owner);
  // Rounds of epochs are collected until all rounds have been added.
  absl::Status AddDisjoint(const DisjointBatches& scheme, const GaussianRounds& rounds);
  absl::Status AddAllocated(const RandomAllocation& scheme, const GaussianRounds& rounds);
  absl::Status AddPoisson(Interval q, Interval z, uint64_t count);
  absl::Status AddPoisson(double q, Interval z, uint64_t count) {
    return AddPoisson(Interval{q, q}, z, count);
  }
  // The joint noise of a mechanism that is made of Gaussians alone. Any other mechanism is refused;
  // the error names `around`, the mechanism that contains it.
  absl::StatusOr<JointNoise> GaussiansOf(const Mechanism& mechanism, std::string_view around);

  // The distance of the means on neighbouring data sets, in standard deviations: 1/z, times the
  // group's size, times 2 for replace-one.
  Interval Distance(Interval z) const;
  // Where one record takes another's place: times 2.
  static Interval Apart(Interval z);
  static absl::Status AddCount(uint64_t count, uint64_t& total);
  absl::Status AddUnsampled(Interval z, uint64_t count);
  absl::Status AddPair(const std::string& key, Pair upper, Pair lower, uint64_t count,
                       std::optional<RenyiBound> renyi = std::nullopt,
                       std::optional<FixedSizeRound> fixed_size = std::nullopt);
  // A selection by noised scores, of bounded range `epsilon` (`ranged`) or a noisy maximum of that
  // distance; it may be `least`.
  absl::Status AddChoice(const TwoCandidates& least, double epsilon, bool ranged, uint64_t count);
  // `rho` as of CurveStep.
  absl::Status AddCurve(RenyiBound bound, uint64_t count, double rho = 0);
  // What a mechanism is by itself, once; what it assumes and warns of is taken over.
  absl::StatusOr<Composition> Alone(const Mechanism& part);
  // Such a mechanism on a sample. `share` in [0, 1].
  absl::Status AddSampledCurve(SampleOf kind, Interval share, const Concentrated& whole,
                               uint64_t count);

  absl::Status NoAnalysis(std::string_view what) const;
  // Refuse, as NO_ANALYSIS: another adjacency than the declared one, and groups of more than one
  // record; such groups.
  absl::Status OnlyAsDeclared(std::string_view what) const;
  absl::Status OnlySingleRecords(std::string_view what) const;

 private:
  absl::Status AddDiscrete(const SamplingScheme& scheme, const RoundNoise& noise, uint64_t count);
  void DescribePopulations(const std::vector<History::CountedRound>& rounds);
  // Adds all rounds recorded under one epoch number: one epoch, or several with the same number.
  absl::Status AddDisjoint(uint64_t rounds, const NoiseCounts& noises);
  absl::Status AddAllocated(uint64_t rounds, const NoiseCounts& noises);
  absl::Status AddAllocation(uint64_t rounds, Interval z, uint64_t missing, uint64_t count,
                             bool grows = false);
  // Epochs in which a record is in `contributions` of the rounds.
  absl::Status AddTransversals(uint64_t rounds, uint64_t contributions, const NoiseCounts& noises);
  absl::Status AddTransversals(uint64_t rounds, uint64_t contributions, Interval z, uint64_t count,
                               bool grows);
  // The epochs of one writer in which records stay in their rounds: one draw, whatever its entries
  // say. By what they say of it: rounds an epoch and contributions.
  struct BinsShape {
    uint64_t rounds, contributions;
    auto operator<=>(const BinsShape&) const = default;
  };
  using FixedBins = std::map<BinsShape, std::vector<NoiseCounts>>;
  absl::Status AddFixedBins(const FixedBins& run);
  // z: the noise over a contribution of norm one, in units of the encoder's first coefficient.
  absl::Status AddCyclic(const ToeplitzEncoder& toeplitz, const CyclicPoisson& cyclic, Interval z,
                         uint64_t count);
  template <typename Encoder>
  absl::Status AddBins(const Encoder& encoder, const BallsInBins& bins, Interval z, uint64_t count);
  absl::Status OnlyWhereStepsStay() const;

  const Neighbours neighbours_;
  Composition composition_;
  std::map<std::tuple<double, double, double>, uint64_t> gaussians_;  // by (q, z.lower, z.upper)
  std::map<std::string, size_t> pairs_;                               // by key
  struct EpochKey {
    std::string owner;
    uint64_t population, rounds, number, contributions = 1;
    bool fixed_bins = false;
    auto operator<=>(const EpochKey&) const = default;
  };
  std::map<EpochKey, NoiseCounts> disjoint_, allocated_;
  // By rounds, missing ones, z.lower, z.upper, whether it grows.
  std::map<std::tuple<uint64_t, uint64_t, double, double, bool>, uint64_t> allocations_;
  double work_ = 0;           // of matrix encoders and shuffles so far
  double to_be_exact_ = 5e8;  // additions left for that, of trees: half a second
};

}  // namespace dpledger::accountant
