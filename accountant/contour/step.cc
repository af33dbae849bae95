#include "accountant/contour/step.h"

#include <algorithm>
#include <cmath>

#include "accountant/contour/pair_loss.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kGreatestNodes = 1 << 16;
constexpr double kGreatestTurn = 1e6;  // radians for which SinCos is exact

// Where a cut has this exponent it is as good as 0.
constexpr double kGreatestExponent = 1e12;

// θ/x at most, θ = arg(1 + u(t + iη)), x = μη: 1, or what the angle is at the end of a cut, θ <=
// rx/(1 - 2r) with the probability r of having been sampled.
double GreatestTurn(const Step& step) {
  if (!step.cut.exists()) return 1;
  const double end = step.cut.at + step.cut.width * std::log(kGreatestExponent);
  const double odds = step.q / (1 - step.q) * std::exp(step.mu * (end - step.mu / 2));
  const double r = 1.001 * odds / (1 + odds);
  return r < 0.25 ? r / (1 - 2 * r) : 1;
}

// At height a the integrand with exponent power + iy', |y'| <= y, is at most e^{a²/2} e^{yμa}
// cos(μa/2)^{min(0, power)} times its value on the real line (the cosine only where the power is
// negative). The trapezoid's relative error is twice that over e^{2πa/h} - 1 (Trefethen, Weideman
// 2014, thm. 5.1).
//
// The largest step whose error is e^{-digits}, over a few heights of at most `limit`. `shift` is a
// height already taken up. Rounded down to 24 bits, so that its multiples are exact.
double StepSize(const Step& step, double power, double y, double digits, double limit,
                double shift) {
  const double highest = std::fmin(limit, std::sqrt(2 * digits) + 1), turn = GreatestTurn(step);
  double best = 0;
  for (const double share : {1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04}) {
    const double a = share * highest;
    const double cosine = power < 0 ? power * std::log(std::cos(step.mu * (a + shift) / 2)) : 0;
    best = std::fmax(best,
                     2 * kPi * a / (digits + 0.75 + a * a / 2 + y * step.mu * a * turn + cosine));
  }
  int exponent = 0;
  const double mantissa = std::frexp(best, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, 24)), exponent - 24);
}

// From `low` to `high`. The part left out is at most 3e^{-margin²/2} of A: past the ends the
// log-integrand falls with a slope that starts at `margin` and grows (CLAIM.md, line "ends").
Rule RuleOver(const Step& step, double power, double h, double margin, double k = 1) {
  const double low = power >= 0 ? -margin : power * step.mu * step.q - margin;
  const double high = std::fmin(std::fmax(power, k) * step.mu + margin, step.cut.at);
  Rule rule{std::floor(low / h), h, 0, 3 * std::exp(-margin * margin / 2)};
  const double size = std::ceil(high / h) - rule.first + 1;
  if (size > 0 && size < kGreatestNodes) rule.size = static_cast<size_t>(size);
  return rule;
}

double MarginFor(double digits) { return std::sqrt(2 * (digits + 0.75)); }

}  // namespace

// 1 - N <= min(1, e^{(t - at)/w}),
// which only grows as `at` falls and w grows: so far, that exponents are below 2e5, and their
// roundings below 1e-10.
double LogCutUp(const Cut& cut, double mean) {
  constexpr double kFarthest = 300;
  const double away = std::fmin(cut.at, kFarthest) - mean,
               slope = std::fmin(1 / cut.width, kFarthest);
  const double below = slope * (slope / 2 - away) + LogNormalTail(slope - away);
  const double above = LogNormalTail(away);
  return std::fmax(below, above) + std::log1p(std::exp(-std::fabs(below - above))) + 1e-9;
}

