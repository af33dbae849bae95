// The Rényi curve of a sample of a mechanism of which its curve is all that is known.
#pragma once

#include <functional>
#include <optional>

#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/renyi_bound.h"

namespace dpledger::accountant {

enum class SampleOf {
  kPoisson,    // each record with probability `share`; a neighbour lacks one record
  kFixedSize,  // `share` of the records, drawn without replacement; a neighbour replaces one
};

// An upper bound, in both directions, at chosen whole orders up to 256 and rounded up; nowhere
// above the curve of `whole`, the mechanism on all records. `share` in (0, 1). Proof and sources:
// mechanism/CLAIM.md, section 3.
OrdersCurve SampledCurve(SampleOf kind, double share, const ZeroConcentrated& whole);
// The same of any mechanism, by its curve.
OrdersCurve SampledCurve(SampleOf kind, double share,
                         const std::function<double(double order)>& whole);

// What is known of a mechanism together: it is of that zCDP, and may be a Gaussian one of the curve
// rho·α (0: as of CurveStep).
struct Concentrated {
  ZeroConcentrated above{0, 0};
  double rho = 0;
};
// Of all steps of a composition, if each has a zCDP curve.
std::optional<Concentrated> AsConcentrated(const Composition& composition);

}  // namespace dpledger::accountant
