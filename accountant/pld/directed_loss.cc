#include "accountant/pld/directed_loss.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kLog2 = 0.69314718055994530942;

// floor(log2 x), -1023 for zero and denormals.
int BinaryExponent(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52) - 1023; }

// Blocks in which no atom weighs e^-kFaint of the greatest are left out: of 2^21 atoms these weigh
// less than 1e-36 together, far less than any rounding. Most of a law's atoms are in its tails.
constexpr double kFaint = 100;

// For each block of kTiltBlock atoms: no weight in it is above e to this, but by a factor of two.
// `rise`: by how much the logarithm of the weight rises from an atom to the next.
std::vector<double> LogPeaks(const DirectedLoss& loss, double rise) {
  std::vector<double> peaks(loss.log_peaks.size());
  const size_t n = loss.mass.size();
  for (size_t b = 0; b < peaks.size(); ++b) {
    const size_t begin = b * kTiltBlock, last = std::min(n, begin + kTiltBlock) - 1;
    peaks[b] = loss.log_peaks[b] + rise * static_cast<double>(rise > 0 ? last : begin);
  }
  return peaks;
}

// The logarithm of the greatest weight, within a factor of two.
double GreatestWeight(const DirectedLoss& loss, double rise, const std::vector<double>& peaks) {
  double greatest = -kInfinity;
  const auto look = [&](size_t b) {
    const size_t end = std::min(loss.mass.size(), (b + 1) * kTiltBlock);
    for (size_t j = b * kTiltBlock; j < end; ++j) {
      const double at = kLog2 * BinaryExponent(loss.mass[j]) + rise * static_cast<double>(j);
      if (at > greatest && loss.mass[j] > 0) greatest = at;
    }
  };
  // The block with the greatest bound first: its maximum is mostly above the bounds of all others.
  const auto first = std::max_element(peaks.begin(), peaks.end());
  if (first != peaks.end()) look(static_cast<size_t>(first - peaks.begin()));
  for (size_t b = 0; b < peaks.size(); ++b)
    if (peaks[b] > greatest) look(b);
  return greatest;
}

}  // namespace

Tilted TiltOne(const DirectedLoss& loss, double step, double s, std::vector<double>* weights) {
  // Relative to the greatest (within a factor of two) nothing overflows.
  const size_t n = loss.mass.size();
  const double rise = s * step;
  const std::vector<double> peaks = LogPeaks(loss, rise);
  const double shift = GreatestWeight(loss, rise, peaks);
  if (weights != nullptr) weights->assign(n, 0);
  const size_t block = std::fabs(rise) * kTiltBlock < 300 ? kTiltBlock : 1;
  // Powers of e^rise, and these times their exponents and the squares of those.
  double powers[kTiltBlock] = {1}, firsts[kTiltBlock] = {0}, seconds[kTiltBlock] = {0};
  const double ratio = block > 1 ? std::exp(rise) : 1;
  for (size_t k = 1; k < block; ++k) {
    const double at = static_cast<double>(k);
    powers[k] = powers[k - 1] * ratio;
    firsts[k] = powers[k] * at;
    seconds[k] = firsts[k] * at;
  }
  double total = 0, first = 0, second = 0;  // in units of the step
  // Sums of atoms begin to begin + length, length at most `block`.
  const auto add = [&](size_t begin, size_t length) {
    const double* mass = &loss.mass[begin];
    // Without mass the factor may be infinite.
    const bool bare = block == 1 && mass[0] == 0;
    const double factor = bare ? 0 : std::exp(rise * static_cast<double>(begin) - shift);
    double sums[4] = {}, moments[4] = {}, squares[4] = {};
    size_t k = 0;
    for (; k + 4 <= length; k += 4) {
      for (size_t lane = 0; lane < 4; ++lane) {
        sums[lane] += mass[k + lane] * powers[k + lane];
        moments[lane] += mass[k + lane] * firsts[k + lane];
        squares[lane] += mass[k + lane] * seconds[k + lane];
      }
    }
    for (; k < length; ++k) {
      sums[0] += mass[k] * powers[k];
      moments[0] += mass[k] * firsts[k];
      squares[0] += mass[k] * seconds[k];
    }
    if (weights != nullptr) {
      for (k = 0; k < length; ++k) (*weights)[begin + k] = mass[k] * (powers[k] * factor);
    }
    const double sum = factor * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    const double moment = factor * ((moments[0] + moments[1]) + (moments[2] + moments[3]));
    const double square = factor * ((squares[0] + squares[1]) + (squares[2] + squares[3]));
    const double at = static_cast<double>(begin);
    total += sum;
    first += moment + at * sum;
    second += square + at * (2 * moment + at * sum);
  };
  for (size_t b = 0; b < peaks.size(); ++b) {
    if (!(peaks[b] > shift - kFaint)) continue;
    const size_t end = std::min(n, (b + 1) * kTiltBlock);
    for (size_t begin = b * kTiltBlock; begin < end; begin += block)
      add(begin, std::min(block, end - begin));
  }
  if (!(total > 0)) return {0, -kInfinity, 0, 0};
  const double mean = first / total;
  return {total, shift + std::log(total) + s * loss.first_loss, loss.first_loss + step * mean,
          step * step * std::fmax(0, second / total - mean * mean)};
}

