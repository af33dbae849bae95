// Labels that have nothing to do with the records, so that a model can know them only by heart
// (Zhang, Bengio, Hardt, Recht, Vinyals 2017, arXiv 1611.03530).
#pragma once

#include <cstddef>
#include <cstdint>

#include "examples/common/dataset.h"

namespace dpledger::memorization {

// Gives every record a class by a fair die that starts at `seed`.
void DrawRandomLabels(uint64_t seed, examples::Dataset& data);

// How far an accuracy on `records` random labels of `classes` classes is above that of guessing, in
// standard deviations of guessing.
double DeviationsAboveChance(double accuracy, size_t records, int classes);

}  // namespace dpledger::memorization