// Over small cells, each factor at its greatest: below the cut 1 - N <= e^{(t - at)/width}; above
// it the root of N, as N^{cos} at heights up to the width.
double CutError(const Step& step, double power) {
  if (!step.cut.exists()) return 0;
  constexpr double kFarthest = 45, kNone = 750;  // e^-kNone of A is none
  const auto [at, width] = step.cut;
  const double mu = step.mu, cell = width / 4;
  const double end = at + width * std::log(kGreatestExponent);
  const double rest = NormalTail(at) + step.q * NormalTail(at - mu);
  // Past the end the logarithm falls by more than 1 for each unit of t.
  if (!(kGreatestExponent / (2 * width) > power * mu + 1)) return kInfinity;
  double error = NormalTail(kFarthest) + std::exp(-kNone) + rest;
  for (double t = std::fmax(-kFarthest, at - kNone * width); t < end + cell; t += cell) {
    const double next = t + cell, near = std::fmax(0, std::fmax(t, -next));
    const double v = mu * (power > 0 ? next : t) - mu * mu / 2;
    const double loss = v > 600 ? v : std::log1p(step.q * std::expm1(v));
    const double cut = next <= at ? (next - at) / width : -0.5 * std::exp((t - at) / width);
    error += std::exp(std::fmax(0, power * loss) - near * near / 2 + std::fmin(0, cut)) *
             (cell + (t >= end));
  }
  return error * (1 + 1e-6);
}

Rule RuleFor(const Step& step, double power, double greatest_y, double digits) {
  const double strip = 0.98 * kPi / step.mu;
  const bool cut = step.cut.exists();
  const double h = StepSize(step, power, greatest_y, digits + (cut ? 1 : 0),
                            cut ? std::fmin(strip, step.cut.width) : strip, 0);
  Rule rule = RuleOver(step, power, h, MarginFor(digits));
  rule.error += std::exp(-digits);
  return rule;
}

Rule RuleOfStep(const Step& step, double power, double greatest_y, double digits) {
  return RuleFor(step, power, greatest_y,
                 digits + (IsFine(step) ? std::log(3 + std::fabs(power)) : 0));
}

Rule RuleForEnvelope(const Step& step, double power, double eta, double digits) {
  const double strip = std::fmin(0.98 * kPi / step.mu - eta, 0.5 * kPi / step.mu);
  const double h = StepSize(step, power, 0, digits, strip, eta);
  Rule rule = RuleOver(step, power, h, MarginFor(digits));
  // Outside the range |1+u(t+iη)|^power may add this, if it can exceed (1+u)^power.
  if (power < 0) rule.error *= std::exp(power * std::log(std::cos(step.mu * eta / 2)));
  rule.error += 2 * std::exp(-digits);
  return rule;
}

Rule RuleForSampled(const Step& step, double power, double k, double eta, double digits) {
  const double strip = std::fmin(0.98 * kPi / step.mu - eta, 0.5 * kPi / step.mu);
  const double h = StepSize(step, power - k, 0, digits, strip, eta);
  Rule rule = RuleOver(step, power, h, MarginFor(digits), k);
  if (power < k) rule.error *= std::exp((power - k) * std::log(std::cos(step.mu * eta / 2)));
  rule.error += 2 * std::exp(-digits);
  return rule;
}

Nodes NodesOf(const Step& step, const Rule& rule, const double* loss) {
  return {step.q, step.mu, rule.first, rule.step, rule.size, loss};
}

double SpreadError(const Step& step, double power) {
  return 1.01 * step.spread * step.mu * step.mu * std::fabs(power * (power - 1));
}

Tilt TiltUnsampled(const Step& step, double power) {
  const double square = step.mu * step.mu;
  const double log_mgf = power * (power - 1) / 2 * square;
  return {log_mgf, 8 * kUnitRoundoff * std::fabs(log_mgf) + SpreadError(step, power),
          (step.add ? 0.5 - power : power - 0.5) * square, square};
}

