#include "accountant/contour/kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/rounding.h"

// A sum is eight lanes in an array of vectors: vectors of no fixed size cannot be in one.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accountant/contour/kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "accountant/numeric/vector_math-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::accountant::HWY_NAMESPACE {
namespace {

using contour::kLanes;
using contour::Moments;
using contour::NearOne;
using contour::Nodes;
using contour::Padded;
using contour::Weighted;

using D = hn::CappedTag<double, kLanes>;
using V = hn::Vec<D>;
constexpr size_t kWidth = hn::MaxLanes(D());
constexpr size_t kParts = kLanes / kWidth;
// Past this e^v is taken out of the logarithm.
constexpr double kLargeLoss = 40;
// No weight at all, as an exponent.
constexpr double kNothing = -1e300;

// A sum in eight lanes.
class Sum {
 public:
  HWY_INLINE Sum() {
    for (size_t p = 0; p < kParts; ++p) parts_[p] = hn::Zero(D());
  }
  HWY_INLINE void Add(size_t part, V x) { parts_[part] = hn::Add(parts_[part], x); }
  HWY_INLINE double Total() const {
    HWY_ALIGN double lane[kLanes];
    for (size_t p = 0; p < kParts; ++p) hn::Store(parts_[p], D(), lane + p * kWidth);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }

