// Speed of clipping into exact sums, beside the time to read the gradients once.
//
//   clip_benchmark [--seconds S]
//
// From memory, 384 MB of gradients of 1e6 numbers, one thread unless said: client/clip_two_pass
// finds the norms itself; client/clip_one_pass is given the scales, as a trainer with ghost norms
// can; client/clip_scalar_loop is the plain text of the format, with a plain loop of additions;
// client/clip_bf16 and client/clip_fp16 are two passes over gradients of 16-bit numbers;
// client/clip_..._two_threads are beside reading by two threads. client/clip_beyond_l3 is two
// passes over 4 gradients that leave no third-level cache room for one and its sums;
// client/clip_cache_resident over one gradient of 1e5, 64 times, beside reading it from the second
// level. client/clip_float_path is the two passes beside the same into float sums (float_clip.h).
//
// The plain loop is slow: it gets one row a piece, and its time is scaled up.
// All that add the same integers are checked against it. Those of one group take turns,
// so that they meet the same load; the least times count. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/float_clip.h"
#include "bench/memory_reading.h"
#include "bench/program.h"
#include "client/integer_clip.h"
#include "client/internal/workers.h"

namespace dpledger {
namespace {

using client::GradientRows;
using client::IntegerClip;
using client::NumberFormat;
using client::internal::Workers;

constexpr size_t kSize = 1'000'000;
constexpr size_t kRows = 96;
constexpr size_t kBytes = 4 * kSize * kRows;
constexpr size_t kPieces = 3;
constexpr size_t kCheckedRows = 8;

using Work = std::function<void(size_t piece)>;

// The time of each of `works`, which take turns for about `seconds`. It is the sum of the least
// times of its pieces: another's load only adds, and seldom leaves a long time alone.
std::vector<double> LeastSeconds(double seconds, size_t pieces, const std::vector<Work>& works) {
  std::vector<std::vector<double>> least(works.size(), std::vector<double>(pieces, 1e9));
  double spent = 0;
  for (int turn = 0; turn < 3 || spent < seconds; ++turn) {
    for (size_t i = 0; i < works.size(); ++i) {
      for (size_t piece = 0; piece < pieces; ++piece) {
        const auto start = std::chrono::steady_clock::now();
        works[i](piece);
        const auto took = std::chrono::steady_clock::now() - start;
        const double took_seconds = std::chrono::duration<double>(took).count();
        least[i][piece] = std::min(least[i][piece], took_seconds);
        spent += took_seconds;
      }
    }
  }
  std::vector<double> sums;
  for (const auto& of_work : least) {
    sums.push_back(std::accumulate(of_work.begin(), of_work.end(), 0.0));
  }
  return sums;
}

// Seconds as milliseconds.
class Report {
 public:
  void Add(const char* name, double seconds, double limit) {
    figures_.Add(name, 1e3 * seconds, "ms", 1e3 * limit);
  }

 private:
  bench::Report figures_{"client/"};
};

IntegerClip ClipOf(size_t size) {
  return bench::Must(IntegerClip::Create(size, 1, int64_t{1} << 24));
}

// Memory that every measurement fills with its own gradients.
class Memory {
 public:
  Memory() : bytes_(kBytes) {}

  // Rows of normal numbers of both signs. Each third row is shorter than the clip norm of 1.
  GradientRows Fill(NumberFormat format, size_t size) {
    const size_t width = client::BytesOf(format);
    const GradientRows rows = {bytes_.data(), kBytes / width / size, size, format};
    std::mt19937_64 random(1);
    for (size_t i = 0; i < std::min<size_t>(3, rows.count) * size; ++i) {
      const uint64_t word = random();
      if (format == NumberFormat::kFloat32) {
        const auto value =
            static_cast<float>(static_cast<int32_t>(word)) * (i < size ? 0x1p-44f : 0x1p-39f);
        std::memcpy(bytes_.data() + i * width, &value, width);
      } else {
        // Exponents of float16 from 2^-15 or 2^-7 on, of bfloat16 as small.
        const uint64_t lowest = format == NumberFormat::kFloat16 ? 0x0400 : 0x3800;
        const auto bits = static_cast<uint16_t>((word & 0x83ff) + lowest + (i < size ? 0 : 0x1000));
        std::memcpy(bytes_.data() + i * width, &bits, width);
      }
    }
    const size_t row = size * width;
    for (size_t r = 3; r < rows.count; ++r) {
      std::memcpy(bytes_.data() + r * row, bytes_.data() + r % 3 * row, row);
    }
    return rows;
  }

  void Read(size_t piece, size_t pieces) {
    used_ += bench::ReadMemory(bytes_.data() + piece * kBytes / pieces, kBytes / pieces);
  }
  void Read(size_t piece, Workers& workers) {
    std::vector<uint64_t> sums(workers.threads());
    workers.Run([&](size_t share) {
      const auto range = client::internal::ShareOf(kBytes / kPieces, share, sums.size(), 4096);
      sums[share] = bench::ReadMemory(bytes_.data() + piece * kBytes / kPieces + range.begin,
                                      range.end - range.begin);
    });
    used_ += std::accumulate(sums.begin(), sums.end(), uint64_t{0});
  }
  void ReadFirst(size_t bytes) { used_ += bench::ReadCache(bytes_.data(), bytes); }
  uint64_t used() const { return used_; }

