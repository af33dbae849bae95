// Speed of clipping into exact sums, beside the time to read the gradients once.
//
//   clip_benchmark [--seconds S]
//
// From memory, 384 MB of gradients of 1e6 numbers, one thread: client/clip_two_pass finds the norms
// itself; client/clip_one_pass is given the scales, as a trainer with ghost norms can. Pieces of
// the gradients take turns, so that all meet the same load; the least of each counts. Prints one
// JSON object.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/memory_reading.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "client/integer_clip.h"

namespace dpledger {
namespace {

using client::GradientRows;

constexpr size_t kSize = 1'000'000, kRows = 96, kPieces = 3;
constexpr size_t kBytes = kRows * kSize * sizeof(float), kPieceBytes = kBytes / kPieces;

// Rows of normal numbers of both signs. Each third row is shorter than the clip norm of 1.
std::vector<float> MakeGradients() {
  std::vector<float> numbers(kRows * kSize);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < 3 * kSize; ++i) {
    numbers[i] =
        static_cast<float>(static_cast<int32_t>(random())) * (i < kSize ? 0x1p-44f : 0x1p-39f);
  }
  std::copy(numbers.begin(), numbers.end() - 3 * kSize, numbers.begin() + 3 * kSize);
  return numbers;
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const auto clip = bench::Must(client::IntegerClip::Create(
      {client::ClipPart{kSize}}, client::ClipToNorm{1}, int64_t{1} << 24));
  const std::vector<float> numbers = MakeGradients();
  const GradientRows rows = {numbers.data(), kRows, kSize};
  std::vector<int64_t> sums(kSize), spare(kSize);
  std::vector<double> norms(kRows), scales;
  clip.AddClipped(rows, absl::MakeSpan(sums), absl::MakeSpan(norms));
  for (const double norm : norms) scales.push_back(clip.ScaleFor(norm));
  uint64_t used = 0;
  bench::Turns turns;
  for (size_t round = 0; round < 3 * kPieces || turns.spent() < seconds; ++round) {
    constexpr size_t kCount = kRows / kPieces;
    const size_t first = round % kPieces * kCount;
    const GradientRows piece = {rows.At(first), kCount, kSize};
    turns.Time("read", kPieceBytes, 1,
               [&] { used += bench::ReadMemory(piece.first, kPieceBytes); });
    turns.Time("two_pass", kPieceBytes, 1, [&] {
      clip.AddClipped(piece, absl::MakeSpan(sums), {}, nullptr, absl::MakeSpan(spare));
    });
    turns.Time("one_pass", kPieceBytes, 1, [&] {
      clip.AddScaled(piece, absl::MakeConstSpan(scales).subspan(first, kCount),
                     absl::MakeSpan(sums), nullptr, absl::MakeSpan(spare));
    });
  }
  if (used == 0) bench::Die("nothing was read");
  bench::Report report("client/");
  constexpr double kToMs = 1e-6 * kBytes;
  for (const char* pass : {"two_pass", "one_pass"}) {
    report.Add(absl::StrCat("clip_", pass), kToMs * turns.least(pass), "ms",
               kToMs * turns.least("read"));
  }
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