namespace {

// Puts log A, computed from A - 1, and its error in place of what was computed from A, where A is
// near one and the error is less.
void PutFromNearOne(const Rule& rule, const Nodes& nodes, double power, double& log_mgf,
                    double& log_mgf_error) {
  if (!(std::fabs(log_mgf) < 0.4)) return;
  const NearOne near_one = SumNearOne(nodes, power);
  const double factor = rule.step * std::exp(-kLogSqrtTwoPi), excess = near_one.sum * factor;
  const double by_sums = kUnitRoundoff * (16 + static_cast<double>(Padded(nodes.size)) / 8);
  // The rule's error is of A < 1.5, of 1, and of the mean of u, which stands for 0.
  const double error = 1.01 * near_one.error * factor +
                       by_sums * (near_one.error * 0x1p49) * factor +
                       rule.error * (2.5 + std::fabs(power));
  if (!(std::fabs(excess) < 0.5 && 2.1 * error < log_mgf_error)) return;
  log_mgf = std::log1p(excess);
  log_mgf_error = 2.1 * error + 4 * kUnitRoundoff * std::fabs(log_mgf);
}

// The mean square of the probability of having been sampled, given the exponents of SumMoments: at
// most one, and right to the 1.01 of SpreadError.
double SampledSquare(const Nodes& nodes, const Moments& sums, const double* exponents) {
  double square = 0;
  for (size_t i = 0; i < nodes.size; ++i) {
    const double t = (nodes.first + static_cast<double>(i)) * nodes.step;
    const double r = nodes.q * std::exp(nodes.mu * (t - nodes.mu / 2) - nodes.loss[i]);
    square += r * r * std::exp(exponents[i] - sums.greatest);
  }
  return square / sums.weight;
}

}  // namespace

Tilt TiltAt(const Step& step, Rule rule, const double* loss, double power, double* scratch) {
  rule.error += CutError(step, power);
  const Nodes nodes = NodesOf(step, rule, loss);
  const Moments sums = SumMoments(nodes, power, scratch);
  Tilt tilt;
  tilt.mean = sums.loss / sums.weight;
  const double square = sums.square / sums.weight, time_square = sums.time_square / sums.weight;
  tilt.variance = std::fmax(0, square - tilt.mean * tilt.mean);
  tilt.log_mgf = sums.greatest + std::log(sums.weight * rule.step) - kLogSqrtTwoPi;
  // The relative error of a weight, as in SumWeights, in the mean: t² by its mean, |l| by the root
  // of that of its square, the posterior by 1.
  const double size = std::fabs(power);
  const double by_weights =
      8 + 2 * std::fabs(sums.greatest) + 2 * time_square + 16 * size * std::sqrt(square) +
      10 * size * step.mu * (std::sqrt(time_square) + step.mu) + static_cast<double>(rule.size) / 8;
  tilt.error = 1.1 * (rule.error + kUnitRoundoff * (16 + by_weights)) +
               4 * kUnitRoundoff * std::fabs(tilt.log_mgf);
  double spread = SpreadError(step, power);
  if (IsFine(step)) {
    PutFromNearOne(rule, nodes, power, tilt.log_mgf, tilt.error);
    if (spread > 0) spread *= SampledSquare(nodes, sums, scratch);
  }
  tilt.error += spread;
  if (step.add) tilt.mean = -tilt.mean;
  return tilt;
}

namespace {

// |z(z+1)| + |c(c+1)| at most, z = c + iy.
double GreatestPowers(double c, double y) {
  const double size = std::fabs(c) + 1 + y;
  return size * size + std::fabs(c * (c + 1));
}

void PutUnsampled(const Step& step, double c, double spacing, size_t nodes, StepOnLine& result) {
  const double square = step.mu * step.mu;
  const Tilt tilt = TiltUnsampled(step, Power(step, c));
  result.log_mgf = tilt.log_mgf;
  result.log_mgf_error = tilt.error;
  for (size_t k = 0; k < nodes; ++k) {
    const double y = spacing * static_cast<double>(k + 1);
    result.log_modulus[k] = -0.5 * y * y * square;
    result.phase[k] = y * (c + 0.5) * square;
    result.error[k] = 8 * kUnitRoundoff * (std::fabs(result.phase[k]) - result.log_modulus[k]) +
                      1.01 * step.spread * square * GreatestPowers(c, y);
  }
}

// K(c), from A - 1 where A is near one and else from A: whichever has the smaller bound.
void PutLevel(const Step& step, double c, const Rule& rule, const Nodes& nodes,
              const Weighted& sums, StepOnLine& result) {
  const double power = Power(step, c), padded = static_cast<double>(Padded(nodes.size));
  const double by_sums = kUnitRoundoff * (16 + padded / 8);
  result.log_mgf = sums.greatest + std::log(sums.weight * rule.step) - kLogSqrtTwoPi;
  result.log_mgf_error = 1.1 * (rule.error + sums.weight_error + by_sums) +
                         kUnitRoundoff * 8 * (std::fabs(sums.greatest) + std::fabs(result.log_mgf));
  PutFromNearOne(rule, nodes, power, result.log_mgf, result.log_mgf_error);
  result.log_mgf_error +=
      1.01 * step.spread * step.mu * step.mu * std::fabs(c * (c + 1)) * sums.posterior;
}

}  // namespace