 private:
  V parts_[kParts];
};

HWY_INLINE V Constant(double x) { return hn::Set(D(), x); }

// Calls body(i, part, index, t) for each vector of nodes, padding included.
template <typename Body>
HWY_INLINE void ForNodes(const Nodes& nodes, Body body) {
  const D d;
  V index = hn::Iota(d, 0);
  for (size_t i = 0; i < nodes.size; i += kLanes) {
    for (size_t part = 0; part < kParts; ++part) {
      const V t = hn::Mul(hn::Add(index, Constant(nodes.first)), Constant(nodes.step));
      body(i + part * kWidth, part, index, t);
      index = hn::Add(index, Constant(static_cast<double>(kWidth)));
    }
  }
}

// μt - μ²/2, the loss of the unsampled step.
HWY_INLINE V BaseLoss(const Nodes& nodes, V t) {
  return hn::Sub(hn::Mul(Constant(nodes.mu), t), Constant(nodes.mu * nodes.mu / 2));
}

HWY_INLINE V HalfSquare(V t) { return hn::Mul(Constant(0.5), hn::Mul(t, t)); }

// `exponent`, or no weight for padding.
HWY_INLINE V Inside(const Nodes& nodes, V index, V exponent) {
  return hn::IfThenElse(hn::Lt(index, Constant(static_cast<double>(nodes.size))), exponent,
                        Constant(kNothing));
}

// From this v on e^v is taken out of the logarithm: q e^v is more than e there.
double LargeLoss(double q) { return std::fmax(kLargeLoss, 1 - std::log(q)); }
bool ReachesLargeLoss(const Nodes& nodes) {
  const double last = (nodes.first + static_cast<double>(Padded(nodes.size))) * nodes.step;
  return nodes.mu * last - nodes.mu * nodes.mu / 2 > LargeLoss(nodes.q);
}

void LossArray(const Nodes& nodes, double* loss) {
  const double q = nodes.q;
  const double large = LargeLoss(q), log_q = std::log(q);
  const bool reaches_large = ReachesLargeLoss(nodes);
  ForNodes(nodes, [&](size_t i, size_t, V, V t) HWY_ATTR {
    const D d;
    const V v = BaseLoss(nodes, t);
    const V u = hn::Mul(Constant(q), ExpM1Of(d, hn::Min(v, Constant(large))));
    V l = Log1POf(d, u);
    if (q > 0.5) {
      // Near the edge log(1 - q) the two terms are added, not subtracted.
      const V edge = LogOf(d, hn::Add(Constant(1 - q), hn::Mul(Constant(q), ExpOf(d, v))));
      l = hn::IfThenElse(hn::Lt(u, Constant(-0.5)), edge, l);
    }
    if (reaches_large) {
      const V rest = hn::Mul(Constant((1 - q) / q), ExpOf(d, hn::Neg(v)));
      const V far = hn::Add(hn::Add(v, Constant(log_q)), Log1POf(d, rest));
      l = hn::IfThenElse(hn::Gt(v, Constant(large)), far, l);
    }
    hn::StoreU(l, d, loss + i);
  });
}

// The exponents power·l - t²/2 into `out`, and the greatest of them.
HWY_INLINE double Exponents(const Nodes& nodes, double power, double* out) {
  const D d;
  V greatest = Constant(kNothing);
  ForNodes(nodes, [&](size_t i, size_t, V index, V t) HWY_ATTR {
    const V l = hn::LoadU(d, nodes.loss + i);
    const V exponent = Inside(nodes, index, hn::Sub(hn::Mul(Constant(power), l), HalfSquare(t)));
    greatest = hn::Max(greatest, exponent);
    hn::StoreU(exponent, d, out + i);
  });
  return hn::GetLane(hn::MaxOfLanes(d, greatest));
}

Moments MomentsOf(const Nodes& nodes, double power, double* scratch) {
  const D d;
  const double greatest = Exponents(nodes, power, scratch);
  Sum weight, loss, square, time_square;
  ForNodes(nodes, [&](size_t i, size_t part, V, V t) HWY_ATTR {
    const V l = hn::LoadU(d, nodes.loss + i);
    const V w = ExpOf(d, hn::Sub(hn::LoadU(d, scratch + i), Constant(greatest)));
    const V wl = hn::Mul(w, l);
    weight.Add(part, w);
    loss.Add(part, wl);
    square.Add(part, hn::Mul(wl, l));
    time_square.Add(part, hn::Mul(hn::Mul(w, t), t));
  });
  return {greatest, weight.Total(), loss.Total(), square.Total(), time_square.Total()};
}

// l'(t)/μ, the probability of having been sampled given t.
HWY_INLINE V Posterior(const Nodes& nodes, V v, V l) {
  return hn::Mul(Constant(nodes.q), ExpOf(D(), hn::Sub(v, l)));
}
// Rounding error of μt - μ²/2, or, if that is large, of its sum with log q (see LossArray), as a
// factor of the size of the terms.
double BaseLossFactor(const Nodes& nodes) {
  return (ReachesLargeLoss(nodes) ? 10 : 2) * kUnitRoundoff * nodes.mu;
}
HWY_INLINE V BaseLossError(const Nodes& nodes, double factor, V t) {
  return hn::Mul(Constant(factor), hn::Add(hn::Abs(t), Constant(nodes.mu)));
}

Weighted WeightsOf(const Nodes& nodes, double power, double* weights) {
  const D d;
  constexpr double u = kUnitRoundoff;
  const double greatest = Exponents(nodes, power, weights), base = BaseLossFactor(nodes);
  Sum weight, size, weight_error, moment_error, loss_error, posterior;
  ForNodes(nodes, [&](size_t i, size_t part, V, V t) HWY_ATTR {
    const V l = hn::LoadU(d, nodes.loss + i);
    const V w = ExpOf(d, hn::Sub(hn::LoadU(d, weights + i), Constant(greatest)));
    const V r = Posterior(nodes, BaseLoss(nodes, t), l);
    const V al = hn::Abs(l);
    // Of l: its own roundings, and that of the base loss.
    const V dl = hn::Add(hn::Mul(Constant(12 * u), al), hn::Mul(r, BaseLossError(nodes, base, t)));
    // Of w: its exponent's products and sums, its exponential, and l.
    const V terms = hn::Add(hn::Mul(t, t), hn::Mul(Constant(2 * std::fabs(power)), al));
    const V own = hn::Mul(Constant(2 * u), hn::Add(terms, Constant(4 + std::fabs(greatest))));
    const V dw = hn::Mul(w, hn::Add(own, hn::Mul(Constant(std::fabs(power)), dl)));
    weight.Add(part, w);
    size.Add(part, hn::Mul(w, al));
    weight_error.Add(part, dw);
    moment_error.Add(part, hn::Mul(dw, al));
    loss_error.Add(part, hn::Mul(w, dl));
    posterior.Add(part, hn::Mul(w, hn::Mul(r, r)));
    hn::StoreU(w, d, weights + i);
  });
  const double total = weight.Total();
  return {greatest,
          total,
          size.Total() / total,
          weight_error.Total() / total,
          moment_error.Total() / total,
          loss_error.Total() / total,
          posterior.Total() / total};
}

NearOne NearOneOf(const Nodes& nodes, double power) {
  const D d;
  constexpr double u = kUnitRoundoff;
  // (1+u)^a - 1 - au; for a near 1 the same as (1+u)((1+u)^{a-1} - 1) - (a-1)u, where u does not
  // cancel. `factor`: a or a - 1.
  const bool near = std::fabs(power - 1) < 0.5;
  const V a = Constant(power), factor = Constant(near ? power - 1 : power), one = Constant(1);
  const double base = BaseLossFactor(nodes);
  Sum sum, error;
  ForNodes(nodes, [&](size_t i, size_t part, V index, V t) HWY_ATTR {
    const V v = BaseLoss(nodes, t), l = hn::LoadU(d, nodes.loss + i);
    const V fl = hn::Mul(factor, l);
    const V log_normal = Inside(nodes, index, hn::Neg(HalfSquare(t)));
    const V normal = ExpOf(d, log_normal);
    const V powered = ExpOf(d, hn::Add(log_normal, hn::Mul(a, l)));
    const V level = near ? ExpOf(d, hn::Add(log_normal, l)) : normal;
    const V risen = hn::Mul(Constant(nodes.q), ExpOf(d, hn::Add(log_normal, v)));
    // e^{-t²/2} times the first term, and times u.
    const V first = hn::IfThenElse(hn::Gt(fl, one), hn::Sub(powered, level),
                                   hn::Mul(level, ExpM1Of(d, hn::Min(fl, one))));
    const V second =
        hn::IfThenElse(hn::Gt(v, one), hn::Sub(risen, hn::Mul(Constant(nodes.q), normal)),
                       hn::Mul(normal, hn::Mul(Constant(nodes.q), ExpM1Of(d, hn::Min(v, one)))));
    const V sloped = hn::Mul(factor, second);
    sum.Add(part, hn::Sub(first, sloped));
    const V r = Posterior(nodes, v, l);
    const V own = hn::Mul(hn::Add(hn::Abs(first), hn::Abs(sloped)),
                          hn::Mul(Constant(2 * u), hn::Add(Constant(8), hn::Mul(t, t))));
    const V of_level = near ? hn::Abs(first) : hn::Zero(d);
    const V by_loss = hn::Mul(
        Constant(16 * u), hn::Add(hn::Mul(hn::Abs(fl), powered), hn::Mul(hn::Abs(l), of_level)));
    const V by_base = hn::Mul(BaseLossError(nodes, base, t),
                              hn::Add(hn::Mul(hn::Abs(factor), hn::Add(hn::Mul(r, powered), risen)),
                                      hn::Mul(r, of_level)));
    error.Add(part, hn::Add(own, hn::Add(by_loss, by_base)));
  });
  return {sum.Total(), error.Total()};
}

// Nodes of the line that are summed at once, and after how many the turning starts afresh.
constexpr size_t kTile = 128, kFresh = 16;

// The terms w (e^{iyl} - 1) of one vector of nodes, from one node of the line to the next.
class Turning {
 public:
  HWY_INLINE Turning(V loss, V weight, double spacing) : loss_(loss), weight_(weight) {
    // e^{i·spacing·l} - 1, by half angles.
    const auto turn = SinCosOf(D(), hn::Mul(Constant(0.5 * spacing), loss));
    rho_re_ = hn::Mul(Constant(-2), hn::Mul(turn.sine, turn.sine));
    rho_im_ = hn::Mul(Constant(2), hn::Mul(turn.sine, turn.cosine));
    step_re_ = hn::Mul(weight, rho_re_);
    step_im_ = hn::Mul(weight, rho_im_);
  }
  HWY_INLINE void Start(double y) {
    const auto fresh = SinCosOf(D(), hn::Mul(Constant(0.5 * y), loss_));
    re = hn::Mul(weight_, hn::Mul(Constant(-2), hn::Mul(fresh.sine, fresh.sine)));
    im = hn::Mul(weight_, hn::Mul(Constant(2), hn::Mul(fresh.sine, fresh.cosine)));
  }
  // D <- D + w·rho + rho·D for D = w(e^{iyl} - 1).
  HWY_INLINE void Step() {
    const V turned_re = hn::Sub(hn::Mul(rho_re_, re), hn::Mul(rho_im_, im));
    const V turned_im = hn::Add(hn::Mul(rho_re_, im), hn::Mul(rho_im_, re));
    re = hn::Add(re, hn::Add(step_re_, turned_re));
    im = hn::Add(im, hn::Add(step_im_, turned_im));
  }

