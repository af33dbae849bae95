// Speed of exact noise, one thread unless said: rounded Gaussians of sigma = 2^24 added to sums
// that stay in the second cache, by the sample.
//
//   noise_benchmark [--seconds S]
//
// client/noise beside the key stream's bytes for it; client/noise_unfiltered beside the same
// arithmetic without its certificate (no distance, no range, no slow path); client/noise_<target>
// by one instruction set alone, beside the widest; client/noise_sigma_2_<n> by other sigmas, beside
// 2^24; client/noise_discrete the discrete Gaussian; client/noise_two_threads half of the samples
// each, beside one thread.
// client/finalise: sums in memory plus noise, scaled to floats, beside copying the floats. All take
// turns, so that they meet the same load; the least of each counts. Prints one JSON object.
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "client/discrete_gaussian.h"
#include "client/internal/aes_kernels.h"
#include "client/internal/noise_kernels.h"
#include "client/root_key.h"
#include "client/rounded_gaussian.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/noise_benchmark.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
#include "client/internal/noise_kernels-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {

void UnfilteredKernel(const uint64_t* words, size_t pairs, int64_t sigma_in, int64_t* noise) {
  const hn::CappedTag<double, kPairStep> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t n = hn::Lanes(d);
  const auto sigma = hn::Set(d, static_cast<double>(sigma_in));
  const auto nearest = hn::Set(d, kNearest);
  for (size_t begin = 0; begin < pairs; begin += n) {
    auto u1 = hn::LoadU(du, words + 2 * begin), u2 = hn::LoadU(du, words + 2 * begin + n);
    Exchange(u1, u2);
    const auto radius = hn::Mul(hn::Sqrt(SquaredRadius(d, u1)), sigma);
    hn::Vec<decltype(d)> x, y;
    Direction(d, u2, x, y);
    auto first = hn::BitCast(di, hn::Add(hn::Mul(x, radius), nearest));
    auto second = hn::BitCast(di, hn::Add(hn::Mul(y, radius), nearest));
    Exchange(first, second);
    hn::StoreU(hn::Sub(first, hn::BitCast(di, nearest)), di, noise + 2 * begin);
    hn::StoreU(hn::Sub(second, hn::BitCast(di, nearest)), di, noise + 2 * begin + n);
  }
}

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger {
namespace client::internal {
HWY_EXPORT(UnfilteredKernel);
}  // namespace client::internal

namespace {

using client::KeyStream;
using client::RoundedGaussian;

constexpr int64_t kSigma = int64_t{1} << 24;
constexpr size_t kBlock = 1024;  // words of the key stream at once, as the noise takes them
constexpr size_t kSums = size_t{1} << 17;
constexpr int kRepeats = 16;
// What is released, in pieces that no nearer cache has kept since the last turn.
constexpr size_t kFloats = size_t{1} << 24, kPiece = size_t{1} << 20;

KeyStream TestKey() {
  return client::RootKey::NonPrivateForTesting(7).Derive(client::KeyPurpose::kNoise, 0);
}

uint64_t Draw(KeyStream& key) {
  std::vector<uint64_t> words(kBlock);
  uint64_t used = 0;
  for (size_t begin = 0; begin < kSums; begin += kBlock) {
    key.Words(0, begin / 2, absl::MakeSpan(words));
    used += words[begin % kBlock];
  }
  return used;
}

void AddUnfiltered(KeyStream& key, std::vector<int64_t>& sums) {
  alignas(64) std::array<uint64_t, kBlock> words;
  alignas(64) std::array<int64_t, kBlock> noise;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    key.Words(0, begin / 2, absl::MakeSpan(words));
    HWY_DYNAMIC_DISPATCH(client::internal::UnfilteredKernel)
    (words.data(), kBlock / 2, kSigma, noise.data());
    client::internal::AddNoise(noise.data(), kBlock, sums.data() + begin);
  }
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const RoundedGaussian gaussian(kSigma);
  KeyStream key = TestKey();
  std::vector<int64_t> sums(kSums), memory_sums(kFloats, 12345);
  std::vector<float> released(kFloats), copied(kFloats);

  bench::Turns turns;
  uint64_t used = 0;
  for (int round = 0; round < 3 || turns.spent() < seconds; ++round) {
    const auto noise = [&] { gaussian.AddTo(key, 0, absl::MakeSpan(sums)); };
    for (int i = 0; i < kRepeats; ++i) {
      turns.Time("bits", kSums, 1, [&] { used += Draw(key); });
      turns.Time("noise", kSums, 1, noise);
      turns.Time("unfiltered", kSums, 1, [&] { AddUnfiltered(key, sums); });
      turns.Time("discrete", kSums, 1,
                 [&] { client::DiscreteGaussian(kSigma).AddTo(key, 0, 0, absl::MakeSpan(sums)); });
    }
    const auto two_threads = [&] {
      // Longer, so that the start of the thread does not count.
      std::thread other([&] {
        KeyStream own = TestKey();
        std::vector<int64_t> others(kSums / 2);
        for (int i = 0; i < kRepeats; ++i) {
          gaussian.AddTo(own, 0, kSums / 2, absl::MakeSpan(others));
        }
      });
      for (int i = 0; i < kRepeats; ++i) {
        gaussian.AddTo(key, 0, absl::MakeSpan(sums).first(kSums / 2));
      }
      other.join();
    };
    for (int i = 0; i < 4; ++i) turns.Time("noise_two_threads", kSums, 1, two_threads);
    for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      const int64_t target = left & -left;
      hwy::SetSupportedTargetsForTest(target);
      if ((target & HWY_TARGETS) != 0 && client::internal::HasAesInstructions()) {
        const std::string name = absl::AsciiStrToLower(hwy::TargetName(target));
        for (int i = 0; i < 4; ++i) turns.Time("target_" + name, kSums, 1, noise);
      }
      hwy::SetSupportedTargetsForTest(0);
    }
    for (const int bits : {20, 28, 32, 36, 40}) {
      const RoundedGaussian other(int64_t{1} << bits);
      turns.Time(absl::StrCat("sigma_2_", bits), kSums, 1,
                 [&] { other.AddTo(key, 0, absl::MakeSpan(sums)); });
    }
    for (size_t begin = 0; begin < kFloats; begin += kPiece) {
      turns.Time("finalise", kPiece, 1, [&] {
        gaussian.Release(key, 0, begin, absl::MakeSpan(memory_sums).subspan(begin, kPiece), 0x1p-24,
                         absl::MakeSpan(released).subspan(begin, kPiece));
      });
    }
    for (size_t begin = 0; begin < kFloats; begin += kPiece) {
      turns.Time("copy", kPiece, 1, [&] {
        std::memcpy(&copied[begin], &released[begin], kPiece * sizeof(float));
        used += static_cast<uint64_t>(copied[begin + used % kPiece] != 0);
      });
    }
  }
  if (used == 0) bench::Die("nothing was drawn");

  bench::Report figures("client/");
  const auto report = [&](const std::string& name, double value, double limit) {
    figures.Add(name, value, "ns/sample", limit);
  };
  const double exact = turns.least("noise");
  report("noise", exact, turns.least("bits"));
  report("noise_unfiltered", exact, turns.least("unfiltered"));
  report("noise_two_threads", turns.least("noise_two_threads") / kRepeats, exact);
  report("noise_discrete", turns.least("discrete"), exact);
  for (const auto& [name, least] : turns.all()) {
    if (name.rfind("target_", 0) == 0) report("noise_" + name.substr(7), least, exact);
    if (name.rfind("sigma_", 0) == 0) report("noise_" + name, least, exact);
  }
  report("finalise", turns.least("finalise"), turns.least("copy"));
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
#endif
