#include "bench/float_clip.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "client/internal/clip_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/float_clip.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/cache_control.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::bench::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kAtOnce = 4;
constexpr size_t kBlock = 512;
constexpr uintptr_t kAhead = 2048;

// Of kAtOnce rows.
void AddBlock(const float* const* rows, const float* scales, size_t begin, size_t end,
              float* sums) {
  const hn::CappedTag<float, 16> d;
  const size_t n = hn::Lanes(d);
  size_t i = begin;
  for (; i + n <= end; i += n) {
    auto sum = hn::LoadU(d, sums + i);
    for (size_t r = 0; r < kAtOnce; ++r) {
      hwy::Prefetch(
          reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(rows[r] + i) + kAhead));
      sum = hn::MulAdd(hn::Set(d, scales[r]), hn::LoadU(d, rows[r] + i), sum);
    }
    hn::StoreU(sum, d, sums + i);
  }
  for (; i < end; ++i) {
    for (size_t r = 0; r < kAtOnce; ++r) sums[i] += scales[r] * rows[r][i];
  }
}

void AddKernel(const float* const* rows, const float* scales, size_t row_count, size_t size,
               float* sums) {
  for (size_t begin = 0; begin < size; begin += kBlock) {
    for (size_t r = 0; r < row_count; r += kAtOnce) {
      AddBlock(rows + r, scales + r, begin, std::min(begin + kBlock, size), sums);
    }
  }
}

uint64_t ReadKernel(const void* data, size_t size) {
  const hn::ScalableTag<uint64_t> d;
  const size_t n = hn::Lanes(d);
  const auto* words = static_cast<const uint64_t*>(data);
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  for (size_t i = 0; i + 4 * n <= size / sizeof(uint64_t); i += 4 * n) {
    a = hn::Add(a, hn::LoadU(d, words + i));
    b = hn::Add(b, hn::LoadU(d, words + i + n));
    c = hn::Add(c, hn::LoadU(d, words + i + 2 * n));
    e = hn::Add(e, hn::LoadU(d, words + i + 3 * n));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

}  // namespace
}  // namespace dpledger::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::bench {

HWY_EXPORT(AddKernel);
HWY_EXPORT(ReadKernel);

// As many rows together as IntegerClip takes at most, so that the sums' traffic is no more than
// its.
void AddFloatClipped(const client::GradientRows& rows, float clip_norm, std::vector<float>& sums) {
  constexpr size_t kTogether = client::internal::kMaxRows;
  for (size_t begin = 0; begin < rows.count; begin += kTogether) {
    const size_t count = std::min(kTogether, rows.count - begin);
    std::array<const void*, kTogether> at;
    std::array<const float*, kTogether> numbers;
    std::array<double, kTogether> squares;
    std::array<float, kTogether> scales;
    for (size_t r = 0; r < count; ++r) {
      at[r] = rows.At(begin + r);
      numbers[r] = static_cast<const float*>(at[r]);
    }
    client::internal::SquaredNormsInLanes(rows.format, at.data(), count, sums.size(),
                                          squares.data());
    for (size_t r = 0; r < count; ++r) {
      scales[r] = std::min(1.0f, clip_norm / static_cast<float>(std::sqrt(squares[r])));
    }
    HWY_DYNAMIC_DISPATCH(AddKernel)
    (numbers.data(), scales.data(), count, sums.size(), sums.data());
  }
}

uint64_t ReadCache(const void* data, size_t size) {
  return HWY_DYNAMIC_DISPATCH(ReadKernel)(data, size);
}

}  // namespace dpledger::bench
#endif
