#include "accountant/contour/line.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "accountant/contour/envelope.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

// The quadrature in t, of δ, and the envelopes, of what they are wanted for.
constexpr double kDigits = 33, kEnvelopeDigits = 8;
// Nodes on the line times nodes in t, over all steps: about a tenth of a second.
constexpr double kGreatestLineNodes = 1 << 16;
// Numbers kept for all envelopes together: 64 MiB.
constexpr size_t kGreatestKept = size_t{1} << 23;
constexpr double kGreatestTurn = 1e6;  // radians for which SinCos is exact

// The derivative of LogChernoff.
double LogChernoffSlope(double r) { return r > 0 ? std::log(r / (1 + r)) : 0; }
// K of one run at the order, from above: 0 at 0 and at -1.
double LevelUp(Tilting& tilting, size_t step, double order) {
  if (order == 0 || order == -1) return 0;
  const Tilt tilt = tilting.StepAt(step, order);
  return tilt.log_mgf + tilt.error;
}

// An exponent t for the aliases on one side, and the period that makes them small: (g(t) + need)/t,
// g(t) = K(c ± t) - K(c) + LogChernoff ∓ tε.
struct AliasBound {
  double exponent = 0, period = kInfinity;
};

// sign = 1 for the aliases above, -1 for those below. Newton's method on the derivative of the
// period; every t tried is valid, the best is kept.
AliasBound BestAlias(Tilting& tilting, const Saddle& saddle, double epsilon, double need,
                     double sign) {
  AliasBound best;
  const double c = saddle.c, up = c > 0 ? kInfinity : -0.98 * c;
  const double greatest = sign > 0 ? up : 0.98 * (c > 0 ? c : 1 + c);
  double t = std::fmin(std::sqrt(2 * need / saddle.Curvature()), 0.9 * greatest);
  for (int i = 0; i < 8; ++i) {
    const double r = saddle.c + sign * t;
    const Saddle at = tilting.At(r);
    const double g =
        at.log_mgf + at.error - saddle.log_mgf + saddle.error + LogChernoff(r) - sign * t * epsilon;
    const double period = (g + need) / t;
    if (!std::isfinite(period)) {
      t /= 2;
      continue;
    }
    if (period > 0 && period < best.period) {
      const bool settled = period > 0.97 * best.period;
      best = {t, period};
      if (settled) break;
    } else if (period > 0) {
      break;
    }
    const double slope = sign * (at.mean - epsilon + LogChernoffSlope(r));
    const double next = t - (t * slope - g - need) / (t * at.variance);
    t = std::fmin(std::fmax(next, t / 3), std::fmin(3 * t, greatest));
  }
  return best;
}

}  // namespace

bool Line::ChoosePeriod(Tilting& tilting, const Saddle& saddle, double share, double room) {
  // The sum's own size, by the estimate, in units of e^{K(c) - cε}.
  const double log_size = -LogKernel(c_) - 0.5 * std::log(2 * kPi * saddle.Curvature());
  const double need = -(log_size + std::log(share));
  AliasBound up = BestAlias(tilting, saddle, epsilon_, need, 1);
  AliasBound down = BestAlias(tilting, saddle, epsilon_, need, -1);
  // Or the orders 0 and -1, at which K is 0: δ <= 1, and 1 - δ <= 1 and <= e^ε.
  const double by_one = c_ * epsilon_ - saddle.log_mgf + saddle.error + need;
  const double by_exp = (by_one + epsilon_) / (1 + c_);
  if (c_ > 0 && by_one / c_ < down.period) down = {c_, by_one / c_};
  if (c_ < 0 && by_one / -c_ < up.period) up = {-c_, by_one / -c_};
  if (c_ < 0 && by_exp < down.period) down = {1 + c_, by_exp};
  period_ = 1.02 * room * std::fmax(up.period, down.period);
  up_ = up.exponent;
  down_ = down.exponent;
  spacing_ = 2 * kPi / period_;
  return std::isfinite(period_) && period_ > 0;
}

