#include "tests/twin/profile.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/twin/estimates.h"

namespace dpledger::twin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

Cut BelowOf(const Cut& cut) { return {-kInfinity, cut.low, cut.width}; }

double EstimatedLogMoment(const Window& window, double c) {
  double below = 0, ratio = 0, whole = 0;
  for (size_t i = 0; i < window.kinds.size(); ++i) {
    const Kind& kind = window.kinds[i];
    const double shell = EstimatedMoment(kind, window.cuts[i], kind.Power(c));
    if (window.has_low()) {
      const double under = EstimatedMoment(kind, BelowOf(window.cuts[i]), kind.Power(c));
      below += kind.count * under;
      ratio += kind.count * std::log1p(std::exp(shell - under));
    } else {
      whole += kind.count * shell;
    }
  }
  if (!window.has_low()) return whole;
  return below + (ratio > 30 ? ratio : std::log(std::expm1(ratio)));
}

double LogChernoff(double r) { return r > 0 ? r * std::log(r) - (1 + r) * std::log1p(r) : 0; }

// Few bits, so that c + 1 is exact.
double Rounded(double c) {
  return std::ldexp(std::round(std::ldexp(c, 20 - std::ilogb(c))), std::ilogb(c) - 20);
}

// sup over losses of (1 - e^{ε-L})_+ e^{-r(L-ε)}: δ(ε) <= that times E[e^{rL}] e^{-rε}.
Ball Chernoff(double r) {
  if (r == 0) return 1.0;
  const Ball at = r;
  return Exp(at * Log(at) - (at + 1.0) * Log(at + 1.0));
}

double GreatestOrder(const Window& window) {
  double greatest = 1e6;
  for (size_t i = 0; i < window.kinds.size(); ++i) {
    if (!window.cuts[i].has_high() && !window.kinds[i].add)
      greatest = std::fmin(greatest, 2000 / window.kinds[i].mu.Middle());
    if (window.kinds[i].add) greatest = std::fmin(greatest, 1e5);
  }
  return greatest;
}

// A window's transform on a line: Π H^T - Π B^T, H = W + B, or Π W^T where nothing is below.
Complex Composed(const Window& window, const std::vector<Complex>& shell,
                 const std::vector<Complex>& below) {
  if (!window.has_low()) {
    Complex product(1.0, 0.0), power;
    for (size_t i = 0; i < window.kinds.size(); ++i) {
      acb_pow_ui(power.get(), shell[i].get(), static_cast<ulong>(window.kinds[i].count), bits);
      product = product * power;
    }
    return product;
  }
  // The difference in one formula: each B stands in it once as a factor, so that its radius counts
  // relatively. Where that is lost, the modulus is at most Σ T |W| / M Π M^T, M >= |H|, |B|.
  Complex log_below, log_ratio;
  Ball greatest(1.0), share(0.0);
  for (size_t i = 0; i < window.kinds.size(); ++i) {
    const Ball count = window.kinds[i].count;
    const Complex times(count, 0.0);
    log_below = log_below + times * Log(below[i]);
    log_ratio = log_ratio + times * Log1P(shell[i] / below[i]);
    const Ball most = (Modulus(shell[i]) + Modulus(below[i])).Greatest();
    const Ball modulus = Max(Modulus(shell[i] + below[i]), Modulus(below[i])).Greatest();
    greatest = greatest * Power(Min(most, modulus), count);
    share = share + count * Modulus(shell[i]) / Min(most, modulus);
  }
  const Complex closely = Exp(log_below) * ExpM1(log_ratio);
  const Complex roughly = Complex(0.0, 0.0).Widened((greatest * share).Greatest());
  const auto width = [](const Complex& z) {
    return std::fmax(mag_get_d_log2_approx(arb_radref(acb_realref(z.get()))),
                     mag_get_d_log2_approx(arb_radref(acb_imagref(z.get()))));
  };
  return acb_is_finite(closely.get()) && width(closely) < width(roughly) ? closely : roughly;
}

// E[e^{cL}] of a window, c >= 0; nullopt where that takes too many nodes.
std::optional<Ball> WindowMoment(const Window& window, double c) {
  std::vector<Complex> shell, below;
  for (size_t i = 0; i < window.kinds.size(); ++i) {
    const Kind& kind = window.kinds[i];
    const double power = kind.Power(c), wanted = 40 + std::log(kind.count);
    for (const bool under : {false, true}) {
      if (under && !window.has_low()) continue;
      const Cut cut = under ? BelowOf(window.cuts[i]) : window.cuts[i];
      const Transform transform(kind, cut, power, 0, wanted - EstimatedMoment(kind, cut, power));
      if (!transform.ok()) return std::nullopt;
      (under ? below : shell).emplace_back(transform.AtZero(), 0.0);
    }
  }
  return Composed(window, shell, below).Re();
}

}  // namespace

