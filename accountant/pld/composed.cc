#include "accountant/pld/composed.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/fft.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"
#include "accountant/pld/window.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Frequencies below e^-kNegligible are let go: with 2^21 of them 1e-25 of the law.
constexpr double kNegligible = 72;
constexpr size_t kBlock = 32;  // of bins that share their exponentials
// Complex multiplication rounds within sqrt(5) u (Brent, Percival, Zimmermann 2007).
constexpr double kComplexProduct = 2.24 * kUnitRoundoff;

absl::Status TooLarge(absl::string_view what) {
  return WithReason(absl::ResourceExhaustedError(what), {"QUERY_TOO_LARGE", {}});
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

absl::StatusOr<Composed> Composed::Compose(const DirectedLosses& losses, double tilt,
                                           const Limits& limits, double window_tail) {
  Composed result;
  const double h = losses.step();
  result.step_ = h;
  result.tilt_ = tilt;

  // 1. The window.
  const DirectedLosses::Cumulants centre = losses.LogMgf(tilt);
  if (!std::isfinite(centre.value)) return TooLarge("the tilted losses hold no mass");
  // The bounds below count on exponents whose rounding is far below one.
  if (std::fabs(centre.value) > 1e12)
    return TooLarge("the composed losses are too large for the loss grid");
  const double sd = std::sqrt(std::fmax(centre.variance, h * h));
  RETURN_IF_ERROR(limits.Check());
  const auto [below, above] =
      WindowOf([&](double s) { return losses.LogMgf(tilt + s).value - centre.value; }, centre.mean,
               sd, std::log(window_tail));
  const double wanted = (above + below) / h + 4;
  if (!(wanted <= static_cast<double>(limits.max_fft_bins))) {
    return TooLarge(absl::StrCat("the composition would need ", wanted, " bins, more than ",
                                 limits.max_fft_bins));
  }
  const size_t n = NextFastSize(static_cast<size_t>(std::fmax(64, wanted)));
  // Chernoff's exponents are rounded at the size of K; twice the tail covers it (and more, |K| u <
  // 1e-3).
  result.tail_above_ = result.tail_below_ = 2 * window_tail;

  // 2. The start of the window on the composed grid, whose point k stands at Σ count·first_loss +
  // k·h.
  long double origin = 0;
  double size = 0, total_count = 0;
  for (const DirectedLoss& loss : losses.losses()) {
    origin += static_cast<long double>(loss.count) * loss.first_loss;
    total_count += loss.count;
    size += loss.count * (std::fabs(loss.first_loss) +
                          std::fabs(loss.first_loss + h * static_cast<double>(loss.mass.size())));
    result.loss_error_ += loss.count * loss.loss_error;
  }
  result.infinity_up_ = losses.InfiniteMass(Side::kUpper);
  result.infinity_down_ = losses.InfiniteMass(Side::kLower);
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
  const size_t bins = n / 2 + 1;
  std::vector<std::complex<double>> product(bins, 1.0);
  std::vector<double> log_bound(bins, 0.0), error_factor(bins, 0.0);
  // Frequencies at which the product is still above e^-kNegligible. Few remain after many steps.
  std::vector<size_t> alive(bins);
  for (size_t k = 0; k < bins; ++k) alive[k] = k;
  std::vector<double> weights, folded, magnitude, logs;
  for (const DirectedLoss& loss : losses.losses()) {
    RETURN_IF_ERROR(limits.Check());
    const Tilted tilted = TiltOne(loss, h, tilt, &weights);
    folded.assign(n, 0);
    for (size_t begin = 0; begin < weights.size(); begin += n) {
      const size_t length = std::min(n, weights.size() - begin);
      const double scale = 1 / tilted.total;
      for (size_t j = 0; j < length; ++j) folded[j] += weights[begin + j] * scale;
    }
    result.log_scale_ += static_cast<long double>(loss.count) * tilted.log_normaliser;
    const double span = h * static_cast<double>(loss.mass.size());
    result.relative_error_ +=
        loss.count *
        (kTiltError + kUnitRoundoff * (16 + 4 * tilt * (span + std::fabs(loss.first_loss)) +
                                       4 * std::fabs(tilted.log_normaliser) +
                                       static_cast<double>(1 + weights.size() / n)));
    const std::vector<std::complex<double>> spectrum = fft.Forward(folded);
    // (|F| + e)^T bounds the exact power; its distance from the computed one is at most that times
    // T·e/(|F| + e) + T·2.24u.
    const double e = transform_error * (1 + 1e-9);
    magnitude.resize(alive.size());
    for (size_t i = 0; i < alive.size(); ++i)
      magnitude[i] = std::sqrt(std::norm(spectrum[alive[i]])) + e;
    logs.resize(alive.size());
    Log(magnitude, logs);
    size_t kept = 0;
    for (size_t i = 0; i < alive.size(); ++i) {
      const size_t k = alive[i];
      log_bound[k] += loss.count * logs[i];  // at most count·e above 0
      if (log_bound[k] < -kNegligible) {
        product[k] = 0;
        error_factor[k] = kInfinity;
        continue;
      }
      error_factor[k] += loss.count * (e / magnitude[i] + kComplexProduct);
      product[k] *= loss.count == 1 ? spectrum[k] : Power(spectrum[k], loss.count);
      alive[kept++] = k;
    }
    alive.resize(kept);
  }

  // 4. Back, unrolled so that bins_[0] is grid point first_bin. Of the frequencies let go each is
  // below e^-kNegligible (later steps multiply it by at most e^{their count·e}).
  const double slack = std::exp(4 * kUnitRoundoff * total_count + transform_error * total_count);
  long double sum_of_bounds = static_cast<double>(n) * std::exp(-kNegligible) * slack;
  long double sum_of_errors = 2 * sum_of_bounds;
  for (const size_t k : alive) {
    const double twice = k == 0 || 2 * k == n ? 1 : 2;
    const double relative =
        error_factor[k] + static_cast<double>(losses.losses().size()) * kComplexProduct;
    const double bound =
        twice * std::exp(log_bound[k] * (1 - 1e-9) + 4 * kUnitRoundoff * total_count) * (1 + 1e-6);
    sum_of_bounds += bound;
    // If the computed value has no digits left, both it and the exact one are below `bound`.
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
  result.SumBlocks();
  return result;
}

// In x = y + kh + g: 1 - e^{-(kh + g)} = (1 - e^{-kh}) + e^{-kh} (1 - e^{-g}), so that all terms
// are positive but for the bins' own errors.
Composed::Suffix Composed::From(size_t begin, size_t length, const Suffix& after) const {
  const double* bins = &bins_[begin];
  double value[2][4] = {}, weight[2][4] = {}, absolute[2][4] = {};
  const auto add = [&](size_t k, size_t lane) {
    const double decay = decay_[k], risen = decay * rise_[k];
    weight[0][lane] += decay;
    value[0][lane] += decay * bins[k];
    absolute[0][lane] += decay * std::fabs(bins[k]);
    weight[1][lane] += risen;
    value[1][lane] += risen * bins[k];
    absolute[1][lane] += risen * std::fabs(bins[k]);
  };
  for (size_t k = 0; k + 4 <= length; k += 4)
    for (size_t lane = 0; lane < 4; ++lane) add(k + lane, lane);
  for (size_t k = length / 4 * 4; k < length; ++k) add(k, 0);
  // Directly, not by the powers: errors of these add up from block to block.
  const double width = step_ * static_cast<double>(length);
  const double decay = std::exp(-tilt_ * width), rise = -std::expm1(-width),
               keep = std::exp(-width);
  const auto sum = [](const double* lanes) {
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  };
  const auto with = [&](double here[2][4], double Sums::*of, Suffix& suffix) {
    suffix.decayed.*of = sum(here[0]) + decay * after.decayed.*of;
    suffix.risen.*of = sum(here[1]) + decay * (rise * after.decayed.*of + keep * after.risen.*of);
  };
  Suffix suffix;
  with(value, &Sums::value, suffix);
  with(weight, &Sums::weight, suffix);
  with(absolute, &Sums::absolute, suffix);
  return suffix;
}

void Composed::SumBlocks() {
  decay_ = {1};
  rise_ = {0};
  const double decay_step = std::exp(-tilt_ * step_), keep_step = std::exp(-step_),
               rise_step = -std::expm1(-step_);
  for (size_t k = 1; k < kBlock; ++k) {
    decay_.push_back(decay_[k - 1] * decay_step);
    rise_.push_back(rise_[k - 1] * keep_step + rise_step);
  }
  suffixes_.resize((bins_.size() + kBlock - 1) / kBlock + 1);
  for (size_t block = suffixes_.size() - 1; block-- > 0;) {
    const size_t begin = block * kBlock;
    suffixes_[block] = From(begin, std::min(kBlock, bins_.size() - begin), suffixes_[block + 1]);
  }
}

Composed::Sums Composed::SumsAbove(double epsilon) const {
  const double past = std::floor((epsilon - window_) / step_) + 1;
  if (past >= static_cast<double>(bins_.size())) return {0, 0, 0};
  const size_t from = past <= 0 ? 0 : static_cast<size_t>(past);
  const size_t block = from / kBlock + 1;
  const size_t end = std::min(bins_.size(), block * kBlock);
  const Suffix suffix = From(from, end - from, suffixes_[block]);
  const double gap = (window_ - epsilon) + step_ * static_cast<double>(from);
  // All of it is below 1e-30 of a law of total mass one, and is added by the callers.
  if (tilt_ * gap > 70) return {0, 0, 0};
  const double risen = -std::expm1(-gap), kept = std::exp(-gap), factor = std::exp(-tilt_ * gap);
  const auto both = [&](double Sums::*of) {
    return factor * (risen * suffix.decayed.*of + kept * suffix.risen.*of);
  };
  return {both(&Sums::value), both(&Sums::weight), both(&Sums::absolute)};
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
  // Above the window w(x) <= e^{-c(end - ε)}; 1e-30 is what SumsAbove may leave out.
  double beyond = tail_above_ * std::exp(-tilt_ * std::fmax(0, end - at)) + 1e-30;
  if (window_ > at)
    beyond +=
        tail_below_ * GreatestWeight();  // mass between ε and the window stands elsewhere in it
  const double rounding = (2 * static_cast<double>(bins_.size()) + 400) * kUnitRoundoff *
                          (sums.absolute + bin_error_ * sums.weight);
  const double sum = sums.value + bin_error_ * sums.weight + rounding + beyond;
  const double exponent = static_cast<double>(log_scale_ - static_cast<long double>(tilt_) * at);
  const double log_finite = exponent + std::log(sum) + relative_error_ * 1.001 +
                            8 * kUnitRoundoff * (std::fabs(exponent) + 4) +
                            static_cast<double>(std::fabs(log_scale_)) * 0x1p-60;
  const double total = NextUp(std::exp(log_finite) * (1 + 4 * kUnitRoundoff)) + infinity_up_;
  if (infinity_up_ == 0 || log_finite < -690)
    return std::fmin(0, infinity_up_ > 0 ? LogUp(total) : log_finite);
  return std::isnan(total) ? 0 : std::fmin(0, LogUp(total));
}

double Composed::LogDeltaDown(double epsilon) const {
  const double at = epsilon + loss_error_;
  const Sums sums = SumsAbove(at);
  const double rounding = (2 * static_cast<double>(bins_.size()) + 400) * kUnitRoundoff *
                          (sums.absolute + bin_error_ * sums.weight);
  const double sum =
      sums.value - bin_error_ * sums.weight - rounding -
      GreatestWeight() * (tail_below_ + tail_above_);  // aliases from outside the window
  double log_finite = -kInfinity;
  if (sum > 0) {
    const double exponent = static_cast<double>(log_scale_ - static_cast<long double>(tilt_) * at);
    log_finite = exponent + std::log(sum) - relative_error_ * 1.001 -
                 8 * kUnitRoundoff * (std::fabs(exponent) + 4) -
                 static_cast<double>(std::fabs(log_scale_)) * 0x1p-60;
    if (std::isnan(log_finite)) log_finite = -kInfinity;
  }
  if (infinity_down_ == 0) return std::fmin(0, log_finite);
  const double finite = log_finite < 0 ? ExpDown(log_finite) * (1 - 1e-15) : 1;
  return std::fmin(0, LogDown(std::fmax(0, infinity_down_ + finite * (1 - 4 * kUnitRoundoff)) *
                              (1 - 4 * kUnitRoundoff)));
}

}  // namespace dpledger::accountant::pld
