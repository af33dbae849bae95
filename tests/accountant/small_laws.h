// Mechanisms on data sets of a few records, enumerated: the laws of their outputs, cut into cells,
// and the most that two neighbouring data sets differ by. Independent of the accountant.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "accountant/interval.h"

namespace dpledger::accountant::small {

// Probabilities of outcomes, or of cells of a line or plane: of the same ones for both data sets.
using Law = std::vector<double>;

// What each record contributes to a sum; at most 1.
using DataSet = std::vector<int>;

// Sums of the records in the sample, with their probabilities.
using Sums = std::map<int, double>;
using Sampler = std::function<Sums(const DataSet&)>;

Sampler Everyone();
Sampler Poisson(double q);
// Samples of more than `most` records are cut to that many, drawn uniformly.
Sampler TruncatedPoisson(double q, size_t most);
Sampler WithoutReplacement(size_t sample_size);
Sampler WithReplacement(size_t draws);

// Noise, as the law of sum + noise over cells. A cell's width moves δ by its square: 1e-5.
using Noise = std::function<Law(int sum)>;
Noise GaussianNoise(double stddev);
Noise LaplaceNoise(double scale);
Noise DiscreteLaplaceNoise(double a);
Noise DiscreteGaussianNoise(double sigma);

// A sum over a sample, with noise.
using Mechanism = std::function<Law(const DataSet&)>;
Mechanism NoisySum(Sampler sampler, Noise noise);

// Σ (p - e^ε q)_+
double Delta(const Law& p, const Law& q, double epsilon);
// The greater of both directions.
double EitherDelta(const Law& p, const Law& q, double epsilon);

// The most revealing of all pairs of neighbours, one having `size` records with contributions -1, 0
// and 1. The neighbour has `group` of them less (add or remove), nulls in their place, or others.
double WorstDelta(const Mechanism& mechanism, size_t size, Adjacency adjacency, double epsilon,
                  size_t group = 1);

// The law of several independent outputs.
Law Together(const Law& a, const Law& b);

// The best of K results, outcomes in order of their merit, by E[x^K].
Law BestOf(const Law& run, const std::function<double(double)>& generating_function);

}  // namespace dpledger::accountant::small
