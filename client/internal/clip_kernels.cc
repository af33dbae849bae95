#include "client/internal/clip_kernels.h"

#include <algorithm>
#include <array>
#include <bit>

// Every target, the plainest too: the tests compare each with the scalar clip.
#define HWY_COMPILE_ALL_ATTAINABLE
// Vectors of no fixed size cannot be elements of arrays; such machines use NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
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
// Coordinates whose rows and sums stay in the nearest cache while they are gone over repeatedly.
// 1024 of them took 4 % longer from memory.
constexpr size_t kBlock = 512;
// Bytes before which a row is fetched. Norms of bfloat16 rows took a fifth longer with 1024, and
// with 8192 everything took 5 % longer.
constexpr uintptr_t kAhead = 2048;
// Vectors of sums that fit the registers.
constexpr size_t kAccumulators = HWY_MAX_BYTES >= 64 ? 16 : 8;

// May point behind an end, where it does nothing.
HWY_INLINE void Prefetch(uintptr_t at) { hwy::Prefetch(reinterpret_cast<const char*>(at)); }

HWY_INLINE V Widened(const float* x) { return hn::PromoteTo(D(), hn::LoadU(Floats(), x)); }

using WideFloats = hn::CappedTag<float, 16>;
using Halves = hn::Rebind<uint16_t, WideFloats>;

HWY_INLINE hn::Vec<WideFloats> WidenedBfloat16(hn::Vec<Halves> half) {
  const hn::RebindToUnsigned<WideFloats> bits;
  return hn::BitCast(WideFloats(), hn::ShiftLeft<16>(hn::PromoteTo(bits, half)));
}

HWY_INLINE hn::Vec<WideFloats> WidenedFloat16(hn::Vec<Halves> half) {
  const WideFloats floats;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  return hn::PromoteTo(floats, hn::BitCast(hn::Rebind<hwy::float16_t, WideFloats>(), half));
#else
  // FromFloat16, without its branches.
  const hn::RebindToSigned<WideFloats> ints;
  const auto bits = hn::PromoteTo(ints, half);
  const auto magnitude = hn::And(bits, hn::Set(ints, 0x7fff));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(ints, 0x8000)));
  const auto rebias = hn::Set(ints, (127 - 15) << 23);
  const auto top = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(ints, 0x7bff)), rebias);
  const auto normal = hn::Add(hn::Add(hn::ShiftLeft<13>(magnitude), rebias), top);
  const auto subnormal =
      hn::BitCast(ints, hn::Mul(hn::ConvertTo(floats, magnitude), hn::Set(floats, 0x1p-24f)));
  const auto is_subnormal = hn::Lt(magnitude, hn::Set(ints, 0x0400));
  return hn::BitCast(floats, hn::Or(hn::IfThenElse(is_subnormal, subnormal, normal), sign));
#endif
}

template <class Widen>
HWY_INLINE void WidenInto(float* to, const uint16_t* from, size_t size, const Widen& widen) {
  const WideFloats floats;
  const size_t n = hn::Lanes(floats);
  size_t i = 0;
  for (; i + n <= size; i += n) hn::StoreU(widen(hn::LoadU(Halves(), from + i)), floats, to + i);
  if (i == size) return;
  uint16_t last[hn::MaxLanes(WideFloats())] = {};
  float last_to[hn::MaxLanes(WideFloats())];
  std::copy(from + i, from + size, last);
  hn::StoreU(widen(hn::LoadU(Halves(), last)), floats, last_to);
  std::copy(last_to, last_to + (size - i), to + i);
}

// Blocks of rows of any format as floats. Numbers of 16 bits are widened into the nearest cache:
// that took half the instructions of widening them to doubles in registers.
template <size_t kRows>
class FloatRows {
 public:
  FloatRows(NumberFormat format, const void* const* rows)
      : format_(format), bytes_(BytesOf(format)) {
    for (size_t r = 0; r < kRows; ++r) rows_[r] = static_cast<const char*>(rows[r]);
  }

  // At most kBlock coordinates from `begin` on.
  HWY_INLINE void Open(size_t begin, size_t size) {
    for (size_t r = 0; r < kRows; ++r) {
      const void* const at = rows_[r] + begin * bytes_;
      ahead_[r] = reinterpret_cast<uintptr_t>(at) + kAhead;
      const auto* halves = static_cast<const uint16_t*>(at);
      floats_[r] = buffers_[r];
      switch (format_) {
        case NumberFormat::kFloat32:
          floats_[r] = static_cast<const float*>(at);
          break;
        case NumberFormat::kBfloat16:
          WidenInto(buffers_[r], halves, size, WidenedBfloat16);
          break;
        case NumberFormat::kFloat16:
          WidenInto(buffers_[r], halves, size, WidenedFloat16);
          break;
      }
    }
  }

  HWY_INLINE const float* operator[](size_t r) const { return floats_[r]; }

  // Fetches what follows coordinate i of the block at a distance, so that memory works while the
  // block is computed; hardware prefetchers stop at pages' ends.
  HWY_INLINE void PrefetchRow(size_t r, size_t i) const { Prefetch(ahead_[r] + i * bytes_); }

 private:
  const NumberFormat format_;
  const size_t bytes_;
  std::array<const char*, kRows> rows_;
  std::array<const float*, kRows> floats_;
  std::array<uintptr_t, kRows> ahead_;
  HWY_ALIGN float buffers_[kRows][kBlock];
};