bool PutOnLine(const Step& step, double c, double spacing, size_t nodes, double digits,
               double& work, StepOnLine& result) {
  result.log_modulus.resize(nodes);
  result.phase.resize(nodes);
  result.error.resize(nodes);
  if (step.pair != nullptr) return step.pair->PutOnLine(c, spacing, nodes, work, result);
  if (step.q == 1) {
    PutUnsampled(step, c, spacing, nodes, result);
    return true;
  }
  const double power = Power(step, c), greatest_y = spacing * static_cast<double>(nodes);
  Rule rule = RuleOfStep(step, power, greatest_y, digits);
  rule.error += CutError(step, power);
  work -= static_cast<double>(rule.size * nodes);
  if (rule.size == 0 || work < 0) return false;
  const size_t padded = Padded(rule.size);
  std::vector<double> buffer(2 * padded);
  double* const loss = buffer.data();
  double* const weights = loss + padded;
  FillLoss(NodesOf(step, rule, nullptr), loss);
  const Nodes on_rule = NodesOf(step, rule, loss);
  if (!(greatest_y * std::fmax(std::fabs(loss[0]), std::fabs(loss[padded - 1])) < kGreatestTurn))
    return false;
  const Weighted sums = SumWeights(on_rule, power, weights);
  PutLevel(step, c, rule, on_rule, sums, result);
  if (!std::isfinite(result.log_mgf_error)) return false;

  // ψ - 1 = Σ w(e^{iyl} - 1)/Σ w, in place of log_modulus and phase.
  double* const re = result.log_modulus.data();
  double* const im = result.phase.data();
  SumTurned(on_rule, weights, spacing, 1, nodes, re, im);
  const double inverse = 1 / sums.weight, sign = step.add ? -1 : 1;
  const double turn = kUnitRoundoff * (kTurnError + 16 + static_cast<double>(padded) / 4);
  // Per unit of y: the turning, the weights (of the terms and of their sum), the losses.
  const double slope = 1.1 * (turn * sums.size + sums.moment_error + sums.size * sums.weight_error +
                              sums.loss_error);
  const double spread = 1.01 * step.spread * step.mu * step.mu * sums.posterior;
  std::vector<double> excess(nodes), one_more(nodes);
  for (size_t k = 0; k < nodes; ++k) {
    re[k] *= inverse;
    im[k] *= inverse * sign;
    excess[k] = re[k] * (2 + re[k]) + im[k] * im[k];  // |ψ|² - 1
    one_more[k] = 1 + re[k];
    const double y = spacing * static_cast<double>(k + 1);
    const double modulus = std::sqrt(std::fmax(0, 1 + excess[k]));
    const double absolute = y * slope + 2.2 * rule.error + spread * GreatestPowers(c, y);
    if (!(modulus > 2 * absolute)) return false;
    // The last: log1p and atan2 of rounded arguments.
    result.error[k] = 1.1 * absolute / (modulus - absolute) +
                      32 * kUnitRoundoff * y * sums.size / (modulus * modulus);
  }
  Atan2(result.phase, one_more, result.phase);
  Log1P(excess, result.log_modulus);
  for (double& x : result.log_modulus) x *= 0.5;
  return true;
}

}  // namespace dpledger::accountant::contour
