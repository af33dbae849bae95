#include "client/internal/clip_kernels.h"

#include <algorithm>
#include <array>
#include <bit>

// Every target, the plainest too: the tests compare each with the scalar clip.
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/clip_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/cache_control.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using Floats = hn::Rebind<float, D>;
using Words = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;

constexpr size_t kLanes = 64;
constexpr double kRounder = 0x1.8p52;
// Vectors held in registers; wider registers need fewer strips for the 64 lanes.
constexpr size_t kStripVectors = 8;
// Coordinates that stay in the nearest cache from strip to strip.
constexpr size_t kBlock = 2048;

// Hardware prefetchers stop at pages' ends. 1 KiB ahead: two passes over 4 MB rows took 2.11 times
// the reading instead of 2.28 (AVX-512). May point behind the end, where it does nothing.
HWY_INLINE void PrefetchAhead(const float* x) {
  hwy::Prefetch(reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(x) + 1024));
}

HWY_INLINE V Widened(const float* x) { return hn::PromoteTo(D(), hn::LoadU(Floats(), x)); }

// Lanes of one strip over whole groups of 64 coordinates.
HWY_INLINE void AddSquares(const float* x, size_t size, double* lanes) {
  const D d;
  const size_t n = hn::Lanes(d);
  V v0 = hn::Load(d, lanes), v1 = hn::Load(d, lanes + n), v2 = hn::Load(d, lanes + 2 * n),
    v3 = hn::Load(d, lanes + 3 * n), v4 = hn::Load(d, lanes + 4 * n),
    v5 = hn::Load(d, lanes + 5 * n), v6 = hn::Load(d, lanes + 6 * n),
    v7 = hn::Load(d, lanes + 7 * n);
  const auto add = [&](V& sum, const float* at) HWY_ATTR {
    PrefetchAhead(at);
    const V wide = Widened(at);
    sum = hn::MulAdd(wide, wide, sum);
  };
  for (size_t i = 0; i < size; i += kLanes) {
    add(v0, x + i);
    add(v1, x + i + n);
    add(v2, x + i + 2 * n);
    add(v3, x + i + 3 * n);
    add(v4, x + i + 4 * n);
    add(v5, x + i + 5 * n);
    add(v6, x + i + 6 * n);
    add(v7, x + i + 7 * n);
  }
  hn::Store(v0, d, lanes);
  hn::Store(v1, d, lanes + n);
  hn::Store(v2, d, lanes + 2 * n);
  hn::Store(v3, d, lanes + 3 * n);
  hn::Store(v4, d, lanes + 4 * n);
  hn::Store(v5, d, lanes + 5 * n);
  hn::Store(v6, d, lanes + 6 * n);
  hn::Store(v7, d, lanes + 7 * n);
}

