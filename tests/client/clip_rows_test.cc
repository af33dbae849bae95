// Whole rows in every number format, on every instruction set, by any number of threads: the sums
// and norms are those of the plain Clip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/internal/workers.h"
#include "hwy/targets.h"
#include "tests/client/plain_clip.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::OnEveryTarget;

constexpr int64_t kBound = int64_t{1} << 24;

// Numbers of any format, some of them unusual.
class Numbers {
 public:
  Numbers(NumberFormat format, size_t count, uint64_t seed) : format_(format) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t word = random();
      // Exponents about that of 1, for float16 down into the subnormals; now and then 0.
      switch (format) {
        case NumberFormat::kFloat32:
          Append(static_cast<float>(static_cast<int64_t>(word)) * 0x1p-60f);
          break;
        case NumberFormat::kBfloat16:
          Append(static_cast<uint16_t>((word & 0x83ff) + 0x3d00));
          break;
        case NumberFormat::kFloat16:
          Append(static_cast<uint16_t>(word & 0xbbff));
          break;
      }
    }
  }

  void Set(size_t i, double special) {
    if (format_ == NumberFormat::kFloat32) {
      const auto value = static_cast<float>(special);
      std::memcpy(bytes_.data() + 4 * i, &value, 4);
      return;
    }
    uint16_t bits = format_ == NumberFormat::kFloat16 ? 0x7c00 : 0x7f80;
    if (std::isnan(special)) bits += 1;
    if (special < 0) bits += 0x8000;
    std::memcpy(bytes_.data() + 2 * i, &bits, 2);
  }

  NumberFormat format() const { return format_; }
  const void* data() const { return bytes_.data(); }
  std::vector<float> Widened(size_t begin, size_t count) const {
    std::vector<float> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = NumberAt(format_, data(), begin + i);
    return result;
  }

 private:
  template <typename T>
  void Append(T number) {
    bytes_.resize(bytes_.size() + sizeof(T));
    std::memcpy(bytes_.data() + bytes_.size() - sizeof(T), &number, sizeof(T));
  }

  const NumberFormat format_;
  std::vector<char> bytes_;
};

const std::vector<NumberFormat> kFormats = {NumberFormat::kFloat32, NumberFormat::kBfloat16,
                                            NumberFormat::kFloat16};

struct Case {
  NumberFormat format;
  size_t size, rows, parts;
};

// What must hold for one matrix; computed once, compared with many ways to get it.
class Expected {
 public:
  explicit Expected(const Case& c)
      : rows_(c.rows),
        stride_(c.size + c.size % 3),
        numbers_(c.format, c.rows * stride_ + 16, 7 * c.size + c.rows),
        clip_(Parts(c), ClipToNorm{0.5}, kBound) {
    numbers_.Set(stride_ * 1 + c.size / 2, std::numeric_limits<double>::quiet_NaN());
    numbers_.Set(stride_ * 2 + c.size - 1, std::numeric_limits<double>::infinity());
    sums_.assign(c.size, 3);
    scaled_sums_ = sums_;
    for (size_t r = 0; r < rows_; ++r) {
      const std::vector<float> row = numbers_.Widened(r * stride_, c.size);
      norms_.push_back(clip_.Norm(row));
      Add(clip_.Clipped(row), sums_);
      // Some too large by a little, which the check refuses, some by much, some of another sign.
      const double lies[] = {1, 1 + 1e-6, -0.5, 1, 3, 1 + 3e-7, 1e30};
      scales_.push_back(clip_.ScaleFor(norms_.back()) * lies[r % 7]);
      Add(clip_.Scaled(row, scales_.back()), scaled_sums_);
    }
  }

  void Compare(internal::Workers* workers, const std::string& what) const {
    const GradientRows rows = {numbers_.data(), rows_, stride_, numbers_.format()};
    std::vector<int64_t> got(sums_.size(), 3);
    std::vector<double> got_norms(rows_);
    clip_.AddClipped(rows, absl::MakeSpan(got), absl::MakeSpan(got_norms), workers);
    ASSERT_EQ(got, sums_) << what;
    ASSERT_TRUE(std::isnan(got_norms[1]));
    ASSERT_TRUE(std::isinf(got_norms[2]));
    for (size_t r = 0; r < rows_; ++r) {
      if (r == 1) continue;
      ASSERT_EQ(got_norms[r], norms_[r]) << what << " row " << r;
    }
    got.assign(sums_.size(), 3);
    clip_.AddScaled(rows, scales_, absl::MakeSpan(got), workers);
    ASSERT_EQ(got, scaled_sums_) << what;
  }

 private:
  static void Add(const std::vector<int64_t>& q, std::vector<int64_t>& sums) {
    for (size_t i = 0; i < q.size(); ++i) sums[i] += q[i];
  }
  static std::vector<ClipPart> Parts(const Case& c) {
    std::vector<ClipPart> parts;
    size_t left = c.size;
    for (size_t p = 0; p + 1 < c.parts && left > 1; ++p) {
      parts.push_back({std::max<size_t>(1, left / 3), 0.25 + 0.7 * static_cast<double>(p)});
      left -= parts.back().size;
    }
    parts.push_back({left, 1});
    return parts;
  }

  const size_t rows_, stride_;
  Numbers numbers_;
  const PlainClip clip_;
  std::vector<int64_t> sums_, scaled_sums_;
  std::vector<double> norms_, scales_;
};

TEST(ClipRows, AreThoseOfThePlainClipInEveryFormat) {
  for (const NumberFormat format : kFormats) {
    for (size_t size = 1; size <= 300; size += size < 70 ? 1 : 23) {
      const Expected expected({format, size, 3 + size % 35, 1 + size % 3});
      OnEveryTarget([&](const std::string& target) {
        expected.Compare(nullptr, absl::StrCat(target, " ", size));
      });
    }
  }
}

// Large enough for threads to share: 2^18 numbers in four rows.
TEST(ClipRows, AreThoseOfThePlainClipByAnyNumberOfThreads) {
  std::vector<std::unique_ptr<internal::Workers>> teams;
  for (const size_t threads : {1u, 2u, 3u, 7u}) {
    teams.push_back(*internal::Workers::Create(threads));
  }
  for (const NumberFormat format : kFormats) {
    for (const auto& [size, rows, parts] : std::vector<std::tuple<size_t, size_t, size_t>>{
             {8209, 37, 3}, {66000, 5, 1}, {70001, 9, 7}}) {
      const Expected expected({format, size, rows, parts});
      OnEveryTarget([&](const std::string& target) {
        for (const auto& team : teams) {
          expected.Compare(team.get(), absl::StrCat(target, " ", size, " ", team->threads()));
        }
      });
    }
  }
}

// What a refused row has added must go again, though the threads round otherwise than the caller.
TEST(ClipRows, LeaveNothingOfARefusedRowUnderAnyRoundingMode) {
  constexpr size_t kSize = 300'000;  // more than one thread takes
  const auto clip = OnePart(kSize, 1.0, kBound);
  ASSERT_TRUE(clip.ok());
  auto workers = internal::Workers::Create(3);
  ASSERT_TRUE(workers.ok());
  const std::vector<float> row(kSize, 1);
  const std::vector<double> scales = {0x1p20 + 0.3};  // the vector's norm is 547 2^20, K is 16 2^20
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::vector<int64_t> sums(kSize);
    std::fesetround(mode);
    clip->AddScaled({row.data(), 1, kSize}, scales, absl::MakeSpan(sums), workers->get());
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(std::count(sums.begin(), sums.end(), 0), kSize) << mode;
  }
}

}  // namespace
}  // namespace dpledger::client
