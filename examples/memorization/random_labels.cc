#include "examples/memorization/random_labels.h"

#include <cmath>
#include <random>

namespace dpledger::memorization {

void DrawRandomLabels(uint64_t seed, examples::Dataset& data) {
  std::mt19937_64 die(seed);
  // By hand, as the standard's distributions differ between libraries. The bias is below 2^-60.
  for (int& label : data.labels) {
    label = static_cast<int>(die() % static_cast<uint64_t>(data.class_count));
  }
}

double DeviationsAboveChance(double accuracy, size_t records, int classes) {
  const double chance = 1.0 / classes;
  return (accuracy - chance) / std::sqrt(chance * (1 - chance) / static_cast<double>(records));
}

}  // namespace dpledger::memorization