std::optional<Part> Part::Lay(const Window& window, double epsilon, double log_goal,
                              double& products) {
  const size_t kinds = window.kinds.size();
  const double greatest = GreatestOrder(window);
  const auto log_moment = [&](double c) { return EstimatedLogMoment(window, c); };
  Part part;
  part.c_ = Rounded(
      Minimum([&](double c) { return log_moment(c) - c * epsilon - std::log(c) - std::log1p(c); },
              1e-4, greatest));
  const double c = part.c_, here = log_moment(c);
  if (!std::isfinite(here)) return std::nullopt;

  // The period: the least at which Chernoff's bounds make the aliases small enough.
  double period_up = kInfinity, period_down = kInfinity;
  for (double tau = c / 64; tau < 300 * (c + 1) && c + tau < greatest * 1.5; tau *= 1.4) {
    const double r = c + tau;
    const double period = (log_moment(r) - r * epsilon + LogChernoff(r) - log_goal + 1) / tau;
    if (period < period_up && period > 0) period_up = period, part.up_ = Rounded(tau);
  }
  for (double tau = c / 64; tau < c; tau = std::fmin(c, tau * 1.4)) {
    const double r = c - tau;
    const double period = (log_moment(r) - r * epsilon + LogChernoff(r) - log_goal + 1) / tau;
    if (period < period_down && period > 0) period_down = period, part.down_ = tau;
  }
  const double mass_only = (log_moment(1e-9) - log_goal + 1) / c;
  if (mass_only > 0 && mass_only < period_down) period_down = mass_only, part.down_ = c;
  if (part.down_ < c) part.down_ = c - Rounded(c - part.down_);
  const double period = 1.05 * std::fmax(period_up, period_down);
  if (!std::isfinite(period)) return std::nullopt;
  part.spacing_ = 2 * kPi / period;

  std::vector<double> log_whole;  // of H at c
  for (size_t i = 0; i < kinds; ++i) {
    const Kind& kind = window.kinds[i];
    const double shell = EstimatedMoment(kind, window.cuts[i], kind.Power(c));
    double whole = shell;
    if (window.has_low()) {
      const double under = EstimatedMoment(kind, BelowOf(window.cuts[i]), kind.Power(c));
      whole = under + std::log1p(std::exp(shell - under));
    }
    log_whole.push_back(whole);
  }
  const auto short_enough = [&](double log_past, double end) {
    return log_past - std::log(kPi * end) - c * epsilon < log_goal;
  };
  Ball log_past;
  double end = part.spacing_ * 4;
  // A transform takes a hundred nodes at least.
  const auto reachable = [&] { return end / part.spacing_ < products / 100; };
  if (window.has_low()) {
    // |Π H^T - Π B^T| <= Π H(c)^T Σ T |W|/H(c). The estimates of H are looked at below.
    std::vector<std::unique_ptr<Strips>> strips;
    double log_all = 0.1;
    for (size_t i = 0; i < kinds; ++i) {
      const Kind& kind = window.kinds[i];
      strips.push_back(std::make_unique<Strips>(
          kind, window.cuts[i], kind.Power(c),
          60 + std::log(kind.count) - EstimatedMoment(kind, window.cuts[i], kind.Power(c))));
      log_all += kind.count * log_whole[i];
    }
    for (; reachable(); end *= 1.25) {
      log_past = 0.0;
      for (size_t i = 0; i < kinds; ++i) {
        log_past =
            log_past + Exp(Ball(strips[i]->LogLeast(-end)) - log_whole[i]) * window.kinds[i].count;
      }
      log_past = Log(log_past) + log_all;
      if (short_enough(Upper(log_past), end)) break;
    }
  } else {
    // Where it is short enough by estimate, first by doubling, then by halves.
    std::vector<double> heights(kinds);
    const auto estimated = [&](double at) {
      double estimate = 0;
      for (size_t i = 0; i < kinds; ++i) {
        const double envelope = EstimatedEnvelope(window.kinds[i], window.cuts[i],
                                                  window.kinds[i].Power(c), at, heights[i]);
        estimate += window.kinds[i].count * std::fmin(log_whole[i], envelope);
      }
      return short_enough(estimate + 0.01, at);
    };
    while (reachable() && !estimated(end)) end *= 2;
    double low = end / 2;
    for (int i = 0; i < 5 && reachable(); ++i) {
      const double middle = (low + end) / 2;
      (estimated(middle) ? end : low) = middle;
    }
    for (; reachable(); end *= 1.1) {
      estimated(end);
      log_past = 0.0;
      for (size_t i = 0; i < kinds; ++i) {
        const Kind& kind = window.kinds[i];
        log_past = log_past + Ball(kind.count) * Log(Envelope(kind, window.cuts[i], kind.Power(c),
                                                              end, heights[i]));
      }
      if (short_enough(Upper(log_past), end)) break;
    }
  }
  if (!reachable()) return std::nullopt;
  const size_t nodes = static_cast<size_t>(std::ceil(end / part.spacing_)) + 1;
  part.end_ = Exp(log_past) / (Pi() * end);

  // The transform at the nodes.
  std::vector<std::vector<Complex>> shells, belows;
  for (size_t i = 0; i < kinds; ++i) {
    const Kind& kind = window.kinds[i];
    const double last = part.spacing_ * static_cast<double>(nodes);
    for (const bool under : {false, true}) {
      if (under && !window.has_low()) continue;
      const Cut cut = under ? BelowOf(window.cuts[i]) : window.cuts[i];
      // A relative error of the transform at y = 0, of which `here` is made, as small as the goal.
      const double digits = std::fmax(20, here - c * epsilon - log_goal + 3) +
                            std::log(kind.count) - EstimatedMoment(kind, cut, kind.Power(c));
      const Transform transform(kind, cut, kind.Power(c), last, digits);
      if (!transform.ok()) return std::nullopt;
      products -= static_cast<double>(transform.nodes()) * static_cast<double>(nodes);
      if (products < 0) return std::nullopt;
      (under ? belows : shells).push_back(transform.OnLine(part.spacing_, nodes));
    }
  }
  for (size_t k = 0; k < nodes; ++k) {
    std::vector<Complex> shell, below;
    for (size_t i = 0; i < kinds; ++i) {
      shell.push_back(shells[i][k]);
      if (window.has_low()) below.push_back(belows[i][k]);
    }
    const Complex z(c, Ball(part.spacing_) * static_cast<double>(k));
    Complex value = Composed(window, shell, below);
    if (k == 0 && window.has_low()) {
      for (size_t i = 0; i < kinds; ++i) {
        const Ball off = (Log((shell[i] + below[i]).Re()) - log_whole[i]) * window.kinds[i].count;
        const double room = 0.04 / static_cast<double>(kinds);
        if (!(Lower(off) > -room && Upper(off) < room)) return std::nullopt;
      }
    }
    part.values_.push_back(value / (z * (z + Complex(1.0, 0.0))));
  }
  const std::optional<Ball> up = WindowMoment(window, c + part.up_);
  const std::optional<Ball> down = WindowMoment(window, c - part.down_);
  if (!up.has_value() || !down.has_value()) return std::nullopt;
  part.log_up_ = Log(up->Greatest());
  part.log_down_ = Log(down->Greatest());
  return part;
}

