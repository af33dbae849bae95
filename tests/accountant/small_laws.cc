#include "tests/accountant/small_laws.h"

#include <algorithm>
#include <cmath>

namespace dpledger::accountant::small {
namespace {

constexpr double kWidth = 0.01;
constexpr int kCells = 4000;  // to both sides of zero
constexpr int kGreatestWhole = 120;

// Calls visit(indices in the sample, probability) for every subset.
void Subsets(size_t n, const std::function<double(size_t size)>& probability,
             const std::function<void(const std::vector<size_t>&, double)>& visit) {
  for (size_t set = 0; set < size_t{1} << n; ++set) {
    std::vector<size_t> members;
    for (size_t i = 0; i < n; ++i)
      if (set >> i & 1) members.push_back(i);
    if (const double p = probability(members.size()); p > 0) visit(members, p);
  }
}

double Choose(size_t n, size_t k) {
  double value = 1;
  for (size_t i = 0; i < k; ++i) value *= static_cast<double>(n - i) / static_cast<double>(k - i);
  return value;
}

int SumOf(const DataSet& data, const std::vector<size_t>& members) {
  int sum = 0;
  for (const size_t i : members) sum += data[i];
  return sum;
}

// The probability of every cell, the outermost ones reaching to infinity.
Law Cells(const std::function<double(double)>& below) {
  Law law;
  double before = 0;
  for (int i = -kCells; i <= kCells; ++i) {
    const double now = i == kCells ? 1 : below(kWidth * i);
    law.push_back(std::fmax(0, now - before));
    before = now;
  }
  return law;
}

Law WholeNumbers(int sum, const std::function<double(int)>& weight) {
  Law law;
  double total = 0;
  for (int k = -kGreatestWhole; k <= kGreatestWhole; ++k) {
    law.push_back(weight(k - sum));
    total += law.back();
  }
  for (double& p : law) p /= total;
  return law;
}

}  // namespace

Sampler Everyone() { return Poisson(1); }

Sampler Poisson(double q) {
  return [q](const DataSet& data) {
    Sums sums;
    Subsets(
        data.size(),
        [&](size_t k) {
          return std::pow(q, static_cast<double>(k)) *
                 std::pow(1 - q, static_cast<double>(data.size() - k));
        },
        [&](const auto& members, double p) { sums[SumOf(data, members)] += p; });
    return sums;
  };
}

Sampler TruncatedPoisson(double q, size_t most) {
  return [q, most](const DataSet& data) {
    Sums sums;
    Subsets(
        data.size(),
        [&](size_t k) {
          return std::pow(q, static_cast<double>(k)) *
                 std::pow(1 - q, static_cast<double>(data.size() - k));
        },
        [&](const auto& members, double p) {
          DataSet drawn;
          for (const size_t i : members) drawn.push_back(data[i]);
          const size_t stay = std::min(most, drawn.size());
          Subsets(
              drawn.size(),
              [&](size_t k) { return k == stay ? 1 / Choose(drawn.size(), stay) : 0; },
              [&](const auto& left, double share) { sums[SumOf(drawn, left)] += p * share; });
        });
    return sums;
  };
}

Sampler WithoutReplacement(size_t sample_size) {
  return [sample_size](const DataSet& data) {
    Sums sums;
    Subsets(
        data.size(),
        [&](size_t k) { return k == sample_size ? 1 / Choose(data.size(), sample_size) : 0; },
        [&](const auto& members, double p) { sums[SumOf(data, members)] += p; });
    return sums;
  };
}

Sampler WithReplacement(size_t draws) {
  return [draws](const DataSet& data) {
    Sums sums{{0, 1}};
    for (size_t i = 0; i < draws; ++i) {
      Sums next;
      for (const auto& [sum, p] : sums)
        for (const int x : data) next[sum + x] += p / static_cast<double>(data.size());
      sums = std::move(next);
    }
    return sums;
  };
}

Noise GaussianNoise(double stddev) {
  return [stddev](int sum) {
    return Cells([&](double x) { return std::erfc((sum - x) / stddev / std::sqrt(2.0)) / 2; });
  };
}

Noise LaplaceNoise(double scale) {
  return [scale](int sum) {
    return Cells([&](double x) {
      const double t = (x - sum) / scale;
      return t < 0 ? std::exp(t) / 2 : 1 - std::exp(-t) / 2;
    });
  };
}

Noise DiscreteLaplaceNoise(double a) {
  return
      [a](int sum) { return WholeNumbers(sum, [a](int k) { return std::exp(-a * std::abs(k)); }); };
}

Noise DiscreteGaussianNoise(double sigma) {
  return [sigma](int sum) {
    return WholeNumbers(sum, [sigma](int k) { return std::exp(-k * k / (2 * sigma * sigma)); });
  };
}

Mechanism NoisySum(Sampler sampler, Noise noise) {
  return [sampler = std::move(sampler), noise = std::move(noise)](const DataSet& data) {
    Law law;
    for (const auto& [sum, p] : sampler(data)) {
      const Law part = noise(sum);
      law.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) law[i] += p * part[i];
    }
    return law;
  };
}

double Delta(const Law& p, const Law& q, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::fmax(0, p[i] - std::exp(epsilon) * q[i]);
  return sum;
}

double EitherDelta(const Law& p, const Law& q, double epsilon) {
  return std::fmax(Delta(p, q, epsilon), Delta(q, p, epsilon));
}

double WorstDelta(const Mechanism& mechanism, size_t size, Adjacency adjacency, double epsilon,
                  size_t group) {
  std::map<DataSet, Law> known;
  const auto law = [&](const DataSet& data) -> const Law& {
    const auto [it, is_new] = known.try_emplace(data);
    if (is_new) it->second = mechanism(data);
    return it->second;
  };
  // Every assignment of -1, 0, 1 to so many records.
  const auto every = [](size_t records, const std::function<void(const DataSet&)>& visit) {
    DataSet data(records, -1);
    for (;;) {
      visit(data);
      size_t i = 0;
      while (i < records && data[i] == 1) data[i++] = -1;
      if (i == records) return;
      ++data[i];
    }
  };
  double worst = 0;
  every(size, [&](const DataSet& data) {
    // The last records are the group.
    const DataSet rest(data.begin(), data.end() - static_cast<std::ptrdiff_t>(group));
    const auto against = [&](const DataSet& other) {
      worst = std::fmax(worst, EitherDelta(law(data), law(other), epsilon));
    };
    switch (adjacency) {
      case Adjacency::kAddOrRemoveOne:
        return against(rest);
      case Adjacency::kZeroOut: {
        DataSet nulled = rest;
        nulled.resize(size, 0);
        return against(nulled);
      }
      case Adjacency::kReplaceOne:
        return every(group, [&](const DataSet& others) {
          DataSet replaced = rest;
          replaced.insert(replaced.end(), others.begin(), others.end());
          against(replaced);
        });
    }
  });
  return worst;
}

Law Together(const Law& a, const Law& b) {
  Law law;
  law.reserve(a.size() * b.size());
  for (const double p : a)
    for (const double q : b) law.push_back(p * q);
  return law;
}

Law BestOf(const Law& run, const std::function<double(double)>& generating_function) {
  // Pr[every one of K results is at most y] = E[F(y)^K]; no run at all shows nothing else.
  Law law{generating_function(0)};
  double below = 0, before = law.front();
  for (const double p : run) {
    below = std::fmin(1, below + p);
    const double now = generating_function(below);
    law.push_back(std::fmax(0, now - before));
    before = now;
  }
  return law;
}

}  // namespace dpledger::accountant::small