  V re, im;

 private:
  V loss_, weight_, rho_re_, rho_im_, step_re_, step_im_;
};

HWY_INLINE void AddTo(double* sum, V x) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), x), d, sum);
}

HWY_INLINE void TurnTile(const Nodes& nodes, const double* weights, double spacing, size_t begin,
                         size_t count, double* re, double* im) {
  const D d;
  HWY_ALIGN double sum_re[kTile * kLanes], sum_im[kTile * kLanes];
  std::fill(sum_re, sum_re + count * kLanes, 0.0);
  std::fill(sum_im, sum_im + count * kLanes, 0.0);
  const auto turning = [&](size_t i) HWY_ATTR {
    return Turning(hn::LoadU(d, nodes.loss + i), hn::LoadU(d, weights + i), spacing);
  };
  const size_t padded = Padded(nodes.size);
  for (size_t part = 0; part < kParts; ++part) {
    size_t i = part * kWidth;
    // By two, as each waits for its own last step.
    for (; i + kLanes < padded; i += 2 * kLanes) {
      Turning a = turning(i), b = turning(i + kLanes);
      for (size_t k = 0; k < count; ++k) {
        if (k % kFresh == 0) {
          const double y = spacing * static_cast<double>(begin + k);
          a.Start(y);
          b.Start(y);
        } else {
          a.Step();
          b.Step();
        }
        AddTo(sum_re + k * kLanes + part * kWidth, hn::Add(a.re, b.re));
        AddTo(sum_im + k * kLanes + part * kWidth, hn::Add(a.im, b.im));
      }
    }
    for (; i < padded; i += kLanes) {
      Turning a = turning(i);
      for (size_t k = 0; k < count; ++k) {
        if (k % kFresh == 0) {
          a.Start(spacing * static_cast<double>(begin + k));
        } else {
          a.Step();
        }
        AddTo(sum_re + k * kLanes + part * kWidth, a.re);
        AddTo(sum_im + k * kLanes + part * kWidth, a.im);
      }
    }
  }
  for (size_t k = 0; k < count; ++k) {
    for (const auto& [lane, out] :
         {std::pair{sum_re + k * kLanes, re + k}, std::pair{sum_im + k * kLanes, im + k}}) {
      *out =
          ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
  }
}

void TurnedArray(const Nodes& nodes, const double* weights, double spacing, size_t begin,
                 size_t count, double* re, double* im) {
  for (size_t k = 0; k < count; k += kTile) {
    TurnTile(nodes, weights, spacing, begin + k, std::min(kTile, count - k), re + k, im + k);
  }
}

void EnvelopeArray(const Nodes& nodes, double power, double eta, double* log_weight,
                   double* angle) {
  const double cosine = std::cos(nodes.mu * eta), sine = std::sin(nodes.mu * eta);
  ForNodes(nodes, [&](size_t i, size_t, V index, V t) HWY_ATTR {
    const D d;
    const V v = BaseLoss(nodes, t);
    // 1 - q + q e^{v + iμη} over e^{max(v, 0)}, so that nothing overflows.
    const V small = ExpOf(d, hn::Neg(hn::Abs(v)));
    const auto above = hn::Gt(v, hn::Zero(d));
    const V rest = hn::Mul(Constant(1 - nodes.q), hn::IfThenElse(above, small, Constant(1)));
    const V rise = hn::Mul(Constant(nodes.q), hn::IfThenElse(above, Constant(1), small));
    const V re = hn::Add(rest, hn::Mul(rise, Constant(cosine)));
    const V im = hn::Mul(rise, Constant(sine));
    const V log_square = LogOf(d, hn::Add(hn::Mul(re, re), hn::Mul(im, im)));
    const V log_modulus = hn::Add(hn::Mul(Constant(0.5), log_square), hn::Max(v, hn::Zero(d)));
    hn::StoreU(Inside(nodes, index, hn::Sub(hn::Mul(Constant(power), log_modulus), HalfSquare(t))),
               d, log_weight + i);
    hn::StoreU(Atan2Of(d, im, re), d, angle + i);
  });
}

double EnvelopeTotal(const double* log_weight, const double* angle, size_t size, double shift,
                     double y) {
  const D d;
  Sum sum;
  for (size_t i = 0; i < size; i += kLanes) {
    for (size_t part = 0; part < kParts; ++part) {
      const size_t at = i + part * kWidth;
      const V exponent = hn::Sub(hn::Add(hn::LoadU(d, log_weight + at), Constant(shift)),
                                 hn::Mul(Constant(y), hn::LoadU(d, angle + at)));
      sum.Add(part, ExpOf(d, exponent));
    }
  }
  return sum.Total();
}

}  // namespace
}  // namespace dpledger::accountant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::accountant {

