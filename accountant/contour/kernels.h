// The contour's inner loops over the nodes of one step's trapezoidal rule, vectorised for the
// machine. Private to contour/. All sums run in eight lanes, whatever the registers' width, and the
// lanes are added in one fixed order, so every machine gives the same bits. Rounding errors:
// contour/CLAIM.md.
#pragma once

#include <cstddef>

namespace dpledger::accountant::contour {

// Arrays over `size` nodes have Padded(size) elements.
inline constexpr size_t kLanes = 8;
constexpr size_t Padded(size_t size) { return (size + kLanes - 1) / kLanes * kLanes; }

// Nodes t_i = (first + i)·step, i < size, exactly; and the loss log(1 - q + q e^{μt - μ²/2}) there.
struct Nodes {
  double q, mu;
  double first, step;
  size_t size;
  const double* loss;
};

// Fills loss[0, Padded(nodes.size)); nodes.loss is not read.
void FillLoss(const Nodes& nodes, double* loss);

// Σ over nodes of e^{power·loss - t²/2 - greatest}, times 1, loss, loss², t².
struct Moments {
  double greatest, weight, loss, square, time_square;
};
// `scratch` has Padded(size) elements.
Moments SumMoments(const Nodes& nodes, double power, double* scratch);

// The same weights, kept in `weights`, and bounds on the rounding errors of sums over them, each
// relative to Σ weight.
struct Weighted {
  double greatest, weight;
  double size;          // Σ w|l|
  double weight_error;  // Σ w·(relative error of w)
  double moment_error;  // Σ w·(relative error of w)·|l|
  double loss_error;    // Σ w·|error of l|
  double posterior;     // Σ w (l'/μ)²
};
Weighted SumWeights(const Nodes& nodes, double power, double* weights);

// Σ e^{-t²/2} (e^{power·l} - 1 - power·u), u = e^l - 1: A - 1 up to the factor, as E[u] = 0.
struct NearOne {
  double sum, error;
};
NearOne SumNearOne(const Nodes& nodes, double power);

// re[k] + i·im[k] = Σ w (e^{iy l} - 1), y = (begin + k)·spacing, k < count. |y l| <= 2e6.
// Error, relative to y·Σ w|l|: kTurnError + Padded(size)/8 + 4 unit roundoffs.
inline constexpr double kTurnError = 56;
void SumTurned(const Nodes& nodes, const double* weights, double spacing, size_t begin,
               size_t count, double* re, double* im);

// The integrand of an envelope at height eta: log_weight = power·log|1 + u(t + iη)| - t²/2, angle =
// arg(1 + u(t + iη)). Both have Padded(size) elements.
void FillEnvelope(const Nodes& nodes, double power, double eta, double* log_weight, double* angle);
// Σ e^{log_weight + shift - y·angle}.
double SumEnvelope(const double* log_weight, const double* angle, size_t size, double shift,
                   double y);

}  // namespace dpledger::accountant::contour
