#include "tests/support/random_composition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/random_setting.h"

namespace dpledger::testing {
namespace {

using namespace accountant;  // NOLINT: nearly every event there is

// The draws of one question.
class Draws {
 public:
  explicit Draws(uint64_t question) : next_(question << 12) {}

  double Real(double low, double high) { return low + (high - low) * Uniform(next_++); }
  double Log(double low, double high) { return low * std::exp(Real(0, std::log(high / low))); }
  uint64_t Whole(double low, double high) { return static_cast<uint64_t>(Log(low, high)); }
  size_t Index(size_t count) { return static_cast<size_t>(Real(0, static_cast<double>(count))); }

 private:
  uint64_t next_;
};

// An event of one kind whose noise is multiplied by `factor`.
struct Kind {
  const char* name;
  Event (*draw)(Draws& draws, double factor);
  // The adjacencies under which it has an analysis.
  bool add = true, zero = true, replace = true;

  bool Has(Adjacency adjacency) const {
    if (adjacency == Adjacency::kAddOrRemoveOne) return add;
    return adjacency == Adjacency::kZeroOut ? zero : replace;
  }
};
constexpr bool kNo = false, kYes = true;

Event Rounds(SamplingScheme scheme, double z, uint64_t count) {
  return RoundsEvent{{std::move(scheme), {{"", 1.0, z}}}, count};
}

Event Times(uint64_t count, decltype(Mechanism::kind) kind) {
  return Mechanism{count, std::move(kind)};
}

Mechanism Once(decltype(Mechanism::kind) kind) { return {1, std::move(kind)}; }

constexpr Kind kKinds[] = {
    {"poisson",
     [](Draws& d, double f) {
       const double q = d.Log(1e-6, 1), z = f * d.Log(0.3, 30);
       return Rounds({0, PoissonSampling{q}}, z, d.Whole(1, 1e6));
     }},
    {"full_batch",
     [](Draws& d, double f) {
       return Rounds({0, FullBatch{}}, f * d.Log(1, 300), d.Whole(1, 1e4));
     }},
    {"without_replacement",
     [](Draws& d, double f) {
       const uint64_t population = d.Whole(1e3, 1e6);
       const uint64_t sample = d.Whole(1, static_cast<double>(population));
       const double z = f * d.Log(0.5, 30);
       return Rounds({population, WithoutReplacement{sample}}, z, d.Whole(1, 1e5));
     }},
    {"with_replacement",
     [](Draws& d, double f) {
       const uint64_t population = d.Whole(1e3, 1e6), sample = d.Whole(1, 1e3);
       const double z = f * d.Log(0.5, 30);
       return Rounds({population, WithReplacement{sample}}, z, d.Whole(1, 1e4));
     }},
    {"truncated_poisson",
     [](Draws& d, double f) {
       const uint64_t population = d.Whole(1e3, 1e6);
       const double q = d.Log(1e-3, 0.3), z = f * d.Log(0.5, 30);
       const double most = d.Real(1, 2) * q * static_cast<double>(population);
       return Rounds({population, TruncatedPoisson{q, 1 + static_cast<uint64_t>(most)}}, z,
                     d.Whole(1, 1e4));
     }},
    {"random_allocation",
     [](Draws& d, double f) {
       const uint64_t rounds = d.Whole(2, 1e5), epochs = d.Whole(1, 100);
       return Rounds({0, RandomAllocation{rounds, 1}}, f * d.Log(0.5, 10), rounds * epochs);
     }},
    {"allocation_of_several",
     [](Draws& d, double f) {
       const uint64_t rounds = d.Whole(10, 1e3);
       const uint64_t contributions = 1 + d.Whole(1, static_cast<double>(rounds) / 3);
       return Rounds({0, RandomAllocation{rounds, 1, contributions}}, f * d.Log(0.5, 10), rounds);
     }},
    {"disjoint_batches",
     [](Draws& d, double f) {
       const uint64_t rounds = d.Whole(2, 1e4), epochs = d.Whole(1, 1e3);
       return Rounds({0, DisjointBatches{rounds, 1}}, f * d.Log(0.5, 50), rounds * epochs);
     },
     kNo},
    {"two_queries",
     [](Draws& d, double f) -> Event {
       const double q = d.Log(1e-4, 1), one = f * d.Log(0.5, 30), other = f * d.Log(0.5, 30);
       return RoundsEvent{{{0, PoissonSampling{q}}, {{"a", 1, one}, {"b", 0.5, other}}},
                          d.Whole(1, 1e5)};
     }},
    {"laplace",
     [](Draws& d, double f) {
       const double scale = f * d.Log(0.2, 100);
       return Times(d.Whole(1, 1e4), Laplace{scale});
     }},
    {"discrete_laplace",
     [](Draws& d, double f) {
       const double parameter = d.Log(1e-2, 3) / f;
       const uint64_t sensitivity = d.Whole(1, 20);
       return Times(d.Whole(1, 1e3), DiscreteLaplace{parameter, sensitivity});
     }},
    {"discrete_gaussian",
     [](Draws& d, double f) {
       const double sigma = f * d.Log(0.5, 100);
       const uint64_t sensitivity = d.Whole(1, 20);
       return Times(d.Whole(1, 1e3), DiscreteGaussian{sigma, sensitivity, 1});
     }},
    {"randomized_response",
     [](Draws& d, double) {
       const double parameter = d.Log(1e-3, 1);
       const uint64_t buckets = d.Whole(2, 100);
       return Times(d.Whole(1, 1e3), RandomizedResponse{parameter, buckets});
     },
     kNo},
    {"epsilon_delta",
     [](Draws& d, double) {
       const double epsilon = d.Log(1e-3, 2), delta = d.Index(2) == 0 ? 0 : d.Log(1e-14, 1e-7);
       return Times(d.Whole(1, 300), EpsilonDelta{epsilon, delta});
     }},
    {"zcdp",
     [](Draws& d, double f) {
       const double rho = d.Log(1e-6, 1) / (f * f);
       return Times(d.Whole(1, 300), ZCDp{rho, 0});
     }},
    {"renyi_curve",
     [](Draws& d, double f) {
       const double rho = d.Log(1e-6, 1) / (f * f);
       RenyiCurve curve;
       for (double order = 1.5; order < 300; order *= 1.4) {
         curve.orders.push_back(order);
         curve.epsilons.push_back(rho * order * (1 + d.Real(0, 0.2)));
       }
       for (size_t i = 1; i < curve.epsilons.size(); ++i)
         curve.epsilons[i] = std::fmax(curve.epsilons[i], curve.epsilons[i - 1]);
       return Times(d.Whole(1, 300), curve);
     }},
    {"exponential",
     [](Draws& d, double f) {
       const double epsilon = d.Log(1e-3, 3) / f;
       return Times(d.Whole(1, 1e3), ExponentialMechanism{epsilon});
     }},
    {"permute_and_flip",
     [](Draws& d, double f) {
       const double epsilon = d.Log(1e-3, 3) / f;
       return Times(d.Whole(1, 1e3), PermuteAndFlip{epsilon});
     }},
    {"noisy_max",
     [](Draws& d, double f) {
       using Noise = ReportNoisyMax::Noise;
       const double noise = f * d.Log(0.5, 100);
       const Noise kind =
           std::vector<Noise>{Noise::kLaplace, Noise::kExponential, Noise::kGumbel}[d.Index(3)];
       const bool monotonic = d.Index(2) == 0;
       return Times(d.Whole(1, 1e3), ReportNoisyMax{noise, kind, monotonic});
     }},
    {"shuffled",
     [](Draws& d, double f) {
       const double local = d.Log(0.01, 6) / f;
       return Times(d.Whole(1, 300), Shuffled{local, d.Whole(1, 1e6)});
     },
     kNo},
    {"sparse_vector",
     [](Draws& d, double f) {
       const double threshold = f * d.Log(1, 100), query = f * d.Log(1, 1000);
       const uint64_t cutoff = d.Whole(1, 30);
       return Times(d.Whole(1, 100), SparseVector{threshold, query, cutoff, d.Index(2) == 0});
     }},
    {"mixture",
     [](Draws& d, double f) {
       MixtureOfGaussians mixture{f * d.Log(0.5, 30), {}, {}};
       const size_t count = 2 + d.Index(6);
       for (size_t i = 0; i < count; ++i) {
         mixture.sensitivities.push_back(i == 0 ? 0 : d.Real(0.1, 3));
         mixture.sampling_probs.push_back(d.Log(1e-3, 1));
       }
       double sum =
           std::accumulate(mixture.sampling_probs.begin(), mixture.sampling_probs.end(), 0.0);
       for (double& p : mixture.sampling_probs) p /= sum;
       return Times(d.Whole(1, 1e3), mixture);
     },
     kYes, kYes, kNo},
    {"tree",
     [](Draws& d, double f) {
       const double z = f * d.Log(1, 100);
       return Times(1, SingleEpochTreeAggregation{z, {d.Whole(1, 1e4)}});
     },
     kNo},
    {"sampled_laplace",
     [](Draws& d, double f) {
       const double q = d.Log(1e-4, 1), scale = f * d.Log(0.2, 10);
       return Times(d.Whole(1, 1e4), PoissonSampled{q, {Once(Laplace{scale})}});
     },
     kYes, kYes, kNo},
    {"repeat_and_select",
     [](Draws& d, double f) {
       const double z = f * d.Log(1, 30);
       const uint64_t steps = d.Whole(1, 1e3);
       const Mechanism base{1, PoissonSampled{d.Log(1e-3, 1), {{steps, Gaussian{z}}}}};
       const double mean = 1 + d.Log(0.1, 300);
       const double shape = d.Index(3) == 0 ? INFINITY : d.Real(0, 3);
       return Times(1, RepeatAndSelect{{base}, mean, shape});
     }},
    {"toeplitz",
     [](Draws& d, double f) {
       const uint64_t steps = d.Whole(8, 200);
       std::vector<double> coefficients{1};
       const size_t band = 1 + d.Index(8);
       const double decay = d.Real(0.1, 0.8);
       while (coefficients.size() < band) coefficients.push_back(coefficients.back() * decay);
       const double z = f * d.Log(1, 30);
       const uint64_t period = band + d.Index(8);
       ToeplitzEncoder encoder{steps, coefficients, Participation{1, 1}};
       if (d.Index(2) == 0) {
         encoder.schedule =
             CyclicPoisson{period, d.Log(1e-2, 1), CyclicPoisson::Groups::kDrawnOneByOne};
       } else {
         encoder.schedule = Participation{(steps + period - 1) / period, period};
       }
       return Times(1, MatrixMechanism{encoder, z});
     },
     kNo},
};

std::vector<const Kind*> KindsOf(Draws& draws, Adjacency adjacency, const std::string& only) {
  std::vector<const Kind*> all, drawn;
  for (const Kind& kind : kKinds) {
    if (kind.Has(adjacency) && (only.empty() || only == kind.name)) all.push_back(&kind);
  }
  const size_t count = 1 + draws.Index(5);
  while (drawn.size() < count && !all.empty()) {
    const size_t at = draws.Index(all.size());
    drawn.push_back(all[at]);
    if (only.empty()) all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return drawn;
}

}  // namespace

bool IsKind(const std::string& name) {
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const Kind& kind) { return name == kind.name; });
}

RandomComposition RandomCompositionAt(uint64_t index, const std::string& only) {
  Draws draws(index);
  const Adjacency adjacency = std::array{Adjacency::kAddOrRemoveOne, Adjacency::kZeroOut,
                                         Adjacency::kReplaceOne}[draws.Index(3)];
  const double delta = draws.Log(1e-12, 1e-3);
  const std::vector<const Kind*> kinds = KindsOf(draws, adjacency, only);
  std::string names;
  for (const Kind* kind : kinds) {
    if (!names.empty()) names += ' ';
    names += kind->name;
  }
  const auto at = [=](double factor) {
    Draws events = draws;
    History history;
    int writer = 0;
    for (const Kind* kind : kinds)
      history.Add(std::to_string(writer++), kind->draw(events, factor));
    return history;
  };
  return {names, at, adjacency, delta};
}

}  // namespace dpledger::testing
