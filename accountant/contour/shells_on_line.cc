#include "accountant/contour/shells_on_line.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

using Complex = std::complex<double>;
constexpr double kUnit = kUnitRoundoff;
constexpr double kGreatestWork = 2e8;  // nodes on the line times nodes in t: a tenth of a second
constexpr double kOfProduct = 0.5;     // nanoseconds
constexpr double kGreatestTurn = 1e6;  // radians for which SinCos is exact

// log(1 + z), near z = 0 too.
Complex Log1PComplex(Complex z) {
  const double x = z.real(), y = z.imag();
  return {0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}

// (e^s - 1) e^{-max(Re s, 0)}, near s = 0 too.
Complex ScaledExpM1(Complex s) {
  const double half = std::sin(s.imag() / 2), sine = std::sin(s.imag());
  const double x = s.real();
  if (x > 0) return {-2 * half * half - std::expm1(-x), sine};  // e^{iy} - e^{-x}
  return {std::expm1(x) * std::cos(s.imag()) - 2 * half * half, std::exp(x) * sine};
}

// The height and the step of the quadrature in t: the greatest step for which the bounds on its
// error, at all heights up to `end` of the line, are as small as wanted.
struct HeightAndStep {
  double height = 0, h = 0;
};
HeightAndStep StepFor(const Shell& shell, double power, double end, const CutSum& near_shell,
                      const CutSum& near_below, double digits) {
  HeightAndStep best;
  const double many = std::log(shell.step().count);
  ForHeights(shell.GreatestHeight(), [&](double eta) {
    double need = shell.LogIntegral(false, power, eta, end) - near_shell.log + digits;
    if (shell.has_below()) {
      const double below =
          shell.LogIntegral(true, power, eta, end) - near_below.log + digits + many;
      need = std::fmax(need, below);
    } else {
      need += many;
    }
    const double h = 2 * kPi * eta / (std::fmax(need, 3) + 0.75);
    if (h > best.h) best = {eta, h};
  });
  return best;
}

}  // namespace

absl::StatusOr<std::optional<ShellsOnLine>> ShellsOnLine::Put(Measure& measure, const SumsAt& near,
                                                              double c, double spacing,
                                                              size_t nodes, double digits,
                                                              const Limits& limits) {
  ShellsOnLine line;
  line.has_below_ = measure.has_below();
  line.spacing_ = spacing;
  const double end = spacing * static_cast<double>(nodes);
  double work = 0;
  for (size_t i = 0; i < measure.shells().size(); ++i) {
    Shell& shell = measure.shells()[i];
    const double count = shell.step().count, power = Power(shell.step(), c);
    const HeightAndStep rule = StepFor(shell, power, end, near.shell[i], near.below[i], digits);
    if (!(rule.h > 0) || !shell.Lay(rule.h)) return std::nullopt;
    const double own = static_cast<double>(shell.nodes() * nodes) * (line.has_below_ ? 2 : 1);
    work += own;
    const Nodes on_nodes = shell.OnNodes();
    const double greatest_loss =
        std::fmax(std::fabs(on_nodes.loss[0]), std::fabs(on_nodes.loss[shell.nodes() - 1]));
    if (!(work < kGreatestWork && end * greatest_loss < kGreatestTurn)) return std::nullopt;
    measure.work().left -= kOfProduct * own;
    if (measure.work().IsSpent()) return std::nullopt;
    const double turn = kUnit * (kTurnError + 16 + static_cast<double>(Padded(shell.nodes())) / 4);
    const auto put = [&](bool below, Ratios& ratios) -> absl::StatusOr<CutSum> {
      std::vector<double> weights;
      const CutSum sum = shell.At(below, power, rule.height, end, &weights);
      ratios.re.resize(nodes);
      ratios.im.resize(nodes);
      constexpr size_t kChunk = 1024;
      for (size_t k = 0; k < nodes; k += kChunk) {
        RETURN_IF_ERROR(limits.Check());
        SumTurned(on_nodes, weights.data(), spacing, 1 + k, std::min(kChunk, nodes - k),
                  ratios.re.data() + k, ratios.im.data() + k);
      }
      if (shell.step().add) {
        for (double& x : ratios.im) x = -x;
      }
      ratios.slope =
          1.1 * (turn * sum.size + sum.moment_error + sum.size * sum.weight_error + sum.loss_error);
      ratios.flat = 2.2 * (sum.quadrature + sum.tail);
      return sum;
    };
    OneStep step;
    step.count = count;
    ASSIGN_OR_RETURN(const CutSum w, put(false, step.shell));
    if (!(w.Error() < 0.08)) return std::nullopt;
    const CutSum* scale = &w;
    CutSum b;
    if (line.has_below_) {
      ASSIGN_OR_RETURN(b, put(true, step.below));
      // So is that of g below 0.1, and what products of errors add is within the factors 1.1 and
      // 1.2 here and in AddWithBelow (CLAIM.md).
      if (!(w.Error() + b.Error() < 0.08)) return std::nullopt;
      step.g = std::exp(w.log - b.log);
      step.g_error =
          1.2 * (w.Error() + b.Error()) + 8 * kUnit * (1 + std::fabs(w.log) + std::fabs(b.log));
      scale = &b;
    }
    line.ratio_ += count * std::log1p(step.g);
    line.log_scale_ += count * scale->log;
    line.mismatch_ += count * std::fabs(scale->log + std::log1p(step.g) - near.log_high[i]);
    line.level_error_ += count * scale->Error() * 1.1 + 4 * kUnit * std::fabs(line.log_scale_) +
                         4 * kUnit * count * std::fabs(scale->log);
    line.steps_.push_back(std::move(step));
  }
  // The scale is Π B^T e^{ratio} with ratio as this double is; with nothing below, Π W^T.
  line.level_error_ += 4 * kUnit * (std::fabs(line.log_scale_) + line.ratio_);
  if (!(line.level_error_ < 0.05)) return std::nullopt;
  return std::optional<ShellsOnLine>(std::move(line));
}

