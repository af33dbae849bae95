#include "accountant/numeric/vector_math.h"

#include <algorithm>
#include <cstddef>

// Every target, the plainest too: it is the scalar twin that the others are tested against.
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accountant/numeric/vector_math.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "accountant/numeric/vector_math-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::accountant::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// f of each element: whole vectors, and the last through a buffer.
template <typename F>
HWY_INLINE void OneToOne(const double* x, double* out, size_t n, F f) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN double last[hn::MaxLanes(D())] = {};
  std::copy(x + i, x + n, last);
  hn::Store(f(d, hn::Load(d, last)), d, last);
  std::copy(last, last + (n - i), out + i);
}

void ExpArray(const double* x, double* out, size_t n) {
  OneToOne(x, out, n, [](D d, V v) HWY_ATTR { return ExpOf(d, v); });
}
void ExpM1Array(const double* x, double* out, size_t n) {
  OneToOne(x, out, n, [](D d, V v) HWY_ATTR { return ExpM1Of(d, v); });
}
void LogArray(const double* x, double* out, size_t n) {
  OneToOne(x, out, n, [](D d, V v) HWY_ATTR { return LogOf(d, v); });
}
void Log1PArray(const double* x, double* out, size_t n) {
  OneToOne(x, out, n, [](D d, V v) HWY_ATTR { return Log1POf(d, v); });
}

void SinCosArray(const double* x, double* sine, double* cosine, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto both = SinCosOf(d, hn::LoadU(d, x + i));
    hn::StoreU(both.sine, d, sine + i);
    hn::StoreU(both.cosine, d, cosine + i);
  }
  if (i == n) return;
  HWY_ALIGN double last[hn::MaxLanes(D())] = {};
  std::copy(x + i, x + n, last);
  const auto both = SinCosOf(d, hn::Load(d, last));
  hn::Store(both.sine, d, last);
  std::copy(last, last + (n - i), sine + i);
  hn::Store(both.cosine, d, last);
  std::copy(last, last + (n - i), cosine + i);
}

void Atan2Array(const double* y, const double* x, double* out, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Atan2Of(d, hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN double last_y[hn::MaxLanes(D())] = {}, last_x[hn::MaxLanes(D())] = {};
  std::copy(y + i, y + n, last_y);
  std::copy(x + i, x + n, last_x);
  hn::Store(Atan2Of(d, hn::Load(d, last_y), hn::Load(d, last_x)), d, last_y);
  std::copy(last_y, last_y + (n - i), out + i);
}

}  // namespace
}  // namespace dpledger::accountant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::accountant {

HWY_EXPORT(ExpArray);
HWY_EXPORT(ExpM1Array);
HWY_EXPORT(LogArray);
HWY_EXPORT(Log1PArray);
HWY_EXPORT(SinCosArray);
HWY_EXPORT(Atan2Array);

void Exp(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(ExpArray)(x.data(), out.data(), x.size());
}
void ExpM1(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(ExpM1Array)(x.data(), out.data(), x.size());
}
void Log(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(LogArray)(x.data(), out.data(), x.size());
}
void Log1P(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(Log1PArray)(x.data(), out.data(), x.size());
}
void SinCos(std::span<const double> x, std::span<double> sine, std::span<double> cosine) {
  HWY_DYNAMIC_DISPATCH(SinCosArray)(x.data(), sine.data(), cosine.data(), x.size());
}
void Atan2(std::span<const double> y, std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(Atan2Array)(y.data(), x.data(), out.data(), x.size());
}

}  // namespace dpledger::accountant
#endif
