#include "accountant/pld/composed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/fft.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2 = 0.69314718055994530942;
// Tilted mass let go on each side of the window: its effect on δ is counted, and is this times
// about 1e1..1e3.
constexpr double kWindowTail = 1e-13;
// Complex multiplication rounds within sqrt(5) u (Brent, Percival, Zimmermann 2007).
constexpr double kComplexProduct = 2.24 * kUnitRoundoff;

absl::Status TooLarge(absl::string_view what) {
  return WithReason(absl::ResourceExhaustedError(what), {"QUERY_TOO_LARGE", {}});
}

// One loss, tilted: weights w_j = mass_j e^{s·x_j - shift}, x_j counted from the first atom.
struct Tilted {
  double total;           // Σ w
  double log_normaliser;  // log Σ mass e^{s·loss}, as log(total) + shift + s·first_loss
  double mean;            // of the loss under the tilted law
  double variance;
};

// floor(log2 x), -1023 for zero and denormals.
int BinaryExponent(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52) - 1023; }

// Within a block e^{s·x} goes from atom to atom by one multiplication: at most kBlock·2u, part of
// kTiltError.
constexpr size_t kBlock = 32;
constexpr double kTiltError = 2 * (kBlock + 8) * kUnitRoundoff;

Tilted TiltOne(const DirectedLosses::Loss& loss, double step, double s,
               std::vector<double>* weights) {
  // Relative to the greatest (within a factor of two) nothing overflows; what underflows is below
  // 1e-300 of the sum.
  const size_t n = loss.mass.size();
  double shift = -kInfinity;
  for (size_t j = 0; j < n; ++j) {
    shift =
        std::fmax(shift, kLog2 * BinaryExponent(loss.mass[j]) + s * step * static_cast<double>(j));
  }
  if (weights != nullptr) weights->resize(n);
  const size_t block = std::fabs(s) * step * kBlock < 300 ? kBlock : 1;
  const double ratio = block > 1 ? std::exp(s * step) : 1;
  double total = 0, first = 0, second = 0;  // in units of the step
  for (size_t begin = 0; begin < n; begin += block) {
    double factor = std::exp(s * step * static_cast<double>(begin) - shift);
    double sum = 0, moment = 0, square = 0;
    for (size_t k = 0; k < block && begin + k < n; ++k, factor *= ratio) {
      const double weight = loss.mass[begin + k] * factor, at = static_cast<double>(k);
      if (weights != nullptr) (*weights)[begin + k] = weight;
      sum += weight;
      moment += weight * at;
      square += weight * at * at;
    }
    const double at = static_cast<double>(begin);
    total += sum;
    first += moment + at * sum;
    second += square + at * (2 * moment + at * sum);
  }
  if (!(total > 0)) return {0, -kInfinity, 0, 0};
  const double mean = first / total;
  return {total, shift + std::log(total) + s * loss.first_loss, loss.first_loss + step * mean,
          step * step * std::fmax(0, second / total - mean * mean)};
}

// z^n by binary powering; relative error at most n·kComplexProduct.
std::complex<double> Power(std::complex<double> z, double n) {
  double re = 1, im = 0, zr = z.real(), zi = z.imag();
  for (uint64_t k = static_cast<uint64_t>(n);;) {
    if (k & 1) {
      const double r = re * zr - im * zi;
      im = re * zi + im * zr;
      re = r;
    }
    k >>= 1;
    if (k == 0) return {re, im};
    const double r = zr * zr - zi * zi;
    zi = 2 * zr * zi;
    zr = r;
  }
}

}  // namespace

DirectedLosses::DirectedLosses(const std::vector<CountedPair>& pairs, Direction direction)
    : step_(pairs.front().pair.step) {
  for (const CountedPair& counted : pairs) {
    const DiscretePair& pair = counted.pair;
    Loss loss{pair.first_loss,      pair.mass,       counted.count,
              pair.remove_infinity, pair.loss_error, pair.mass_error};
    if (direction == Direction::kAdd) {
      // Q against P: the atom's Q-mass, at minus its loss.
      const size_t n = pair.mass.size();
      for (size_t j = 0; j < n; ++j) {
        loss.mass[n - 1 - j] =
            pair.mass[j] * std::exp(-(pair.first_loss + pair.step * static_cast<double>(j)));
      }
      loss.first_loss = -(pair.first_loss + pair.step * static_cast<double>(n - 1));
      loss.infinity = pair.add_infinity;
      loss.mass_error += 8 * kUnitRoundoff + pair.loss_error;  // e^{-loss} carries the loss's error
    }
    losses_.push_back(std::move(loss));
  }
}