double SquaredNormKernel(const float* x, size_t size) {
  HWY_ALIGN double lanes[kLanes] = {};
  const size_t strip = kStripVectors * hn::Lanes(D());
  const size_t whole = size / kLanes * kLanes;
  for (size_t begin = 0; begin < whole; begin += kBlock) {
    const size_t block = std::min(kBlock, whole - begin);
    for (size_t lane = 0; lane < kLanes; lane += strip) {
      AddSquares(x + begin + lane, block, lanes + lane);
    }
  }
  for (size_t i = whole; i < size; ++i) {
    const double wide = x[i];
    lanes[i - whole] += wide * wide;
  }
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

template <size_t kRows>
HWY_INLINE void AddRows(const float* const* rows, const double* scales, size_t size, uint64_t* sums,
                        double* squares) {
  const D d;
  const Words words;
  const V rounder = hn::Set(d, kRounder);
  const auto rounders = hn::Set(words, kRows * std::bit_cast<uint64_t>(kRounder));
  V scale[kRows], square[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    scale[r] = hn::Set(d, scales[r]);
    square[r] = hn::Zero(d);
  }
  const auto add = [&](const std::array<const float*, kRows>& x, uint64_t* to) HWY_ATTR {
    auto sum = hn::Sub(hn::LoadU(words, to), rounders);
    for (size_t r = 0; r < kRows; ++r) {
      const V shifted = hn::Add(hn::Mul(scale[r], Widened(x[r])), rounder);
      sum = hn::Add(sum, hn::BitCast(words, shifted));
      const V rounded = hn::Sub(shifted, rounder);
      square[r] = hn::MulAdd(rounded, rounded, square[r]);
    }
    hn::StoreU(sum, words, to);
  };
  const size_t n = hn::Lanes(d);
  std::array<const float*, kRows> x;
  size_t i = 0;
  for (; i + n <= size; i += n) {
    for (size_t r = 0; r < kRows; ++r) {
      x[r] = rows[r] + i;
      PrefetchAhead(x[r]);
    }
    add(x, sums + i);
  }
  if (i < size) {
    // Zeros behind the end add nothing.
    float last_x[kRows][hn::MaxLanes(D())] = {};
    uint64_t last_sums[hn::MaxLanes(D())] = {};
    for (size_t r = 0; r < kRows; ++r) {
      std::copy(rows[r] + i, rows[r] + size, last_x[r]);
      x[r] = last_x[r];
    }
    std::copy(sums + i, sums + size, last_sums);
    add(x, last_sums);
    std::copy(last_sums, last_sums + (size - i), sums + i);
  }
  HWY_ALIGN double parts[hn::MaxLanes(D())];
  for (size_t r = 0; r < kRows; ++r) {
    hn::Store(square[r], d, parts);
    squares[r] = 0;
    for (size_t lane = 0; lane < n; ++lane) squares[r] += parts[lane];
  }
}

void AddKernel(const float* const* rows, const double* scales, size_t row_count, size_t size,
               uint64_t* sums, double* squares) {
  if (row_count == kMaxRows) return AddRows<kMaxRows>(rows, scales, size, sums, squares);
  for (size_t r = 0; r < row_count; ++r) {
    AddRows<1>(rows + r, scales + r, size, sums, squares + r);
  }
}

void SubtractKernel(const float* row, double scale, size_t size, uint64_t* sums) {
  const D d;
  const Words words;
  const V rounder = hn::Set(d, kRounder), scales = hn::Set(d, scale);
  const auto subtract = [&](const float* x, uint64_t* from) HWY_ATTR {
    const V shifted = hn::Add(hn::Mul(scales, Widened(x)), rounder);
    const auto rounded = hn::Sub(hn::BitCast(words, shifted), hn::BitCast(words, rounder));
    hn::StoreU(hn::Sub(hn::LoadU(words, from), rounded), words, from);
  };
  const size_t n = hn::Lanes(d);
  size_t i = 0;
  for (; i + n <= size; i += n) subtract(row + i, sums + i);
  if (i == size) return;
  float last_x[hn::MaxLanes(D())] = {};
  uint64_t last_sums[hn::MaxLanes(D())] = {};
  std::copy(row + i, row + size, last_x);
  std::copy(sums + i, sums + size, last_sums);
  subtract(last_x, last_sums);
  std::copy(last_sums, last_sums + (size - i), sums + i);
}

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::client::internal {

HWY_EXPORT(SquaredNormKernel);
HWY_EXPORT(AddKernel);
HWY_EXPORT(SubtractKernel);

double SquaredNormInLanes(const float* x, size_t size) {
  return HWY_DYNAMIC_DISPATCH(SquaredNormKernel)(x, size);
}

// The same integers without a sign, for which wrapping is defined.
void AddRounded(const float* const* rows, const double* scales, size_t row_count, size_t size,
                int64_t* sums, double* squares) {
  HWY_DYNAMIC_DISPATCH(AddKernel)
  (rows, scales, row_count, size, reinterpret_cast<uint64_t*>(sums), squares);
}
void SubtractRounded(const float* row, double scale, size_t size, int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(SubtractKernel)(row, scale, size, reinterpret_cast<uint64_t*>(sums));
}

}  // namespace dpledger::client::internal
#endif