absl::StatusOr<std::optional<Line>> Line::Through(Tilting& tilting, const Saddle& saddle,
                                                  double epsilon, double share, double work,
                                                  double room) {
  const std::vector<Step>& steps = tilting.steps();
  Line line;
  line.c_ = saddle.c;
  line.epsilon_ = epsilon;
  line.deviation_ = std::sqrt(saddle.Curvature());
  if (!std::isfinite(saddle.log_mgf) || !(saddle.variance > 0)) return std::nullopt;
  const bool periodic = line.ChoosePeriod(tilting, saddle, share, room);
  RETURN_IF_ERROR(tilting.stopped());
  if (!periodic) return std::nullopt;

  // The end of the line: the envelope falls for good, so the part past Y is at most B(Y)/(πY).
  const double need =
      LogKernel(saddle.c) + std::log(line.deviation_ * std::sqrt(2 * kPi)) - std::log(share);
  // Each bound is wanted to some digits more than its share of that.
  const double envelope_digits =
      kEnvelopeDigits + tilting.log_count() + need * std::exp(-tilting.log_count());
  std::vector<Envelope> envelopes;
  envelopes.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const Tilt tilt = tilting.StepAt(i, saddle.c);
    envelopes.emplace_back(steps[i], saddle.c, tilt.log_mgf - tilt.error, envelope_digits);
  }
  std::vector<double> bounds(steps.size());
  size_t height = 3;
  for (line.end_ = std::sqrt(2 * need) / line.deviation_;;) {
    if (!(line.end_ / line.spacing_ <= kGreatestLineNodes)) return std::nullopt;
    double log_envelope = 0;
    size_t kept = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i % 16 == 0) RETURN_IF_ERROR(tilting.limits().Check());
      bounds[i] = envelopes[i].LogBound(line.end_, height);
      log_envelope += steps[i].count * bounds[i];
      kept += envelopes[i].kept();
      if (kept > kGreatestKept) return std::nullopt;
    }
    const double missing = need - std::log(kPi * line.end_) + log_envelope;
    const double wanted = need - std::log(kPi * line.end_);
    if (missing <= 0) break;
    // As if it fell like a normal law's.
    line.end_ *= std::fmin(2, std::fmax(1.05, 1.02 * std::sqrt(wanted / -log_envelope)));
  }
  const size_t nodes = static_cast<size_t>(std::ceil(line.end_ / line.spacing_));

  line.log_modulus_.assign(nodes, 0);
  line.phase_.assign(nodes, 0);
  line.error_.assign(nodes, 0);
  const double digits = kDigits + tilting.log_count();
  Terms each;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i % 16 == 0 || nodes > 1000) RETURN_IF_ERROR(tilting.limits().Check());
    if (!PutOnLine(steps[i], line.c_, line.spacing_, nodes, digits, work, each.on_line))
      return std::nullopt;
    each.up = LevelUp(tilting, i, line.c_ + line.up_);
    each.down = LevelUp(tilting, i, line.c_ - line.down_);
    each.envelope = bounds[i];
    line.Add(each, steps[i].count);
  }
  line.Prepare();
  return std::optional<Line>(std::move(line));
}

void Line::Add(const Terms& terms, double count) {
  constexpr double u = kUnitRoundoff;
  log_mgf_ += count * terms.on_line.log_mgf;
  level_error_ += count * terms.on_line.log_mgf_error * (1 + 1e-9) + 4 * u * std::fabs(log_mgf_);
  log_up_ += count * terms.up + 4 * u * (std::fabs(log_up_) + count * std::fabs(terms.up));
  log_down_ += count * terms.down + 4 * u * (std::fabs(log_down_) + count * std::fabs(terms.down));
  log_envelope_ += count * terms.envelope * (1 - 1e-12);
  for (size_t k = 0; k < log_modulus_.size(); ++k) {
    const double modulus = count * terms.on_line.log_modulus[k];
    const double phase = count * terms.on_line.phase[k];
    log_modulus_[k] += modulus;
    phase_[k] += phase;
    error_[k] +=
        count * terms.on_line.error[k] + 2 * u *
                                             (std::fabs(modulus) + std::fabs(phase) +
                                              std::fabs(log_modulus_[k]) + std::fabs(phase_[k]));
  }
}

