#include "accountant/numeric/shifted_sum.h"

#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accountant/numeric/shifted_sum.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::accountant::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;

void AddAll(const std::vector<Shift>& shifts, const double* in, double* out, size_t size) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  // Four vectors of sums at a time stay in registers.
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    auto a = hn::LoadU(d, out + i), b = hn::LoadU(d, out + i + lanes),
         c = hn::LoadU(d, out + i + 2 * lanes), e = hn::LoadU(d, out + i + 3 * lanes);
    for (const Shift& shift : shifts) {
      const double* const from = in + static_cast<ptrdiff_t>(i) + shift.place;
      const auto mass = hn::Set(d, shift.mass);
      a = hn::Add(a, hn::Mul(mass, hn::LoadU(d, from)));
      b = hn::Add(b, hn::Mul(mass, hn::LoadU(d, from + lanes)));
      c = hn::Add(c, hn::Mul(mass, hn::LoadU(d, from + 2 * lanes)));
      e = hn::Add(e, hn::Mul(mass, hn::LoadU(d, from + 3 * lanes)));
    }
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + i + lanes);
    hn::StoreU(c, d, out + i + 2 * lanes);
    hn::StoreU(e, d, out + i + 3 * lanes);
  }
  for (; i < size; ++i) {
    for (const Shift& shift : shifts)
      out[i] += shift.mass * in[static_cast<ptrdiff_t>(i) + shift.place];
  }
}

}  // namespace
}  // namespace dpledger::accountant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::accountant {

HWY_EXPORT(AddAll);

void AddShifted(const std::vector<Shift>& shifts, const double* in, double* out, size_t size) {
  HWY_DYNAMIC_DISPATCH(AddAll)(shifts, in, out, size);
}

}  // namespace dpledger::accountant
#endif