HWY_EXPORT(LossArray);
HWY_EXPORT(MomentsOf);
HWY_EXPORT(WeightsOf);
HWY_EXPORT(NearOneOf);
HWY_EXPORT(TurnedArray);
HWY_EXPORT(EnvelopeArray);
HWY_EXPORT(EnvelopeTotal);

namespace contour {

void FillLoss(const Nodes& nodes, double* loss) { HWY_DYNAMIC_DISPATCH(LossArray)(nodes, loss); }
Moments SumMoments(const Nodes& nodes, double power, double* scratch) {
  return HWY_DYNAMIC_DISPATCH(MomentsOf)(nodes, power, scratch);
}
Weighted SumWeights(const Nodes& nodes, double power, double* weights) {
  return HWY_DYNAMIC_DISPATCH(WeightsOf)(nodes, power, weights);
}
NearOne SumNearOne(const Nodes& nodes, double power) {
  return HWY_DYNAMIC_DISPATCH(NearOneOf)(nodes, power);
}
void SumTurned(const Nodes& nodes, const double* weights, double spacing, size_t begin,
               size_t count, double* re, double* im) {
  HWY_DYNAMIC_DISPATCH(TurnedArray)(nodes, weights, spacing, begin, count, re, im);
}
void FillEnvelope(const Nodes& nodes, double power, double eta, double* log_weight, double* angle) {
  HWY_DYNAMIC_DISPATCH(EnvelopeArray)(nodes, power, eta, log_weight, angle);
}
double SumEnvelope(const double* log_weight, const double* angle, size_t size, double shift,
                   double y) {
  return HWY_DYNAMIC_DISPATCH(EnvelopeTotal)(log_weight, angle, size, shift, y);
}

}  // namespace contour
}  // namespace dpledger::accountant
#endif