void Line::Prepare() {
  constexpr double u = kUnitRoundoff;
  const size_t nodes = log_modulus_.size();
  re_.resize(nodes);
  im_.resize(nodes);
  y_.resize(nodes);
  angle_.resize(nodes);
  sine_.resize(nodes);
  cosine_.resize(nodes);
  for (size_t k = 0; k < nodes; ++k) {
    y_[k] = spacing_ * static_cast<double>(k + 1);
    angle_[k] = phase_[k] - y_[k] * epsilon_;
  }
  Exp(log_modulus_, re_);
  SinCos(angle_, sine_, cosine_);
  truncation_ = std::exp(log_envelope_) / (kPi * end_) * (1 + 1e-9);
  const double scale = spacing_ / kPi, level = scale / 2 / std::fabs(c_ * (1 + c_));
  error_constant_ = truncation_ + level * 16 * u;
  error_slope_ = 0;
  for (size_t k = 0; k < nodes; ++k) {
    const double y = y_[k], lost = error_[k] + u * (40 + 4 * y * epsilon_ + std::fabs(phase_[k]) +
                                                    2 * std::fabs(log_modulus_[k]) +
                                                    static_cast<double>(nodes));
    // e^{...}/(z(z+1)).
    const double kernel_re = c_ * (1 + c_) - y * y, kernel_im = y * (1 + 2 * c_);
    const double square = kernel_re * kernel_re + kernel_im * kernel_im;
    const double size = scale * re_[k] / std::sqrt(square);
    const double factor = (c_ > 0 ? scale : -scale) * re_[k] / square;
    if (std::fabs(angle_[k]) > kGreatestTurn || !(lost < 50)) {
      error_constant_ = kInfinity;
      return;
    }
    re_[k] = factor * (cosine_[k] * kernel_re + sine_[k] * kernel_im);
    im_[k] = factor * (sine_[k] * kernel_re - cosine_[k] * kernel_im);
    error_constant_ += size * std::expm1(lost);
    error_slope_ += size * 8 * u * y;
  }
  error_constant_ *= 1 + 1e-9;
}

Line::Sum Line::At(double epsilon) {
  const double away = epsilon - epsilon_, level = spacing_ / (2 * kPi) / std::fabs(c_ * (1 + c_));
  Sum sum{level, error_constant_ + error_slope_ * (std::fabs(epsilon) + std::fabs(epsilon_)), 0};
  if (y_.empty()) return sum;
  if (!(std::fabs(away) * y_.back() < kGreatestTurn)) return {0, kInfinity, -c_};
  for (size_t k = 0; k < y_.size(); ++k) angle_[k] = y_[k] * away;
  SinCos(angle_, sine_, cosine_);
  double turning = 0;
  for (size_t k = 0; k < y_.size(); ++k) {
    sum.value += re_[k] * cosine_[k] + im_[k] * sine_[k];
    turning += y_[k] * (im_[k] * cosine_[k] - re_[k] * sine_[k]);
  }
  sum.slope = turning / sum.value - c_;
  return sum;
}

double Line::LevelError(double epsilon) const {
  return level_error_ + 8 * kUnitRoundoff * (std::fabs(log_mgf_) + std::fabs(c_ * epsilon) + 4);
}

// Σ_{m≠0} e^{mcD} δ(ε + mD), over e^{K(c) - cε}: by the two Chernoff bounds that the period was
// chosen with.
double Line::Aliases(double epsilon) const {
  const double log_up = log_up_ - log_mgf_ + level_error_ + LogChernoff(c_ + up_);
  const double log_down = log_down_ - log_mgf_ + level_error_ + LogChernoff(c_ - down_);
  const double up = std::exp(log_up - up_ * epsilon - up_ * period_) / -std::expm1(-up_ * period_);
  const double down =
      std::exp(log_down + down_ * epsilon - down_ * period_) / -std::expm1(-down_ * period_);
  const double size = std::fabs(log_up_) + std::fabs(log_down_) + 2 * std::fabs(log_mgf_) +
                      (1 + up_ + down_) * (std::fabs(epsilon) + period_);
  return (up + down) * (1 + 1e-9) * std::exp(8 * kUnitRoundoff * size);
}

