// Speed of clipping into exact sums, one thread: the time to clip and add a matrix of gradients
// that no cache holds, beside the time to read it once from memory.
//
//   clip_benchmark [--seconds S]
//
// client/clip_two_pass finds the norms itself; client/clip_one_pass is given the scales, as a
// trainer with ghost norms can; client/clip_scalar_loop is the plain text of the format, with a
// plain loop of additions. All add the same integers, which is checked. They take turns with the
// reading, so that all meet the same load; the least of each counts. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/memory_reading.h"
#include "bench/program.h"
#include "client/integer_clip.h"

namespace dpledger {
namespace {

constexpr size_t kSize = 1'000'000;
constexpr size_t kRows = 96;
// The plain loop is slow: it gets some of the rows, and its time is scaled up.
constexpr size_t kScalarRows = 8;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Another's load only adds.
double Least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Two in three are longer than the clip norm of 1.
std::vector<float> Gradients() {
  std::mt19937_64 random(1);
  std::vector<float> values(kSize * kRows);
  for (size_t row = 0; row < kRows; ++row) {
    const float unit = 0x1p-41f * static_cast<float>(row % 3);
    for (size_t i = 0; i < kSize; ++i) {
      values[row * kSize + i] = unit * static_cast<float>(static_cast<int32_t>(random()));
    }
  }
  return values;
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const auto clip = client::IntegerClip::Create(kSize, 1, int64_t{1} << 24);
  bench::Check(clip.status());
  const std::vector<float> gradients = Gradients();
  const client::GradientRows rows = {gradients.data(), kRows, kSize};
  std::vector<double> scales;
  for (size_t row = 0; row < kRows; ++row) {
    const absl::Span<const float> gradient(gradients.data() + row * kSize, kSize);
    scales.push_back(clip->ScaleFor(std::sqrt(client::SquaredNormUp(gradient)) * (1 + 1e-15)));
  }
  std::vector<int64_t> scalar_sums(kSize), two_pass_sums(kSize), one_pass_sums(kSize);
  std::vector<int32_t> clipped(kSize);
  const auto scalar = [&] {
    for (size_t row = 0; row < kScalarRows; ++row) {
      clip->Clip({gradients.data() + row * kSize, kSize}, absl::MakeSpan(clipped));
      for (size_t i = 0; i < kSize; ++i) scalar_sums[i] += clipped[i];
    }
  };
  scalar();
  clip->AddClipped({gradients.data(), kScalarRows, kSize}, absl::MakeSpan(two_pass_sums));
  if (scalar_sums != two_pass_sums) bench::Die("the sums differ from the plain loop's");

  std::vector<double> read, two_pass, one_pass, plain;
  uint64_t used = 0;
  double spent = 0;
  while (spent < seconds || read.size() < 3) {
    read.push_back(
        SecondsOf([&] { used += bench::ReadMemory(gradients.data(), 4 * gradients.size()); }));
    two_pass.push_back(SecondsOf([&] { clip->AddClipped(rows, absl::MakeSpan(two_pass_sums)); }));
    one_pass.push_back(
        SecondsOf([&] { clip->AddScaled(rows, scales, absl::MakeSpan(one_pass_sums)); }));
    plain.push_back(SecondsOf(scalar) * kRows / kScalarRows);
    spent += read.back() + two_pass.back() + one_pass.back() + plain.back() * kScalarRows / kRows;
  }
  if (used == 0) bench::Die("nothing was read");
  const double limit = Least(read);
  std::string separator = "{\n";
  const auto report = [&](const char* name, const std::vector<double>& times) {
    std::printf(
        "%s  \"client/%s\": {\"value\": %.6g, \"unit\": \"ms\", \"limit\": %.6g, \"ratio\": %.4g}",
        separator.c_str(), name, 1e3 * Least(times), 1e3 * limit, Least(times) / limit);
    separator = ",\n";
  };
  report("clip_two_pass", two_pass);
  report("clip_one_pass", one_pass);
  report("clip_scalar_loop", plain);
  std::printf("\n}\n");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
