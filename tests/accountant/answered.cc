#include "tests/accountant/answered.h"

#include <cmath>
#include <limits>

#include "tests/accountant/small_laws.h"

namespace dpledger::accountant::testing {
namespace {

using small::Law;
using Truth = std::function<double(Adjacency, double, size_t)>;
using Allowed = std::array<bool, 3>;

constexpr Allowed kGroups = {true, true, true};
// A curve says nothing of a small ε, and not every mechanism is as any ε-DP one may be.
constexpr double kLoose = std::numeric_limits<double>::infinity();

History Rounds(SamplingScheme scheme, std::vector<SumQuery> queries, uint64_t count = 1) {
  History history;
  history.Add("w", RoundsEvent{{std::move(scheme), std::move(queries)}, count});
  return history;
}
Mechanism One(auto kind) { return {1, std::move(kind)}; }
History Of(auto kind) {
  History history;
  history.Add("w", One(std::move(kind)));
  return history;
}

// A sum over a sample of `size` records.
Truth SumOver(size_t size, small::Sampler sampler, small::Noise noise) {
  return [=, sum = small::NoisySum(std::move(sampler), std::move(noise))](
             Adjacency adjacency, double epsilon, size_t group) {
    return small::WorstDelta(sum, size, adjacency, epsilon, group);
  };
}
// A sum over all records.
Truth Sum(small::Noise noise) {
  return [noise](Adjacency adjacency, double epsilon, size_t group) {
    return SumOver(group, small::Everyone(), noise)(adjacency, epsilon, group);
  };
}
Truth GaussianSum(double z) { return Sum(small::GaussianNoise(z)); }

// The laws of two neighbours, whatever the adjacency.
Truth Neighbours(Law p, Law q) {
  return [=](Adjacency, double epsilon, size_t) { return small::EitherDelta(p, q, epsilon); };
}

// Two candidates, each of whose scores one record moves by up to one (two, if it is replaced), in
// either direction or (`together`) in the same one: the worst of all gaps between the scores.
// `first` is the probability that a candidate wins that is ahead by so much.
Truth Selection(bool together, std::function<double(double ahead)> first) {
  return [=](Adjacency adjacency, double epsilon, size_t group) {
    const double moved = (together ? 1.0 : 2.0) * static_cast<double>(group) *
                         (adjacency == Adjacency::kReplaceOne ? 2 : 1);
    double worst = 0;
    for (double ahead = -8; ahead <= 8; ahead += 0.01) {
      const double p = first(ahead), q = first(ahead - moved);
      worst = std::fmax(worst, small::EitherDelta({p, 1 - p}, {q, 1 - q}, epsilon));
    }
    return worst;
  };
}

// How often each of so many values is reported, where each person reports the true one with odds of
// e^local to each other one: the worst of all values of the others.
Truth Shuffles(double local, size_t people, size_t values) {
  const auto law = [=](size_t own, size_t others) {
    Law counts(static_cast<size_t>(std::pow(people + 1, values)));
    counts[0] = 1;
    const double total = std::exp(local) + static_cast<double>(values) - 1;
    for (size_t i = 0; i < people; ++i) {
      const size_t value = i == 0 ? own : others % values;
      if (i > 0) others /= values;
      Law after(counts.size());
      size_t unit = 1;
      for (size_t report = 0; report < values; ++report, unit *= people + 1) {
        const double chance = (report == value ? std::exp(local) : 1) / total;
        for (size_t at = 0; at + unit < counts.size(); ++at)
          after[at + unit] += chance * counts[at];
      }
      counts = std::move(after);
    }
    return counts;
  };
  return [=](Adjacency, double epsilon, size_t) {
    double worst = 0;
    for (size_t others = 0; others < std::pow(values, people - 1); ++others)
      worst = std::fmax(worst, small::EitherDelta(law(0, others), law(1, others), epsilon));
    return worst;
  };
}

// Which of two queries are above a threshold, until `cutoff` are; one record moves each by up to
// one, or (`together`) both the same way. The worst of all whole answers near the threshold.
Truth ShortStream(double threshold, double query, uint64_t cutoff, bool together) {
  const auto law = [=](int first, int second) {
    Law said(4);  // below = 0, above = 1, of the first query by the lower bit
    constexpr double kCell = 0.02;
    for (double at = -40 + kCell / 2; at < 40; at += kCell) {
      const double mass = std::exp(-std::fabs(at) / threshold) / (2 * threshold) * kCell;
      const auto above = [&](int answer) {
        const double ahead = (answer - at) / query;
        return ahead < 0 ? std::exp(ahead) / 2 : 1 - std::exp(-ahead) / 2;
      };
      const double one = above(first), two = above(second);
      said[0] += mass * (1 - one) * (1 - two);
      said[1] += mass * one * (cutoff == 1 ? 1 : 1 - two);
      said[2] += mass * (1 - one) * two;
      if (cutoff > 1) said[3] += mass * one * two;
    }
    return said;
  };
  return [=](Adjacency adjacency, double epsilon, size_t group) {
    const int by = static_cast<int>(group) * (adjacency == Adjacency::kReplaceOne ? 2 : 1);
    double worst = 0;
    for (int first = -3; first <= 3; ++first) {
      for (int second = -3; second <= 3; ++second) {
        const Law here = law(first, second);
        for (const auto& [one, two] : std::vector<std::pair<int, int>>{{1, 1}, {1, 0}, {1, -1}}) {
          if (together && two < 0) continue;
          worst = std::fmax(
              worst, small::EitherDelta(here, law(first + by * one, second + by * two), epsilon));
        }
      }
    }
    return worst;
  };
}

// Gaussian noise in wider cells, where something is: for outputs of two numbers.
Law CoarseGaussian(double z, int sum) {
  const Law fine = small::GaussianNoise(z)(sum);
  Law law(fine.size() / 2 + 1);
  for (size_t i = 0; i < fine.size(); ++i) law[i / 2] += fine[i];
  return Law(law.begin() + 1700, law.end() - 1650);
}

// Random allocation of one record to two rounds; one that is absent or null leaves both sums alone,
// another one moves its round's sum the other way.
Truth TwoRounds(double z) {
  return [z](Adjacency adjacency, double epsilon, size_t) {
    const auto coarse = [z](int sum) { return CoarseGaussian(z, sum); };
    const auto allocated = [&](int moved) {
      const Law first = small::Together(coarse(moved), coarse(0));
      const Law second = small::Together(coarse(0), coarse(moved));
      Law law(first.size());
      for (size_t i = 0; i < law.size(); ++i) law[i] = (first[i] + second[i]) / 2;
      return law;
    };
    const int other = adjacency == Adjacency::kReplaceOne ? -1 : 0;
    return small::EitherDelta(allocated(1), allocated(other), epsilon);
  };
}

// Two bins; a record of the first is in both messages, one of the second in the second alone.
Truth TwoBins(double z) {
  return [z](Adjacency, double epsilon, size_t) {
    const Law first = small::Together(CoarseGaussian(z, 1), CoarseGaussian(z, 1));
    const Law second = small::Together(CoarseGaussian(z, 0), CoarseGaussian(z, 1));
    Law with(first.size());
    for (size_t i = 0; i < with.size(); ++i) with[i] = (first[i] + second[i]) / 2;
    return small::EitherDelta(with, small::Together(CoarseGaussian(z, 0), CoarseGaussian(z, 0)),
                              epsilon);
  };
}

// Two messages of noise multipliers z and w, the record in each with probability q.
Truth TwoSampled(double q, double z, double w) {
  return [=](Adjacency adjacency, double epsilon, size_t) {
    const auto sampled = [q](double multiplier, int sum) {
      Law law = CoarseGaussian(multiplier, sum);
      const Law without = CoarseGaussian(multiplier, 0);
      for (size_t i = 0; i < law.size(); ++i) law[i] = q * law[i] + (1 - q) * without[i];
      return law;
    };
    const int other = adjacency == Adjacency::kReplaceOne ? -1 : 0;
    return small::EitherDelta(small::Together(sampled(z, 1), sampled(w, 1)),
                              small::Together(sampled(z, other), sampled(w, other)), epsilon);
  };
}

// A Gaussian mechanism whose one record moves the mean along the longest of these vectors.
Truth Columns(double z, const std::vector<std::vector<double>>& columns) {
  double greatest = 0;
  for (const auto& column : columns) {
    double square = 0;
    for (const double x : column) square += x * x;
    greatest = std::fmax(greatest, std::sqrt(square));
  }
  return GaussianSum(z / greatest);
}

Law ResponseOf(size_t record, double noise, size_t buckets) {
  Law law(buckets, noise / static_cast<double>(buckets));
  law[record] += 1 - noise;
  return law;
}

// Of one record's answer; a null one answers uniformly.
Truth Response(double noise, size_t buckets) {
  return [=](Adjacency adjacency, double epsilon, size_t) {
    const Law own = ResponseOf(0, noise, buckets);
    const Law other = adjacency == Adjacency::kReplaceOne ? ResponseOf(1, noise, buckets)
                                                          : ResponseOf(0, 1, buckets);
    return small::EitherDelta(own, other, epsilon);
  };
}

// The most revealing law that is (ε, δ)-DP: δ shows all, the rest is told apart as well as it may.
std::pair<Law, Law> Worst(double epsilon, double delta) {
  const double more = (1 - delta) / (1 + std::exp(-epsilon)), less = 1 - delta - more;
  return {{delta, more, less, 0}, {0, less, more, delta}};
}
Truth WorstOf(double epsilon, double delta) {
  const auto [p, q] = Worst(epsilon, delta);
  return Neighbours(p, q);
}

// Sampled with probability q: the record's law with that probability, else the law without it.
Truth SampledWorst(double q, double epsilon, double delta) {
  auto [with, without] = Worst(epsilon, delta);
  for (size_t i = 0; i < with.size(); ++i) with[i] = q * with[i] + (1 - q) * without[i];
  return Neighbours(with, without);
}

// The best of K results of a noisy sum, K geometric with this mean; by the result itself or, as the
// score may be anything, by a constant.
Truth BestSum(small::Noise noise, double mean) {
  return [=](Adjacency adjacency, double epsilon, size_t group) {
    const auto best = [&](const small::DataSet& data) {
      return small::BestOf(small::NoisySum(small::Everyone(), noise)(data),
                           [mean](double x) { return x / (mean - (mean - 1) * x); });
    };
    return std::fmax(small::WorstDelta(best, group, adjacency, epsilon, group),
                     Sum(noise)(adjacency, epsilon, group));
  };
}

// Two releases of one sum over a sample.
Truth SampledTwice(double q, small::Noise noise) {
  const auto twice = [q, noise](const small::DataSet& data) {
    Law law;
    for (const auto& [sum, chance] : small::Poisson(q)(data)) {
      const Law one = noise(sum), both = small::Together(one, one);
      law.resize(both.size());
      for (size_t i = 0; i < both.size(); ++i) law[i] += chance * both[i];
    }
    return law;
  };
  return [twice](Adjacency adjacency, double epsilon, size_t group) {
    return small::WorstDelta(twice, 2, adjacency, epsilon, group);
  };
}

Truth Twice(small::Noise noise) {
  const auto twice = [noise](const small::DataSet& data) {
    const Law law = small::NoisySum(small::Everyone(), noise)(data);
    return small::Together(law, law);
  };
  return [twice](Adjacency adjacency, double epsilon, size_t group) {
    return small::WorstDelta(twice, group, adjacency, epsilon, group);
  };
}

}  // namespace

std::vector<Answered> AnsweredSchemes() {
  const std::vector<SumQuery> query = {{"g", 1, 0.8}};
  const small::Noise noise = small::GaussianNoise(0.8);
  std::vector<Answered> cases = {
      {"`full_batch`", Rounds({0, FullBatch{}}, query), Sum(noise), {1.01, 1.01, 1.01}, kGroups},
      // Its Rényi curve says less.
      {"`full_batch`",
       Rounds({0, FullBatch{}}, {{"g", 1, 1.5, NoiseKind::kDiscreteGaussian}}),
       Sum(small::DiscreteGaussianNoise(1.5)),
       {6, 6, 3},
       kGroups},
      {"`poisson`",
       Rounds({0, PoissonSampling{0.3}}, query),
       SumOver(2, small::Poisson(0.3), noise),
       {1.01, 1.01, 1.01},
       {true, true, false}},
      {"`without_replacement`",
       Rounds({3, WithoutReplacement{2}}, query),
       SumOver(3, small::WithoutReplacement(2), noise),
       {1.01, 1.01, 1.01}},
      {"`with_replacement`",
       Rounds({3, WithReplacement{2}}, query),
       SumOver(3, small::WithReplacement(2), noise),
       {1.01, 3, 1.2}},
      {"`disjoint_batches`",
       Rounds({0, DisjointBatches{4, 0}}, query, 4),
       Sum(noise),
       {0, 1.01, 1.01},
       {false, true, true}},
      {"`random_allocation`",
       Rounds({0, RandomAllocation{2, 0}}, query, 2),
       TwoRounds(0.8),
       {1.02, 1.02, 1.01}},
  };
  for (const uint64_t most : {1, 2}) {
    cases.push_back({"`truncated_poisson`",
                     Rounds({3, TruncatedPoisson{0.5, most}}, query),
                     SumOver(3, small::TruncatedPoisson(0.5, most), noise),
                     {3, 3, 3}});
  }
  return cases;
}

std::vector<Answered> AnsweredMechanisms() {
  const small::Noise gaussian = small::GaussianNoise(0.8), laplace = small::LaplaceNoise(1.5);
  const Mechanism a_gaussian = One(Gaussian{0.8}), a_laplace = One(Laplace{1.5});
  const Truth nothing = Neighbours({1}, {1}), unknown;
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  // Of the difference of two exponential, and of two Laplace, variables of scale one.
  const auto exponentials = [](double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; };
  const auto laplaces = [](double x) {
    const double tail = std::exp(-std::fabs(x)) * (2 + std::fabs(x)) / 4;
    return x < 0 ? tail : 1 - tail;
  };
  const auto scaled = [](double z, std::function<double(double)> law) {
    return [z, law = std::move(law)](double x) { return law(x / z); };
  };
  std::vector<Answered> cases = {
      {"`gaussian`, `matrix_mechanism` of stated sensitivity",
       Of(Gaussian{0.8}),
       GaussianSum(0.8),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`gaussian`, `matrix_mechanism` of stated sensitivity",
       Of(MatrixMechanism{StatedSensitivity{2.0}, 1.6}),
       GaussianSum(0.8),
       {1.01, 1.01, 1.01},
       kGroups},
      // Sums of both steps and of each; one participation.
      {"`matrix_mechanism` of a tree or a Toeplitz (banded) encoder",
       Of(MatrixMechanism{TreeEncoder{2, Participation{1, 1}}, 1.5}),
       Columns(1.5, {{1, 0, 1}, {0, 1, 1}}),
       {0, 1.01, 1.01},
       {false, true, true}},
      {"`matrix_mechanism` of a tree or a Toeplitz (banded) encoder",
       Of(MatrixMechanism{ToeplitzEncoder{2, {1, .5}, Participation{1, 1}}, 1.5}),
       Columns(1.5, {{1, .5}, {0, 1}}),
       {0, 1.01, 1.01},
       {false, true, true}},
      // The first group's columns are (1, ½) and, as the run ends, (1).
      {"`matrix_mechanism` of a banded encoder with `cyclic_poisson`",
       Of(MatrixMechanism{
           ToeplitzEncoder{3, {1, .5}, CyclicPoisson{2, .3, CyclicPoisson::Groups::kDrawnOneByOne}},
           0.8}),
       TwoSampled(.3, 0.8 / std::sqrt(1.25), 0.8),
       {1.01, 1.01, 1.01}},
      {"`matrix_mechanism` of a banded encoder with `cyclic_poisson`",
       Of(MatrixMechanism{
           ToeplitzEncoder{3, {1, .5}, CyclicPoisson{2, .3, CyclicPoisson::Groups::kOfEqualSize}},
           0.8}),
       TwoSampled(.3, 0.8 / std::sqrt(1.25), 0.8),
       {0, 1.01, 1.01}},
      {"`matrix_mechanism` with `balls_in_bins`",
       Of(MatrixMechanism{ToeplitzEncoder{2, {1, 1}, BallsInBins{2}}, 0.8}),
       TwoBins(0.8),
       {1.5, 1.5, 0}},
      {"`matrix_mechanism` with `min_separation_sampling`",
       Of(MatrixMechanism{ToeplitzEncoder{3, {1, .5}, MinSeparationSampling{.3, 2}}, 0.8}),
       nullptr,
       {0, 0, 0}},
      // Three leaves: the first two share a node.
      {"`single_epoch_tree_aggregation`",
       Of(SingleEpochTreeAggregation{1.5, {3, 2}}),
       Columns(1.5, {{1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 0}}),
       {0, 1.01, 1.01},
       {false, true, true}},
      {"`laplace`, `discrete_laplace`",
       Of(Laplace{1.5}),
       Sum(laplace),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`laplace`, `discrete_laplace`",
       Of(DiscreteLaplace{0.7, 1}),
       Sum(small::DiscreteLaplaceNoise(0.7)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`discrete_gaussian`, `dimension` 1",
       Of(DiscreteGaussian{1.5, 1, 1}),
       Sum(small::DiscreteGaussianNoise(1.5)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`discrete_gaussian`, else",
       Of(DiscreteGaussian{1.5, 1}),
       Sum(small::DiscreteGaussianNoise(1.5)),
       {6, 6, 3},
       kGroups},
      {"`mixture_of_gaussians`",
       Of(MixtureOfGaussians{0.8, {0, 1}, {.7, .3}}),
       SumOver(1, small::Poisson(0.3), gaussian),
       {1.01, 1.01, 0}},
      {"`truncated_subsampled_gaussian`",
       Of(TruncatedSubsampledGaussian{3, 0.5, 2, 0.8}),
       SumOver(3, small::TruncatedPoisson(0.5, 2), gaussian),
       {3, 3, 3}},
      {"`randomized_response`", Of(RandomizedResponse{.4, 3}), Response(.4, 3), {0, 1.01, 1.01}},
      {"`epsilon_delta`", Of(EpsilonDelta{1, .01}), WorstOf(1, .01), {1.01, 1.01, 1.01}},
      // Its parameter bounds how far one record moves the logarithm of a chance, twice over.
      {"`exponential_mechanism`",
       Of(ExponentialMechanism{2}),
       [=](Adjacency, double epsilon, size_t) {
         return Selection(true, scaled(0.5, logistic))(Adjacency::kZeroOut, epsilon, 1);
       },
       {1.01, 1.01, 1.01}},
      {"`permute_and_flip`",
       Of(PermuteAndFlip{2}),
       [=](Adjacency, double epsilon,
           size_t) { return Selection(false, exponentials)(Adjacency::kZeroOut, epsilon, 1); },
       {1.01, 1.01, 1.01}},
      {"`report_noisy_max`",
       Of(ReportNoisyMax{2, ReportNoisyMax::Noise::kGumbel, false}),
       Selection(false, scaled(2, logistic)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`report_noisy_max`",
       Of(ReportNoisyMax{1, ReportNoisyMax::Noise::kGumbel, true}),
       Selection(true, logistic),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`report_noisy_max`",
       Of(ReportNoisyMax{2, ReportNoisyMax::Noise::kExponential, false}),
       Selection(false, scaled(2, exponentials)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`report_noisy_max`",
       Of(ReportNoisyMax{2, ReportNoisyMax::Noise::kLaplace, false}),
       // Of two candidates, or of many (the greatest of whose noises are as if it were Gumbel
       // noise).
       [=](Adjacency adjacency, double epsilon, size_t group) {
         return std::fmax(Selection(false, scaled(2, laplaces))(adjacency, epsilon, group),
                          Selection(false, scaled(2, logistic))(adjacency, epsilon, group));
       },
       {kLoose, kLoose, kLoose},
       kGroups},
      {"`shuffled`", Of(Shuffled{1, 3}), Shuffles(1, 3, 2), {0, 1.3, 1.3}},
      {"`shuffled`", Of(Shuffled{2, 3}), Shuffles(2, 3, 3), {0, 1.3, 1.3}},
      {"`sparse_vector`",
       Of(SparseVector{2, 4, 1, false}),
       ShortStream(2, 4, 1, false),
       {kLoose, kLoose, kLoose},
       kGroups},
      {"`sparse_vector`",
       Of(SparseVector{2, 4, 2, true}),
       ShortStream(2, 4, 2, true),
       {kLoose, kLoose, kLoose},
       kGroups},
      {"`zcdp`, `renyi_curve`",
       Of(ZCDp{0.5, 0}),
       [](Adjacency, double epsilon,
          size_t) { return GaussianSum(1)(Adjacency::kAddOrRemoveOne, epsilon, 1); },
       {8, 8, 8}},
      {"`zcdp`, `renyi_curve`",
       Of(RenyiCurve{{1.5, 2, 4, 8, 16}, {.75, 1, 2, 4, 8}}),
       [](Adjacency, double epsilon, size_t) {
         return GaussianSum(1)(Adjacency::kAddOrRemoveOne, epsilon, 1);
       },
       {8, 8, 8}},
      {"`poisson_sampled` of Gaussians",
       Of(PoissonSampled{.3, {a_gaussian}}),
       SumOver(2, small::Poisson(.3), gaussian),
       {1.01, 1.01, 1.01},
       {true, true, false}},
      // Two on one sample are one, of 1/√2 of the noise.
      {"`poisson_sampled` of Gaussians",
       Of(PoissonSampled{.3, {One(Composed{{One(Gaussian{1.6}), One(Gaussian{1.6})}})}}),
       SumOver(2, small::Poisson(.3), small::GaussianNoise(1.6 / std::sqrt(2.0))),
       {1.01, 1.01, 1.01},
       {true, true, false}},
      // A sample of a sample.
      {"`poisson_sampled` of one other mechanism with a pair",
       Of(PoissonSampled{.5, {One(PoissonSampled{.6, {a_gaussian}})}}),
       SumOver(2, small::Poisson(.3), gaussian),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of one other mechanism with a pair",
       Of(PoissonSampled{.3, {a_laplace}}),
       SumOver(2, small::Poisson(.3), laplace),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of one other mechanism with a pair",
       Of(PoissonSampled{.3, {One(DiscreteLaplace{.7, 1})}}),
       SumOver(2, small::Poisson(.3), small::DiscreteLaplaceNoise(.7)),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of one other mechanism with a pair",
       Of(PoissonSampled{.3, {One(DiscreteGaussian{1.5, 1, 1})}}),
       SumOver(2, small::Poisson(.3), small::DiscreteGaussianNoise(1.5)),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of one other mechanism with a pair",
       Of(PoissonSampled{.5, {One(MixtureOfGaussians{0.8, {0, 1}, {.4, .6}})}}),
       SumOver(2, small::Poisson(.3), gaussian),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of several of them (Gaussians only beside noise on sums), or of sampled "
       "Gaussians",
       Of(PoissonSampled{.3, {One(SelfComposed{{One(DiscreteLaplace{.7, 1})}, 2})}}),
       SampledTwice(.3, small::DiscreteLaplaceNoise(.7)),
       {1.01, 1.01, 0}},
      {"`poisson_sampled` of `zcdp`, or of `discrete_gaussian` of another `dimension`",
       Of(PoissonSampled{.3, {One(DiscreteGaussian{1.5, 1})}}),
       SumOver(2, small::Poisson(.3), small::DiscreteGaussianNoise(1.5)),
       {11, 11, 0}},
      {"`poisson_sampled` of `zcdp`, or of `discrete_gaussian` of another `dimension`",
       Of(PoissonSampled{.3, {One(ZCDp{.5 / 2.25, 0})}}),
       SumOver(2, small::Poisson(.3), small::GaussianNoise(1.5)),
       {8, 0, 0}},
      {"`sampled_without_replacement` of `zcdp`, or of `discrete_gaussian` of another `dimension`",
       Of(SampledWithoutReplacement{3, 2, {One(DiscreteGaussian{1.5, 1})}}),
       SumOver(3, small::WithoutReplacement(2), small::DiscreteGaussianNoise(1.5)),
       {0, 0, 6}},
      {"`sampled_without_replacement`, `sampled_with_replacement` of Gaussians",
       Of(SampledWithoutReplacement{3, 2, {a_gaussian}}),
       SumOver(3, small::WithoutReplacement(2), gaussian),
       {1.01, 1.01, 1.01}},
      {"`sampled_without_replacement`, `sampled_with_replacement` of Gaussians",
       Of(SampledWithReplacement{3, 2, {a_gaussian}}),
       SumOver(3, small::WithReplacement(2), gaussian),
       {1.01, 3, 1.2}},
      {"`repeat_and_select` of anything",
       Of(RepeatAndSelect{{One(DiscreteLaplace{.3, 1})}, 3, 1}),
       BestSum(small::DiscreteLaplaceNoise(.3), 3),
       {kLoose, kLoose, kLoose},
       kGroups},
      {"`composed`, `self_composed`",
       Of(Composed{{One(DiscreteLaplace{.7, 1}), One(DiscreteLaplace{.7, 1})}}),
       Twice(small::DiscreteLaplaceNoise(.7)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`composed`, `self_composed`",
       Of(SelfComposed{{One(DiscreteLaplace{.7, 1})}, 2}),
       Twice(small::DiscreteLaplaceNoise(.7)),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`no_op`, `non_private`", Of(NoOp{}), nothing, {1.01, 1.01, 1.01}, kGroups},
      {"`no_op`, `non_private`",
       Of(NonPrivate{}),
       Neighbours({1, 0}, {0, 1}),
       {1.01, 1.01, 1.01},
       kGroups},
      {"`unsupported`", Of(Unsupported{"a description"}), unknown, {0, 0, 0}},
  };
  // A sample with a null record is unlike one without it for what is no noise on a sum.
  for (const Mechanism& other :
       {One(EpsilonDelta{1, .01}), One(ExponentialMechanism{1}), One(PermuteAndFlip{1}),
        One(ReportNoisyMax{1, ReportNoisyMax::Noise::kLaplace, false}), One(NonPrivate{})}) {
    cases.push_back(
        {"`poisson_sampled` of one other mechanism with a pair",
         Of(PoissonSampled{.3, {other}}),
         std::holds_alternative<EpsilonDelta>(other.kind) ? SampledWorst(.3, 1, .01) : unknown,
         {1.01, 0, 0}});
  }
  cases.push_back({"`poisson_sampled` of one other mechanism with a pair",
                   Of(PoissonSampled{.3, {One(RandomizedResponse{.4, 3})}}),
                   unknown,
                   {0, 0, 0}});
  return cases;
}

}  // namespace dpledger::accountant::testing