 private:
  std::vector<char> bytes_;
  uint64_t used_ = 0;  // so that no reading is optimised away
};

GradientRows PieceOf(const GradientRows& rows, size_t piece, size_t pieces) {
  const size_t count = rows.count / pieces;
  return {rows.At(piece * count), count, rows.stride, rows.format};
}

void CheckSame(const std::vector<int64_t>& sums, const std::vector<int64_t>& expected) {
  if (sums != expected) bench::Die("the sums differ from the plain loop's");
}

// The sums of the first rows, one coordinate after the other.
std::vector<int64_t> ScalarSums(const IntegerClip& clip, const GradientRows& rows, size_t count) {
  std::vector<int64_t> sums(clip.size()), spare(clip.size());
  std::vector<int32_t> clipped(clip.size());
  std::vector<float> row(clip.size());
  for (size_t r = 0; r < count; ++r) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = client::NumberAt(rows.format, rows.At(r), i);
    clip.Clip(row, absl::MakeSpan(clipped));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += clipped[i];
  }
  return sums;
}

void MeasureFloats(double seconds, Memory& memory, Workers& two, Report& report) {
  const GradientRows rows = memory.Fill(NumberFormat::kFloat32, kSize);
  const IntegerClip clip = ClipOf(kSize);
  std::vector<int64_t> spare(kSize), sums(kSize), expected = ScalarSums(clip, rows, kCheckedRows);
  const GradientRows few = {rows.first, kCheckedRows, kSize};
  std::vector<double> norms(kRows), scales;
  for (Workers* workers : {static_cast<Workers*>(nullptr), &two}) {
    std::fill(sums.begin(), sums.end(), 0);
    clip.AddClipped(few, absl::MakeSpan(sums), {}, workers);
    CheckSame(sums, expected);
  }
  clip.AddClipped(rows, absl::MakeSpan(sums), absl::MakeSpan(norms));
  for (const double norm : norms) scales.push_back(clip.ScaleFor(norm));

  std::vector<float> float_sums(kSize);
  const auto clipped = [&](Workers* workers) -> Work {
    return [&, workers](size_t piece) {
      clip.AddClipped(PieceOf(rows, piece, kPieces), absl::MakeSpan(sums), {}, workers,
                      absl::MakeSpan(spare));
    };
  };
  const auto scaled = [&](Workers* workers) -> Work {
    return [&, workers](size_t piece) {
      const GradientRows some = PieceOf(rows, piece, kPieces);
      clip.AddScaled(some, absl::MakeConstSpan(scales).subspan(piece * some.count, some.count),
                     absl::MakeSpan(sums), workers, absl::MakeSpan(spare));
    };
  };
  const std::vector<double> least = LeastSeconds(
      seconds, kPieces,
      {[&](size_t piece) { memory.Read(piece, kPieces); },
       [&](size_t piece) { memory.Read(piece, two); }, clipped(nullptr), scaled(nullptr),
       clipped(&two), scaled(&two),
       [&](size_t piece) { bench::AddFloatClipped(PieceOf(rows, piece, kPieces), 1, float_sums); },
       [&](size_t) { ScalarSums(clip, rows, 1); }});
  report.Add("clip_two_pass", least[2], least[0]);
  report.Add("clip_one_pass", least[3], least[0]);
  report.Add("clip_two_pass_two_threads", least[4], least[1]);
  report.Add("clip_one_pass_two_threads", least[5], least[1]);
  report.Add("clip_float_path", least[2], least[6]);
  report.Add("clip_scalar_loop", least[7] * kRows / kPieces, least[0]);
}

void MeasureRows(const char* name, double seconds, size_t pieces, const GradientRows& rows,
                 Memory& memory, Report& report) {
  const IntegerClip clip = ClipOf(rows.stride);
  std::vector<int64_t> sums(clip.size()), spare(clip.size());
  clip.AddClipped({rows.first, 2, rows.stride, rows.format}, absl::MakeSpan(sums));
  CheckSame(sums, ScalarSums(clip, rows, 2));
  const std::vector<double> least =
      LeastSeconds(seconds, pieces,
                   {[&](size_t piece) { memory.Read(piece, pieces); },
                    [&](size_t piece) {
                      clip.AddClipped(PieceOf(rows, piece, pieces), absl::MakeSpan(sums), {},
                                      nullptr, absl::MakeSpan(spare));
                    }});
  report.Add(name, least[1], least[0]);
}

void MeasureCacheResident(double seconds, Memory& memory, Report& report) {
  constexpr size_t kSmall = 100'000, kTimes = 64;
  GradientRows rows = memory.Fill(NumberFormat::kFloat32, kSmall);
  rows.count = kTimes;
  rows.stride = 0;  // the same one, again and again
  const IntegerClip clip = ClipOf(kSmall);
  std::vector<int64_t> sums(kSmall), spare(kSmall);
  const auto read = [&](size_t) {
    for (size_t time = 0; time < kTimes; ++time) memory.ReadFirst(kSmall * sizeof(float));
  };
  const auto add = [&](size_t) {
    clip.AddClipped(rows, absl::MakeSpan(sums), {}, nullptr, absl::MakeSpan(spare));
  };
  const std::vector<double> least = LeastSeconds(seconds, 1, {read, add});
  report.Add("clip_cache_resident", least[1], least[0]);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  auto two = bench::Must(Workers::Create(2));
  Memory memory;
  Report report;
  MeasureFloats(0.5 * seconds, memory, *two, report);
  MeasureRows("clip_bf16", 0.15 * seconds, kPieces, memory.Fill(NumberFormat::kBfloat16, kSize),
              memory, report);
  MeasureRows("clip_fp16", 0.15 * seconds, kPieces, memory.Fill(NumberFormat::kFloat16, kSize),
              memory, report);
  MeasureRows("clip_beyond_l3", 0.15 * seconds, 1,
              memory.Fill(NumberFormat::kFloat32, kSize * kRows / 4), memory, report);
  MeasureCacheResident(0.05 * seconds, memory, report);
  if (memory.used() == 0) bench::Die("nothing was read");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