// The sum's own relative error; infinite where the sum is lost in it.
double ShellsOnLine::AddPower(const Ratios& ratios, double count, size_t k, Logs& logs) const {
  const Complex psi = ratios.At(k);
  const double lost = ratios.Error(k, spacing_), modulus = std::abs(1.0 + psi);
  if (!(modulus > 2 * lost)) return kInfinity;
  const Complex log = Log1PComplex(psi);
  const double relative = 1.1 * lost / (modulus - lost);
  const double rounding = 4 * kUnit * (std::abs(log) + std::abs(psi) / (modulus * modulus));
  logs.power += count * log;
  logs.power_error += count * (relative + rounding) + 4 * kUnit * std::abs(logs.power);
  return relative;
}

// False where a sum is lost in its error.
bool ShellsOnLine::AddWithBelow(const OneStep& step, size_t k, Logs& logs) const {
  const double relative = AddPower(step.below, step.count, k, logs);
  if (relative == kInfinity) return false;
  const Complex psi = step.below.At(k), psi_shell = step.shell.At(k);
  const double lost = step.below.Error(k, spacing_), modulus = std::abs(1.0 + psi);
  const double shell_lost = step.shell.Error(k, spacing_);
  // W/B, and T log(1 + W/B).
  const Complex g = step.g * (1.0 + psi_shell) / (1.0 + psi);
  const double g_lost = std::abs(g) * (step.g_error + relative + 16 * kUnit) +
                        1.1 * step.g * shell_lost / (modulus - lost);
  const double one_more = std::abs(1.0 + g);
  if (!(one_more > 2 * g_lost)) return false;
  const Complex log_g = Log1PComplex(g);
  const double log_rounding = 8 * kUnit * (std::abs(log_g) + std::abs(g) / (one_more * one_more));
  logs.s += step.count * log_g;
  logs.s_error += step.count * (1.1 * g_lost / (one_more - g_lost) + log_rounding) +
                  4 * kUnit * std::abs(logs.s);
  return true;
}

// Nothing, to within a bound on the modulus: Π |H|^T or, as at the line's end, Π H^T Σ T |W|/H.
Complex ShellsOnLine::Unresolved(size_t k, double& error) const {
  double log_product = 0, sum = 0;
  for (const OneStep& step : steps_) {
    const double modulus = std::abs(1.0 + step.shell.At(k)) + step.shell.Error(k, spacing_);
    log_product += step.count * std::fmin(0, std::log(modulus) + 1e-15);
    sum += step.count * modulus * step.g / (1 + step.g) * (1 + 4 * step.g_error);
  }
  error = (has_below_ ? sum : std::exp(log_product)) * (1 + 1e-6);
  return 0;
}

Complex ShellsOnLine::At(size_t k, double& error) const {
  Logs logs;
  for (const OneStep& step : steps_) {
    const bool resolved = has_below_ ? AddWithBelow(step, k, logs)
                                     : AddPower(step.shell, step.count, k, logs) < kInfinity;
    if (!resolved) return Unresolved(k, error);
  }
  if (!(logs.power_error < 1 && logs.s_error < 1)) return Unresolved(k, error);
  if (!has_below_) {
    const Complex value = std::exp(logs.power);
    error = std::abs(value) * std::expm1(logs.power_error + 8 * kUnit * (1 + std::abs(logs.power)));
    return value;
  }
  // Π B^T (e^s - 1), over the scale.
  const double lift = std::fmax(logs.s.real(), 0);
  const Complex base = std::exp(logs.power - ratio_ + lift);
  const Complex value = base * ScaledExpM1(logs.s);
  const double roundings = 16 * kUnit * (1 + std::abs(logs.power) + ratio_ + lift);
  error = std::abs(value) * (std::expm1(logs.power_error) + roundings) +
          std::abs(base) *
              (1.01 * std::exp(logs.power_error + logs.s.real() - lift) * std::expm1(logs.s_error) +
               16 * kUnit * std::abs(logs.s));
  return value;
}

}  // namespace dpledger::accountant::contour
