// Speed of banded correlated noise, one thread: what a step does for its band beside its clipping
// and its noise, that is to weigh the past sums into the message and the past estimates out of it.
//
//   banded_noise_benchmark [--seconds S]
//
// client/banded_noise_{4,16,64} is the time a coordinate for bands of so many coefficients, beside
// the time to read b + 1 sums (8 bytes) and estimates (4 bytes) once from memory: the b - 1 that
// are kept, and two for the step's own. They take turns, so that both meet the same load; the
// least of each counts. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/memory_reading.h"
#include "bench/program.h"
#include "client/internal/band_kernels.h"

namespace dpledger {
namespace {

using client::internal::DecodeBand;
using client::internal::EncodeBand;
using client::internal::HistorySize;

// Of what is read, for every band; no cache holds it.
constexpr size_t kBytes = size_t{400} << 20;
// As the privatizer takes them: a message stays in the cache from noise to estimate.
constexpr size_t kPiece = size_t{1} << 17;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Another's load only adds.
double Least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

struct Times {
  double step = 0, reading = 0;  // nanoseconds a coordinate
};

Times Measure(size_t coefficients, double seconds) {
  const size_t band = coefficients - 1;
  const size_t size = kBytes / 12 / (coefficients + 1) / kPiece * kPiece;
  std::vector<uint32_t> a;
  for (size_t j = 0; j < coefficients; ++j) {
    a.push_back(static_cast<uint32_t>(1024 / std::sqrt(1.0 + static_cast<double>(j))));
  }
  std::vector<int64_t> past_sums(HistorySize(band, size), 1), sums(size, 1), message(kPiece);
  std::vector<float> past_estimates(HistorySize(band, size), 1), estimates(size);
  const std::vector<char> memory(12 * (coefficients + 1) * size, 1);
  uint64_t used = 0, step = 0;
  double spent = 0;
  std::vector<double> read, worked;
  while (spent < seconds || read.size() < 3) {
    read.push_back(SecondsOf([&] { used += bench::ReadMemory(memory.data(), memory.size()); }));
    ++step;
    worked.push_back(SecondsOf([&] {
      for (size_t i = 0; i < size; i += kPiece) {
        EncodeBand(a.data(), band, step, kPiece, sums.data() + i, past_sums.data() + i * band,
                   message.data());
        DecodeBand(a.data(), band, step, kPiece, message.data(), past_estimates.data() + i * band,
                   estimates.data() + i);
      }
    }));
    spent += read.back() + worked.back();
  }
  if (used == 0) bench::Die("nothing was read");
  const double unit = 1e9 / static_cast<double>(size);
  return {Least(worked) * unit, Least(read) * unit};
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  std::string separator = "{\n";
  for (const size_t coefficients : {4, 16, 64}) {
    const Times times = Measure(coefficients, seconds / 3);
    std::printf(
        "%s  \"client/banded_noise_%zu\": {\"value\": %.4g, \"unit\": \"ns\", \"limit\": %.4g, "
        "\"ratio\": %.4g}",
        separator.c_str(), coefficients, times.step, times.reading, times.step / times.reading);
    separator = ",\n";
  }
  std::printf("\n}\n");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