Ball Part::At(const Ball& epsilon) const {
  const Ball step = Ball(spacing_) * epsilon;
  Ball sum = values_[0].Re() / 2.0;
  for (size_t k = 1; k < values_.size(); ++k) {
    const Ball angle = step * static_cast<double>(k);
    sum = sum + values_[k].Re() * Cos(angle) + values_[k].Im() * Sin(angle);
  }
  const Ball scale = Exp(-(Ball(c_) * epsilon));
  sum = sum * scale * spacing_ / Pi();
  sum = sum.Widened(end_ * scale);
  // Σ over m of e^{-|r - c| m D} of Chernoff's bound at r.
  const Ball period = 2.0 * Pi() / spacing_;
  const auto aliases = [&](double r, const Ball& log_moment) {
    const Ball share = Exp(-(Ball(std::fabs(r - c_)) * period));
    return Exp(log_moment - Ball(r) * epsilon) * Chernoff(r) * share / (Ball(1.0) - share);
  };
  const Ball all = aliases(c_ + up_, log_up_) + aliases(c_ - down_, log_down_);
  // Somewhere between nothing and all of them is to be taken away.
  const Ball half = all.Greatest() / 2.0;
  return (sum - half).Widened(half);
}

std::optional<Profile> Profile::Lay(const std::vector<Kind>& kinds, double epsilon,
                                    double log_delta, const Effort& effort) {
  Profile profile;
  double products = effort.most_products;
  const Window whole{kinds, std::vector<Cut>(kinds.size())};
  {
    double few = products / 10;
    std::optional<Part> part = Part::Lay(whole, epsilon, log_delta + effort.log_share_of_one, few);
    if (part.has_value()) {
      profile.parts_.push_back(*std::move(part));
      return profile;
    }
  }
  if (effort.one_line) return std::nullopt;
  const double log_goal = log_delta + effort.log_share;
  // A loss above which nothing matters.
  const bool add = kinds[0].add;
  const auto place = [](const Kind& kind, double loss) {
    return std::log1p(std::expm1(loss) / kind.q.Middle()) / kind.mu.Middle() + kind.mu.Middle() / 2;
  };
  const auto width_at = [](const Kind& kind, double at) {
    return std::fmin(std::fmin(0.25 / kind.mu.Middle(), 0.6), 1 / std::fmax(1, at));
  };
  std::vector<double> widths;
  double high = kInfinity;
  if (!add) {
    double low = -40, top = std::log(600.0);
    Ball mass;
    const auto mass_above = [&](double loss) {
      mass = 0.0;
      widths.clear();
      for (const Kind& kind : kinds) {
        const double at = place(kind, loss);
        widths.push_back(width_at(kind, at));
        mass = mass + Ball(kind.count) * MassAbove(kind, at, widths.back());
      }
      return Upper(Log(mass));
    };
    for (int i = 0; i < 24; ++i) {
      const double middle = (low + top) / 2;
      (mass_above(std::exp(middle)) > log_goal ? low : top) = middle;
    }
    high = std::exp(top);
    if (!(mass_above(high) <= log_goal)) return std::nullopt;
    profile.top_ = mass.Greatest();
  } else {
    for (const Kind& kind : kinds) widths.push_back(width_at(kind, 0));
  }
  const auto window = [&](double from, double to) {
    Window result{kinds, {}};
    for (size_t i = 0; i < kinds.size(); ++i) {
      result.cuts.push_back({from > 0 ? place(kinds[i], from) : -kInfinity,
                             to < kInfinity ? place(kinds[i], to) : kInfinity, widths[i]});
    }
    return result;
  };
  for (int rung = 0; rung < 40; ++rung) {
    const double low = high < kInfinity ? high / 3 : 0.5;
    const Window near = window(0, high);
    if (high < kInfinity || rung > 0) {
      // The least order at which Chernoff's bound is small enough takes the fewest nodes.
      for (double c = 1; c < 3e5; c *= 2) {
        if (EstimatedLogMoment(near, c) - c * epsilon + LogChernoff(c) > log_goal) continue;
        const std::optional<Ball> moment = WindowMoment(near, c);
        if (!moment.has_value()) break;
        profile.neglected_ = {c, *moment};
        return profile;
      }
    }
    double few = std::fmin(products, effort.most_products / 10);
    std::optional<Part> rest = Part::Lay(near, epsilon, log_goal, few);
    if (rest.has_value()) {
      profile.parts_.push_back(*std::move(rest));
      return profile;
    }
    std::optional<Part> shell = Part::Lay(window(low, high), epsilon, log_goal, products);
    if (!shell.has_value()) return std::nullopt;
    profile.parts_.push_back(*std::move(shell));
    high = low;
  }
  return std::nullopt;
}