Line::LogDelta Line::LogDeltaAt(double epsilon) {
  const Sum sum = At(epsilon);
  const double level = Level(epsilon), error = LevelError(epsilon);
  const double left = sum.value - sum.error - Aliases(epsilon);
  return {left > 0 ? level + std::log(left) - error : -kInfinity,
          sum.value + sum.error > 0 ? level + std::log(sum.value + sum.error) + error : kInfinity};
}

std::optional<Interval> Line::EpsilonAt(double delta, double& guess) {
  // What the line sums, δ or 1 - δ (exact: δ is above 1/2), and whether that falls with ε.
  const double sign = c_ > 0 ? 1 : -1, target = c_ > 0 ? delta : 1 - delta;
  const double log_target = std::log(target), down = LogDown(target), up = LogUp(target);
  const auto is_below = [&](double at) {
    const LogDelta bounds = LogDeltaAt(at);
    return c_ > 0 ? bounds.upper <= down : bounds.lower >= up;
  };
  const auto is_above = [&](double at) {
    const LogDelta bounds = LogDeltaAt(at);
    return c_ > 0 ? bounds.lower > up : bounds.upper < down;
  };
  // Newton's method on log δ, between what was seen above δ and what was seen below; by halves
  // where the sum is lost in its error.
  // The sum, its relative error, and d log δ/dε or -d log(1 - δ)/dε.
  double value = 0, share = 0, slope = -std::fabs(c_);
  double low = 0, high = kInfinity;
  for (int i = 0; i < 80; ++i) {
    const Sum sum = At(guess);
    value = sum.value;
    share = sum.error / value;
    slope = sign * sum.slope;
    const bool sure = value > 0 && share < 0.5;
    const double size = sure ? value : std::fabs(value) + sum.error;
    const double excess = sign * (Level(guess) + std::log(size) - log_target);
    if (!sure && !(sign * excess < 0)) return std::nullopt;
    if (excess < 0 && guess == 0) break;  // so is ε
    (excess > 0 ? low : high) = guess;
    double next = sure && slope < 0 ? guess + excess / -slope : -kInfinity;
    if (!(std::fabs(next - guess) > 1e-8 * guess)) {
      guess = next;
      break;
    }
    if (excess > 0) next = std::fmin(next, guess + 2 * deviation_);
    if (sure && excess < 0 && next <= 0 && low == 0) {
      next = 0;
    } else if (!(next > low && next < high)) {
      next = std::isfinite(high) ? (low + high) / 2 : guess + 2 * deviation_;
    }
    if (std::fabs(next - guess) <= 1e-15 * guess) break;
    guess = next;
  }
  if (!(value > 0 && share < 0.5 && slope < 0)) return std::nullopt;
  if (guess == 0 && is_below(0)) return Interval{0, 0};
  const double away = (1.02 * share + LevelError(guess)) / -slope + 4 * kUnitRoundoff * guess;
  double upper = 0;
  double width = away + 1e-15 * std::fabs(guess);
  bool closed = false;
  for (int i = 0; i < 40 && !closed; ++i, width *= 2) {
    upper = std::fmax(0, guess + width);
    closed = is_below(upper);
  }
  if (!closed) return std::nullopt;
  width = away + 1.02 * Aliases(guess) / value / -slope + 1e-15 * std::fabs(guess);
  for (int i = 0; i < 40; ++i, width *= 2) {
    const double lower = guess - width;
    if (!(lower > 0)) return Interval{0, upper};
    if (is_above(lower)) return Interval{lower, upper};
  }
  return std::nullopt;
}

}  // namespace dpledger::accountant::contour