namespace {

// Masses below have lost digits, or may have underflowed on the way: by a few of the least normal
// doubles.
constexpr double kFaintMass = 1e-290, kLostToUnderflow = 16 * 0x1p-1022;

// The logarithm of the greatest mass of each block, within a factor of two.
std::vector<double> LogPeaksOf(const std::vector<double>& mass) {
  std::vector<double> peaks;
  for (size_t begin = 0; begin < mass.size(); begin += kTiltBlock) {
    const auto first = mass.begin() + static_cast<ptrdiff_t>(begin);
    const auto end =
        mass.begin() + static_cast<ptrdiff_t>(std::min(mass.size(), begin + kTiltBlock));
    const double greatest = *std::max_element(first, end);
    peaks.push_back(greatest > 0 ? kLog2 * BinaryExponent(greatest) : -kInfinity);
  }
  return peaks;
}

}  // namespace

DirectedLoss Directed(const DiscretePair& pair, double count, Direction direction, Side side) {
  DirectedLoss loss;
  loss.first_loss = pair.first_loss;
  loss.count = count;
  loss.loss_error = pair.loss_error;
  if (direction == Direction::kRemove) {
    loss.mass = pair.mass;
    loss.infinity = pair.remove_infinity;
    return loss;
  }
  // Q against P: the atom's Q-mass, at minus its loss.
  const size_t n = pair.mass.size();
  std::vector<double> density(n);
  for (size_t j = 0; j < n; ++j)
    density[j] = -(pair.first_loss + pair.step * static_cast<double>(j));
  const double greatest = std::fmax(std::fabs(density.front()), std::fabs(density.back()));
  Exp(density, density);
  // (An atom whose loss is off by λ has a Q-mass that is off by λ, relatively.)
  const double rounding = (8 + 2 * greatest) * kUnitRoundoff + 2 * pair.loss_error;
  const double outward = side == Side::kUpper ? 1 + rounding : 1 - rounding;
  loss.mass.resize(n);
  for (size_t j = 0; j < n; ++j) loss.mass[n - 1 - j] = pair.mass[j] * density[j] * outward;
  if (side == Side::kUpper) {
    // If the P-mass is too small for a normal double, the Q-mass may still be one.
    for (size_t j = 0; j < n; ++j) {
      if (pair.mass[j] < kFaintMass) loss.mass[n - 1 - j] += kLostToUnderflow * density[j];
    }
  }
  loss.first_loss = -(pair.first_loss + pair.step * static_cast<double>(n - 1));
  loss.loss_error += 2 * kUnitRoundoff * greatest;
  loss.infinity = pair.add_infinity;
  return loss;
}

DirectedLosses::DirectedLosses(std::vector<DirectedLoss> losses, double step)
    : losses_(std::move(losses)), step_(step) {
  for (DirectedLoss& loss : losses_) loss.log_peaks = LogPeaksOf(loss.mass);
}

// 1 - Π (1 - infinity)^count.
double DirectedLosses::InfiniteMass(Side side) const {
  double log_finite = 0;
  for (const DirectedLoss& loss : losses_)
    log_finite += loss.count * std::log1p(-std::fmin(loss.infinity, 1 - 1e-16));
  const double infinity = -std::expm1(log_finite);
  return side == Side::kUpper ? std::fmin(1, infinity * (1 + 1e-12)) : infinity * (1 - 1e-12);
}

bool DirectedLosses::Empty() const {
  return std::any_of(losses_.begin(), losses_.end(), [](const DirectedLoss& loss) {
    return std::all_of(loss.mass.begin(), loss.mass.end(), [](double m) { return m == 0; });
  });
}

double DirectedLosses::GreatestLoss() const {
  double sum = 0;
  for (const DirectedLoss& loss : losses_) {
    size_t last = loss.mass.size();
    while (last > 0 && loss.mass[last - 1] == 0) --last;
    if (last == 0) continue;
    sum += loss.count * (loss.first_loss + step_ * static_cast<double>(last - 1) + loss.loss_error);
  }
  return std::fmax(0, sum * (1 + 1e-12) + 1e-300);
}

DirectedLosses::Cumulants DirectedLosses::LogMgf(double s) const {
  Cumulants sum{0, 0, 0};
  for (const DirectedLoss& loss : losses_) {
    const Tilted one = TiltOne(loss, step_, s, nullptr);
    sum.value += loss.count * one.log_normaliser;
    sum.mean += loss.count * one.mean;
    sum.variance += loss.count * one.variance;
  }
  return sum;
}

double DirectedLosses::Tilt(double epsilon, double near) const {
  // Newton for the derivative of a convex function, kept inside a bracket.
  double lo = 1e-8, hi = 1e8, c = std::clamp(near, 1e-6, 1e6);
  for (int i = 0; i < 60; ++i) {
    const Cumulants at = LogMgf(c);
    const double slope = at.mean - epsilon - 1 / c - 1 / (1 + c);
    if (std::isnan(slope)) {
      hi = c;
      c = std::sqrt(lo * hi);
      continue;
    }
    (slope > 0 ? hi : lo) = c;
    const double curvature = at.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c));
    double next = c - slope / curvature;
    if (!(next > lo && next < hi)) next = std::sqrt(lo * hi);
    if (std::fabs(next - c) <= 1e-4 * c) return next;
    c = next;
  }
  return c;
}

}  // namespace dpledger::accountant::pld