Ball Profile::DeltaAt(const Ball& epsilon) const {
  // top, and what is neglected, are between 0 and their bounds.
  Ball above = top_;
  if (neglected_.has_value()) {
    const auto& [order, moment] = *neglected_;
    above = above + moment * Exp(-(Ball(order) * epsilon)) * Chernoff(order);
  }
  const Ball half = above.Greatest() / 2.0;
  Ball delta = half.Widened(half);
  for (const Part& part : parts_) delta = delta + part.At(epsilon);
  return delta;
}

Ball DeltaUpByChernoff(const std::vector<Kind>& kinds, const Ball& epsilon) {
  const Window whole{kinds, std::vector<Cut>(kinds.size())};
  const double c = Rounded(Minimum(
      [&](double r) {
        return EstimatedLogMoment(whole, r) - r * epsilon.Middle() + LogChernoff(r);
      },
      1e-4, GreatestOrder(whole)));
  const std::optional<Ball> moment = WindowMoment(whole, c);
  if (!moment.has_value()) return 1.0;
  return Min(1.0, *moment * Exp(-(Ball(c) * epsilon)) * Chernoff(c)).Greatest();
}

Ball DeltaOfOneStep(const Ball& q, const Ball& mu, bool add, const Ball& epsilon) {
  // The outcomes whose loss exceeds ε are a half line, beyond t.
  const Ball sign = add ? -1.0 : 1.0;
  const Ball ratio = ExpM1(sign * epsilon) / q;
  if (add && !CertainlyLess(-1.0, ratio)) return Ball(0.0);
  const Ball t = Log1P(ratio) / mu + mu / 2.0;
  const Ball null = NormalTail(sign * t), shifted = NormalTail(sign * (t - mu));
  const Ball in = (Ball(1.0) - q) * null + q * shifted;
  return add ? null - Exp(epsilon) * in : in - Exp(epsilon) * null;
}

}  // namespace dpledger::twin
