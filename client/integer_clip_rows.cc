// The fast ways of IntegerClip: whole rows, by vectors and by several threads.
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "client/integer_clip.h"
#include "client/internal/clip_kernels.h"
#include "client/internal/workers.h"

namespace dpledger::client {
namespace {

using internal::kMaxRows;

// Numbers of a group from which on threads share it: 0.1 ms of work, where handing it over costs
// half a microsecond while threads spin, and some 20 when they sleep.
constexpr size_t kLeastShared = 1 << 18;
// A line of the nearest cache holds eight sums; threads write to lines of their own if the sums
// begin at one, and do not often meet if not.
constexpr size_t kRangeGrain = 512;

size_t CacheBytes(int level, size_t otherwise) {
  const long bytes = sysconf(level);
  return bytes > 0 ? static_cast<size_t>(bytes) : otherwise;
}

// Rows are read for their norms, then to be added: all that the second-level cache holds, else what
// half of the third's does, so that they come from there again. At least four, which share the
// traffic of the sums. (Where the third level does not keep what was read once, as on a Xeon whose
// 16 rows of 4 MB took 4 % less than 4, that is right too.)
size_t RowsTogether(const GradientRows& rows, size_t size) {
  static const size_t second = CacheBytes(_SC_LEVEL2_CACHE_SIZE, size_t{1} << 20);
  static const size_t third = CacheBytes(_SC_LEVEL3_CACHE_SIZE, size_t{32} << 20);
  const size_t row = size * BytesOf(rows.format);
  const size_t fit = 4 * row <= second ? second / row : third / 2 / row;
  return std::clamp<size_t>(fit / 4 * 4, 4, kMaxRows);
}

size_t SharesFor(internal::Workers* workers, size_t numbers) {
  return workers != nullptr && numbers >= kLeastShared ? workers->threads() : 1;
}

template <typename Work>
void RunShares(internal::Workers* workers, size_t shares, const Work& work) {
  if (shares == 1) return work(0);
  workers->Run(work);
}

}  // namespace

struct IntegerClip::Group {
  // A row with no scale is 0, and left out.
  void Take(const GradientRows& from, size_t r, double scale) {
    if (scale == 0 || !std::isfinite(scale)) return;
    rows[count] = from.At(r);
    scales[count++] = scale;
  }

  NumberFormat format;
  size_t count = 0;
  std::array<const void*, kMaxRows> rows;
  std::array<double, kMaxRows> scales;
};

// Where rows are added, and what was there before the last of them.
struct IntegerClip::Sums {
  Sums(size_t size, absl::Span<int64_t> sums, absl::Span<int64_t> spare) : at(sums), before(spare) {
    if (!before.empty()) return;
    own.reset(new int64_t[size]);
    before = absl::MakeSpan(own.get(), size);
  }
  ~Sums() {
    if (own) OPENSSL_cleanse(own.get(), before.size() * sizeof(before[0]));
  }
  void Restore() { std::copy(before.begin(), before.end(), at.begin()); }