// Adds the squares of kVectors vectors of lanes, from `lane` on, over whole groups of 64
// coordinates.
template <size_t kRows, size_t kVectors>
HWY_INLINE void AddSquares(const FloatRows<kRows>& rows, size_t size, size_t lane,
                           double (*lanes)[kLanes]) {
  const D d;
  const size_t n = hn::Lanes(d);
  V sums[kRows][kVectors];
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Load(d, lanes[r] + lane + v * n);
  }
  for (size_t i = 0; i < size; i += kLanes) {
    for (size_t r = 0; r < kRows; ++r) {
      if (lane == 0) {
        for (size_t at = i; at < i + kLanes; at += 16) rows.PrefetchRow(r, at);
      }
      for (size_t v = 0; v < kVectors; ++v) {
        const V wide = Widened(rows[r] + i + lane + v * n);
        sums[r][v] = hn::MulAdd(wide, wide, sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, lanes[r] + lane + v * n);
  }
}

template <size_t kRows>
void SquaredNormsOf(NumberFormat format, const void* const* rows, size_t size,
                    double* squared_norms) {
  constexpr size_t kVectors = std::min<size_t>(8, kAccumulators / kRows);
  HWY_ALIGN double lanes[kRows][kLanes] = {};
  const size_t strip = kVectors * hn::Lanes(D());
  FloatRows<kRows> floats(format, rows);
  for (size_t begin = 0; begin < size; begin += kBlock) {
    const size_t block = std::min(kBlock, size - begin);
    floats.Open(begin, block);
    const size_t whole = block / kLanes * kLanes;
    for (size_t lane = 0; lane < kLanes; lane += strip) {
      AddSquares<kRows, kVectors>(floats, whole, lane, lanes);
    }
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t i = whole; i < block; ++i) {
        const double wide = floats[r][i];
        lanes[r][i - whole] += wide * wide;
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t width = kLanes / 2; width > 0; width /= 2) {
      for (size_t lane = 0; lane < width; ++lane) lanes[r][lane] += lanes[r][lane + width];
    }
    squared_norms[r] = lanes[r][0];
  }
}

void SquaredNormsKernel(NumberFormat format, const void* const* rows, size_t row_count, size_t size,
                        double* squared_norms) {
  size_t r = 0;
  for (; r + 2 <= row_count; r += 2) SquaredNormsOf<2>(format, rows + r, size, squared_norms + r);
  if (r < row_count) SquaredNormsOf<1>(format, rows + r, size, squared_norms + r);
}

// Sums of squares, one for each vector lane.
using Squares = double[hn::MaxLanes(D())];

template <size_t kRows>
HWY_INLINE void AddBlock(const FloatRows<kRows>& rows, const double* scales, size_t size,
                         uint64_t* sums, Squares* squares) {
  const D d;
  const Words words;
  const V rounder = hn::Set(d, kRounder);
  const auto rounders = hn::Set(words, kRows * std::bit_cast<uint64_t>(kRounder));
  V scale[kRows], square[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    scale[r] = hn::Set(d, scales[r]);
    square[r] = hn::Load(d, squares[r]);
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
      rows.PrefetchRow(r, i);
    }
    Prefetch(reinterpret_cast<uintptr_t>(sums + i) + kBlock * sizeof(uint64_t));
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
  for (size_t r = 0; r < kRows; ++r) hn::Store(square[r], d, squares[r]);
}

template <size_t kRows>
HWY_INLINE void AddRows(NumberFormat format, const void* const* rows, const double* scales,
                        size_t begin, size_t size, uint64_t* sums, Squares* squares) {
  FloatRows<kRows> floats(format, rows);
  floats.Open(begin, size);
  AddBlock<kRows>(floats, scales, size, sums + begin, squares);
}

void AddKernel(NumberFormat format, const void* const* rows, const double* scales, size_t row_count,
               size_t size, uint64_t* sums, uint64_t* before, double* squares) {
  HWY_ALIGN Squares in_lanes[kMaxRows] = {};
  for (size_t begin = 0; begin < size; begin += kBlock) {
    const size_t block = std::min(kBlock, size - begin);
    std::copy_n(sums + begin, block, before + begin);
    size_t r = 0;
    for (; r + 4 <= row_count; r += 4) {
      AddRows<4>(format, rows + r, scales + r, begin, block, sums, in_lanes + r);
    }
    for (; r < row_count; ++r) {
      AddRows<1>(format, rows + r, scales + r, begin, block, sums, in_lanes + r);
    }
  }
  for (size_t r = 0; r < row_count; ++r) {
    squares[r] = 0;
    for (size_t lane = 0; lane < hn::Lanes(D()); ++lane) squares[r] += in_lanes[r][lane];
  }
}

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::client::internal {

HWY_EXPORT(SquaredNormsKernel);
HWY_EXPORT(AddKernel);

void SquaredNormsInLanes(NumberFormat format, const void* const* rows, size_t row_count,
                         size_t size, double* squared_norms) {
  HWY_DYNAMIC_DISPATCH(SquaredNormsKernel)(format, rows, row_count, size, squared_norms);
}

// The same integers without a sign, for which wrapping is defined.
void AddRounded(NumberFormat format, const void* const* rows, const double* scales,
                size_t row_count, size_t size, int64_t* sums, int64_t* before, double* squares) {
  HWY_DYNAMIC_DISPATCH(AddKernel)
  (format, rows, scales, row_count, size, reinterpret_cast<uint64_t*>(sums),
   reinterpret_cast<uint64_t*>(before), squares);
}

}  // namespace dpledger::client::internal
#endif
