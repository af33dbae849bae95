// Unsampled Gaussian mechanisms, in closed form: their composition is one Gaussian mechanism with
// μ² = Σ count/z² (Dong, Roth, Su 2019, cor. 3.3), whose profile is
// δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) (Balle and Wang 2018, thm. 8).
// Claim and error budget: gaussian/CLAIM.md.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::gaussian {

// Whether every step is a Gaussian with q = 1 and none is non-private.
bool Applies(const Composition& composition);

// Precondition: Applies. δ in (0, 1); epsilon >= 0. Bounds rounded outward; relatively about 1e-13
// apart for μ >= 0.01, 1e-15/μ below.
Interval Epsilon(const Composition& composition, double delta);
Interval Delta(const Composition& composition, double epsilon);

// log δ of the Gaussian mechanism with parameter mu > 0 at epsilon >= 0; a bound is -infinity only
// where δ is below exp(-1e19) or lost in rounding.
Interval LogDelta(double mu, double epsilon);

}  // namespace dpledger::accountant::gaussian