  absl::Span<int64_t> at, before;
  std::unique_ptr<int64_t[]> own;
};

void IntegerClip::AddClipped(const GradientRows& rows, absl::Span<int64_t> at,
                             absl::Span<double> norms, internal::Workers* workers,
                             absl::Span<int64_t> spare) const {
  const size_t together = RowsTogether(rows, size_);
  Sums sums(size_, at, spare);
  std::array<double, kMaxRows> found;
  for (size_t begin = 0; begin < rows.count; begin += together) {
    const size_t count = std::min(together, rows.count - begin);
    const size_t shares = SharesFor(workers, count * size_);
    RunShares(workers, shares, [&](size_t share) {
      const internal::Range range = internal::ShareOf(count, share, shares);
      FindNorms(rows, begin + range.begin,
                absl::MakeSpan(found).subspan(range.begin, range.end - range.begin));
    });
    Group group = {rows.format};
    for (size_t r = 0; r < count; ++r) {
      group.Take(rows, begin + r, ScaleFor(found[r]));
      if (!norms.empty()) norms[begin + r] = found[r];
    }
    AddGroup(group, sums, workers);
  }
}

void IntegerClip::AddScaled(const GradientRows& rows, absl::Span<const double> scales,
                            absl::Span<int64_t> at, internal::Workers* workers,
                            absl::Span<int64_t> spare) const {
  Sums sums(size_, at, spare);
  for (size_t begin = 0; begin < rows.count; begin += kMaxRows) {
    Group group = {rows.format};
    for (size_t r = begin; r < std::min(begin + kMaxRows, rows.count); ++r) {
      group.Take(rows, r, scales[r]);
    }
    AddGroup(group, sums, workers);
  }
}

void IntegerClip::FindNorms(const GradientRows& rows, size_t begin,
                            absl::Span<double> norms) const {
  std::array<double, kMaxRows> squares = {}, of_part;
  for (const Part& part : parts_) {
    std::array<const void*, kMaxRows> at;
    for (size_t r = 0; r < norms.size(); ++r) at[r] = rows.At(begin + r, part.begin);
    internal::SquaredNormsInLanes(rows.format, at.data(), norms.size(), part.size, of_part.data());
    for (size_t r = 0; r < norms.size(); ++r) squares[r] += ShareOfSquare(part, of_part[r]);
  }
  for (size_t r = 0; r < norms.size(); ++r) norms[r] = NormOf(squares[r]);
}

// Adds the rows rounded to nearest. Where the exact check refuses one of them, each row alone: to
// nearest, or else toward zero, or not at all. A row is never read again to take it back: another
// thread may have written to it meanwhile, and what is left of it would be of any norm.
//
// No memory is asked for here: where it was short, some rows would be in the sums and some not, and
// nobody could tell which to add again.
void IntegerClip::AddGroup(const Group& group, Sums& sums, internal::Workers* workers) const {
  if (AddAll(group, sums, workers)) return;
  for (size_t r = 0; r < group.count; ++r) {
    const Group row = {group.format, 1, {group.rows[r]}, {group.scales[r]}};
    if (!AddAll(row, sums, workers)) AddTruncated(row, sums);
  }
}

// All rows rounded to nearest, each thread on its own range of the sums, or none and false.
//
// The check: where abs(scale x) > K for a coordinate, its integer alone has a square of K^2 or
// more. So below K^2 all are within K, and at K^2 that is left to be seen, by another reading: what
// that finds matters for the format only, since K^2 is not too much. NaN fails.
bool IntegerClip::AddAll(const Group& group, Sums& sums, internal::Workers* workers) const {
  const size_t shares = SharesFor(workers, group.count * size_);
  std::array<std::array<double, kMaxRows>, internal::Workers::kMaxThreads> squares;  // 64 KiB
  RunShares(workers, shares, [&](size_t share) {
    const internal::Range range = internal::ShareOf(size_, share, shares, kRangeGrain);
    squares[share].fill(0);
    AddRange(group, range.begin, range.end, sums, absl::MakeSpan(squares[share]));
  });
  const auto bound = static_cast<double>(norm_bound_ * norm_bound_);
  for (size_t r = 0; r < group.count; ++r) {
    double square = 0;
    for (size_t share = 0; share < shares; ++share) square += squares[share][r];
    const auto ignore = [](size_t, double) { return true; };
    if (square < bound || (square == bound && EachScaled(group, r, ignore))) continue;
    sums.Restore();
    return false;
  }
  return true;
}

void IntegerClip::AddRange(const Group& group, size_t begin, size_t end, Sums& sums,
                           absl::Span<double> squares) const {
  for (const Part& part : parts_) {
    const size_t from = std::max(begin, part.begin), to = std::min(end, part.begin + part.size);
    if (from >= to) continue;
    std::array<const void*, kMaxRows> at;
    std::array<double, kMaxRows> scales, of_part;
    for (size_t r = 0; r < group.count; ++r) {
      at[r] = static_cast<const char*>(group.rows[r]) + from * BytesOf(group.format);
      scales[r] = group.scales[r] * part.scale;
    }
    internal::AddRounded(group.format, at.data(), scales.data(), group.count, to - from,
                         sums.at.data() + from, sums.before.data() + from, of_part.data());
    for (size_t r = 0; r < group.count; ++r) squares[r] += of_part[r];
  }
}

// Calls use(i, scaled) for each coordinate, until that is false or abs(scaled) > K.
template <typename Use>
bool IntegerClip::EachScaled(const Group& group, size_t row, const Use& use) const {
  const auto limit = static_cast<double>(norm_bound_);
  for (const Part& part : parts_) {
    const double scale = group.scales[row] * part.scale;
    for (size_t i = part.begin; i < part.begin + part.size; ++i) {
      const double scaled = scale * static_cast<double>(NumberAt(group.format, group.rows[row], i));
      if (!(std::fabs(scaled) <= limit) || !use(i, scaled)) return false;
    }
  }
  return true;
}

void IntegerClip::AddTruncated(const Group& row, Sums& sums) const {
  int64_t squares = 0;
  const auto add_if_within = [&](size_t i, double scaled) {
    const auto q = static_cast<int64_t>(scaled);
    squares += q * q;
    sums.at[i] += q;
    return squares <= norm_bound_ * norm_bound_;
  };
  if (!EachScaled(row, 0, add_if_within)) sums.Restore();
}

}  // namespace dpledger::client
