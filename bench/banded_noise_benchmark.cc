// Speed of banded correlated noise, one thread: what a step does for its band beside its clipping
// and its noise, that is to weigh the past sums into the message and the past estimates out of it.
//
//   banded_noise_benchmark [--seconds S]
//
// client/banded_noise_{4,16,64} is the time a coordinate for bands of so many coefficients, beside
// the time to read b + 1 sums (8 bytes) and estimates (4 bytes) once from memory: the b - 1 that
// are kept, and two for the step's own. They take turns, so that both meet the same load; the
// least of each counts. Prints one JSON object.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/memory_reading.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "client/internal/band_kernels.h"

namespace dpledger {
namespace {

using client::internal::DecodeBand;
using client::internal::EncodeBand;
using client::internal::HistorySize;

// Of what is kept, for every band; no cache holds it and as much again. In pieces of a millisecond
// or two, which take turns.
constexpr size_t kBytes = size_t{384} << 20;
constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr size_t kPieces = kBytes / kPieceBytes;

// Times "banded_noise_B" and "read_B", a coordinate.
void Measure(size_t coefficients, double seconds, bench::Turns& turns) {
  const size_t band = coefficients - 1;
  const size_t pair_bytes = sizeof(int64_t) + sizeof(float);
  const size_t size = kPieceBytes / pair_bytes / (coefficients + 1) / 64 * 64;
  std::vector<uint32_t> a;
  for (size_t j = 0; j < coefficients; ++j) {
    a.push_back(static_cast<uint32_t>(1024 / std::sqrt(1.0 + static_cast<double>(j))));
  }
  const size_t history = HistorySize(band, size), bytes = pair_bytes * (coefficients + 1) * size;
  std::vector<int64_t> past_sums(kPieces * history, 1), sums(kPieces * size, 1), message(size);
  std::vector<float> past_estimates(kPieces * history, 1), estimates(kPieces * size);
  const std::vector<char> memory(kPieces * bytes, 1);
  const double end = turns.spent() + seconds;
  uint64_t used = 0;
  for (size_t round = 0; round < kPieces || turns.spent() < end; ++round) {
    const size_t piece = round % kPieces, step = round / kPieces;
    turns.Time(absl::StrCat("read_", coefficients), size, 1,
               [&] { used += bench::ReadMemory(memory.data() + piece * bytes, bytes); });
    turns.Time(absl::StrCat("banded_noise_", coefficients), size, 1, [&] {
      EncodeBand(a.data(), band, step, size, sums.data() + piece * size,
                 past_sums.data() + piece * history, message.data());
      DecodeBand(a.data(), band, step, size, message.data(),
                 past_estimates.data() + piece * history, estimates.data() + piece * size);
    });
  }
  if (used == 0) bench::Die("nothing was read");
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  bench::Turns turns;
  bench::Report report("client/");
  for (const size_t coefficients : {4, 16, 64}) {
    Measure(coefficients, seconds / 3, turns);
    const std::string name = absl::StrCat("banded_noise_", coefficients);
    report.Add(name, turns.least(name), "ns", turns.least(absl::StrCat("read_", coefficients)));
  }
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
