// Speed of clipping into exact sums, beside the time to read the gradients once.
//
//   clip_benchmark [--seconds S]
//
// From memory, 384 MB of gradients of 1e6 numbers, one thread unless said: client/clip_two_pass
// finds the norms itself; client/clip_one_pass is given the scales, as a trainer with ghost norms
// can; client/clip_bf16 and client/clip_fp16 are two passes over gradients of 16-bit numbers;
// client/clip_..._two_threads are beside reading by two threads. Pieces of the gradients take
// turns, so that all meet the same load; the least of each counts. Prints one JSON object.
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/memory_reading.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "client/integer_clip.h"
#include "client/internal/workers.h"

namespace dpledger {
namespace {

using client::GradientRows;
using client::NumberFormat;
using client::internal::Workers;

constexpr size_t kSize = 1'000'000, kPieces = 3;
constexpr size_t kBytes = 384 * kSize, kPieceBytes = kBytes / kPieces;

// Rows of normal numbers of both signs. Each third row is shorter than the clip norm of 1.
GradientRows Fill(NumberFormat format, std::vector<char>& bytes) {
  const size_t width = client::BytesOf(format), row = kSize * width;
  std::mt19937_64 random(1);
  for (size_t i = 0; i < 3 * kSize; ++i) {
    const uint64_t word = random();
    if (format == NumberFormat::kFloat32) {
      const auto value =
          static_cast<float>(static_cast<int32_t>(word)) * (i < kSize ? 0x1p-44f : 0x1p-39f);
      std::memcpy(bytes.data() + i * width, &value, width);
    } else {
      // Exponents of float16 from 2^-15 or 2^-7 on, of bfloat16 as small.
      const uint64_t lowest = format == NumberFormat::kFloat16 ? 0x0400 : 0x3800;
      const auto bits = static_cast<uint16_t>((word & 0x83ff) + lowest + (i < kSize ? 0 : 0x1000));
      std::memcpy(bytes.data() + i * width, &bits, width);
    }
  }
  for (size_t r = 3; r < kBytes / row; ++r) {
    std::memcpy(bytes.data() + r * row, bytes.data() + r % 3 * row, row);
  }
  return {bytes.data(), kBytes / row, kSize, format};
}

uint64_t Read(const GradientRows& rows, Workers* workers) {
  if (workers == nullptr) return bench::ReadMemory(rows.first, kPieceBytes);
  std::vector<uint64_t> sums(workers->threads());
  workers->Run([&](size_t share) {
    const auto range = client::internal::ShareOf(kPieceBytes, share, sums.size(), 4096);
    sums[share] = bench::ReadMemory(static_cast<const char*>(rows.first) + range.begin,
                                    range.end - range.begin);
  });
  return sums[0] + sums[1];
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const auto two = bench::Must(Workers::Create(2));
  const auto clip = bench::Must(client::IntegerClip::Create(kSize, 1, int64_t{1} << 24));
  std::vector<char> bytes(kBytes);
  std::vector<int64_t> sums(kSize), spare(kSize);
  uint64_t used = 0;
  bench::Report report("client/");
  // `scales`: none for two passes alone.
  const auto measure = [&](const std::string& name, const GradientRows& rows,
                           const std::vector<double>& scales, Workers* workers, double share) {
    bench::Turns turns;
    for (size_t round = 0; round < 3 * kPieces || turns.spent() < share * seconds; ++round) {
      const size_t count = rows.count / kPieces, first = round % kPieces * count;
      const GradientRows piece = {rows.At(first), count, rows.stride, rows.format};
      turns.Time("read", kPieceBytes, 1, [&] { used += Read(piece, workers); });
      turns.Time("two_pass", kPieceBytes, 1, [&] {
        clip.AddClipped(piece, absl::MakeSpan(sums), {}, workers, absl::MakeSpan(spare));
      });
      if (scales.empty()) continue;
      turns.Time("one_pass", kPieceBytes, 1, [&] {
        clip.AddScaled(piece, absl::MakeConstSpan(scales).subspan(first, count),
                       absl::MakeSpan(sums), workers, absl::MakeSpan(spare));
      });
    }
    constexpr double kToMs = 1e-6 * kBytes;
    const double limit = kToMs * turns.least("read");
    const std::string threads = workers == nullptr ? "" : "_two_threads";
    if (scales.empty()) {
      report.Add("clip_" + name, kToMs * turns.least("two_pass"), "ms", limit);
    } else {
      report.Add("clip_two_pass" + threads, kToMs * turns.least("two_pass"), "ms", limit);
      report.Add("clip_one_pass" + threads, kToMs * turns.least("one_pass"), "ms", limit);
    }
  };
  const GradientRows floats = Fill(NumberFormat::kFloat32, bytes);
  std::vector<double> norms(floats.count), scales;
  clip.AddClipped(floats, absl::MakeSpan(sums), absl::MakeSpan(norms));
  for (const double norm : norms) scales.push_back(clip.ScaleFor(norm));
  measure("", floats, scales, nullptr, 0.4);
  measure("", floats, scales, two.get(), 0.2);
  measure("bf16", Fill(NumberFormat::kBfloat16, bytes), {}, nullptr, 0.2);
  measure("fp16", Fill(NumberFormat::kFloat16, bytes), {}, nullptr, 0.2);
  if (used == 0) bench::Die("nothing was read");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