DirectedLosses::Cumulants DirectedLosses::LogMgf(double s) const {
  Cumulants sum{0, 0, 0};
  for (const Loss& loss : losses_) {
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

absl::StatusOr<Composed> Composed::Compose(const DirectedLosses& losses, double tilt,
                                           const Limits& limits) {
  Composed result;
  const double h = losses.step();
  result.step_ = h;
  result.tilt_ = tilt;

  // 1. The window: K's growth to both sides bounds the tilted law's tails (Chernoff); the narrowest
  // of a few choices.
  const DirectedLosses::Cumulants centre = losses.LogMgf(tilt);
  if (!std::isfinite(centre.value)) return TooLarge("the tilted losses hold no mass");
  // The bounds below count on exponents whose rounding is far below one.
  if (std::fabs(centre.value) > 1e12)
    return TooLarge("the composed losses are too large for the loss grid");
  const double sd = std::sqrt(std::fmax(centre.variance, h * h));
  const double log_tail = std::log(kWindowTail);
  double above = kInfinity, below = kInfinity;
  for (const double a : {0.35, 0.7, 1.4, 2.8, 5.6, 8.0, 12.0}) {
    RETURN_IF_ERROR(limits.Check());
    const double s = a / sd;
    const double up = losses.LogMgf(tilt + s).value - centre.value;
    if (std::isfinite(up)) above = std::fmin(above, (up - s * centre.mean - log_tail) / s);
    const double down = losses.LogMgf(tilt - s).value - centre.value;
    if (std::isfinite(down)) below = std::fmin(below, (down + s * centre.mean - log_tail) / s);
  }
  const double wanted = (above + below) / h + 4;
  if (!(wanted <= static_cast<double>(limits.max_fft_bins))) {
    return TooLarge(absl::StrCat("the composition would need ", wanted, " bins, more than ",
                                 limits.max_fft_bins));
  }
  const size_t n = NextFastSize(static_cast<size_t>(std::fmax(64, wanted)));
  // Chernoff's exponents are rounded at the size of K; twice the tail covers it (and more, |K| u <
  // 1e-3).
  result.tail_above_ = result.tail_below_ = 2 * kWindowTail;

  // 2. Where the window starts on the composed grid, whose point k stands at Σ count·first_loss +
  // k·h.
  long double origin = 0;
  double size = 0, total_count = 0;
  for (const DirectedLosses::Loss& loss : losses.losses()) {
    origin += static_cast<long double>(loss.count) * loss.first_loss;
    total_count += loss.count;
    size += loss.count * (std::fabs(loss.first_loss) +
                          std::fabs(loss.first_loss + h * static_cast<double>(loss.mass.size())));
    result.loss_error_ += loss.count * loss.loss_error;
    result.infinity_ += loss.count * loss.infinity * (1 + 4 * kUnitRoundoff);
  }
  const long double first_bin =
      std::floor((static_cast<long double>(centre.mean - below) - origin) / h);
  if (std::fabs(first_bin) > 0x1p52L) return TooLarge("too many steps for the loss grid");
  result.window_ = static_cast<double>(origin + first_bin * h);
  result.loss_error_ +=
      4 * kUnitRoundoff * (std::fabs(result.window_) + above + below) + size * 0x1p-62;

  // 3. Tilt, transform, raise to the count, multiply; with each bin's error bound beside it, in
  // logarithms.
  const RealFft fft(n);
  const double transform_error = FftRelativeError(n);
  std::vector<std::complex<double>> product(n / 2 + 1, 1.0);
  std::vector<double> log_bound(n / 2 + 1, 0.0), error_factor(n / 2 + 1, 0.0);
  std::vector<double> weights, folded;
  for (const DirectedLosses::Loss& loss : losses.losses()) {
    RETURN_IF_ERROR(limits.Check());
    const Tilted tilted = TiltOne(loss, h, tilt, &weights);
    folded.assign(n, 0);
    for (size_t j = 0, bin = 0; j < weights.size(); ++j) {
      folded[bin] += weights[j] / tilted.total;
      if (++bin == n) bin = 0;
    }
    result.log_scale_ += static_cast<long double>(loss.count) * tilted.log_normaliser;
    const double span = h * static_cast<double>(loss.mass.size());
    result.relative_error_ +=
        loss.count * (loss.mass_error + kTiltError +
                      kUnitRoundoff * (16 + 4 * tilt * (span + std::fabs(loss.first_loss)) +
                                       4 * std::fabs(tilted.log_normaliser) +
                                       static_cast<double>(1 + weights.size() / n)));
    const std::vector<std::complex<double>> spectrum = fft.Forward(folded);
    // (|F| + e)^T bounds the exact power; its distance from the computed one is at most that times
    // T·e/(|F| + e) + T·2.24u.
    const double e = transform_error * (1 + 1e-9);
    for (size_t k = 0; k < spectrum.size(); ++k) {
      const double bound = std::abs(spectrum[k]) + e;
      log_bound[k] += loss.count * std::log(bound);  // at most count·e above 0
      error_factor[k] += loss.count * (e / bound + kComplexProduct);
      product[k] *= loss.count == 1 ? spectrum[k] : Power(spectrum[k], loss.count);
    }
  }

  // 4. Back, unrolled so that bins_[0] is grid point first_bin.
  long double sum_of_errors = 0, sum_of_bounds = 0;
  for (size_t k = 0; k < product.size(); ++k) {
    const double twice = k == 0 || 2 * k == n ? 1 : 2;
    const double relative =
        error_factor[k] + static_cast<double>(losses.losses().size()) * kComplexProduct;
    const double bound =
        twice * std::exp(log_bound[k] * (1 - 1e-9) + 4 * kUnitRoundoff * total_count) * (1 + 1e-6);
    sum_of_bounds += bound;
    // Where the computed value has no digits left, both it and the exact one are below `bound`.
    sum_of_errors += bound * (relative < 0.5 ? std::expm1(relative) : 2);
  }
  RETURN_IF_ERROR(limits.Check());
  const std::vector<double> circular = fft.Inverse(product);
  result.bin_error_ =
      static_cast<double>((sum_of_errors + transform_error * sum_of_bounds) / n) * (1 + 1e-6) +
      1e-300;
  const int64_t shift = static_cast<int64_t>(std::fmod(first_bin, static_cast<long double>(n)));
  const size_t begin = static_cast<size_t>(shift < 0 ? shift + static_cast<int64_t>(n) : shift);
  result.bins_.resize(n);
  for (size_t i = 0; i < n; ++i)
    result.bins_[i] = circular[begin + i < n ? begin + i : begin + i - n];
  return result;
}

Composed::Sums Composed::SumsAbove(double epsilon) const {
  const double past = std::floor((epsilon - window_) / step_) + 1;
  if (past >= static_cast<double>(bins_.size())) return {0, 0, 0};
  const size_t from = past <= 0 ? 0 : static_cast<size_t>(past);
  const double gap = window_ + step_ * static_cast<double>(from) - epsilon;
  // Both factors of w follow positive recurrences from one bin to the next, so their relative error
  // is at most 4u a bin.
  double decay = std::exp(-tilt_ * gap), rise = -std::expm1(-gap);
  const double decay_step = std::exp(-tilt_ * step_), rise_keep = std::exp(-step_),
               rise_step = -std::expm1(-step_);
  Sums sums{0, 0, 0};
  for (size_t i = from; i < bins_.size(); ++i) {
    const double weight = decay * rise;
    sums.value += weight * bins_[i];
    sums.weight += weight;
    sums.absolute += weight * std::fabs(bins_[i]);
    decay *= decay_step;
    rise = rise * rise_keep + rise_step;
    if (decay < 1e-40) {  // what follows is below 1e-40 of a law of total mass one, and is added by
                          // the callers
      break;
    }
  }
  return sums;
}

double Composed::GreatestWeight() const {
  return std::exp(tilt_ * std::log(tilt_ / (1 + tilt_)) - std::log1p(tilt_)) *
         (1 + 1e-9 * (1 + tilt_ * 1e-6));
}

// δ(ε) = e^{log_scale - cε} Σ_x w(x) p(x) over the composed law, read at ε moved by the loss error.
double Composed::LogDeltaUp(double epsilon) const {
  const double at = epsilon - loss_error_;
  const Sums sums = SumsAbove(at);
  const double end = window_ + step_ * static_cast<double>(bins_.size());
  // Above the window w(x) <= e^{-c(end - ε)}; 1e-40 is the part SumsAbove leaves out.
  double beyond = tail_above_ * std::exp(-tilt_ * std::fmax(0, end - at)) + 1e-40;
  if (window_ > at)
    beyond +=
        tail_below_ * GreatestWeight();  // mass between ε and the window stands elsewhere in it
  const double rounding = 6 * static_cast<double>(bins_.size()) * kUnitRoundoff *
                          (sums.absolute + bin_error_ * sums.weight);
  const double sum = sums.value + bin_error_ * sums.weight + rounding + beyond;
  const double exponent = static_cast<double>(log_scale_ - static_cast<long double>(tilt_) * at);
  const double log_finite = exponent + std::log(sum) + relative_error_ * 1.001 +
                            8 * kUnitRoundoff * (std::fabs(exponent) + 4) +
                            static_cast<double>(std::fabs(log_scale_)) * 0x1p-60;
  const double total = NextUp(std::exp(log_finite) * (1 + 4 * kUnitRoundoff)) + infinity_;
  if (infinity_ == 0 || log_finite < -690)
    return std::fmin(0, infinity_ > 0 ? std::log(total) : log_finite);
  return std::isnan(total) ? 0 : std::fmin(0, LogUp(total));
}

double Composed::LogDeltaDown(double epsilon) const {
  const double at = epsilon + loss_error_;
  const Sums sums = SumsAbove(at);
  const double rounding = 6 * static_cast<double>(bins_.size()) * kUnitRoundoff *
                          (sums.absolute + bin_error_ * sums.weight);
  const double sum =
      sums.value - bin_error_ * sums.weight - rounding -
      GreatestWeight() * (tail_below_ + tail_above_);  // aliases from outside the window
  if (!(sum > 0)) return -kInfinity;
  const double exponent = static_cast<double>(log_scale_ - static_cast<long double>(tilt_) * at);
  const double log_delta = exponent + std::log(sum) - relative_error_ * 1.001 -
                           8 * kUnitRoundoff * (std::fabs(exponent) + 4) -
                           static_cast<double>(std::fabs(log_scale_)) * 0x1p-60;
  return std::isnan(log_delta) ? -kInfinity : std::fmin(0, log_delta);
}

}  // namespace dpledger::accountant::pld
