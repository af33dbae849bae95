// Speed of exact noise, one thread unless said: rounded Gaussians of sigma = 2^24 added to sums
// that stay in the second cache, by the sample.
//
//   noise_benchmark [--seconds S]
//
// client/noise beside the key stream's bytes for it; client/noise_two_threads half of the samples
// each, beside one thread. client/finalise: sums in memory plus noise, scaled to floats, beside
// copying the floats. All take turns, so that they meet the same load; the least of each counts.
// Prints one JSON object.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/program.h"
#include "bench/turns.h"
#include "client/root_key.h"
#include "client/rounded_gaussian.h"

namespace dpledger {
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

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const RoundedGaussian gaussian(kSigma);
  KeyStream key = TestKey();
  std::vector<int64_t> sums(kSums), memory_sums(kFloats, 12345);
  std::vector<float> released(kFloats), copied(kFloats);

  bench::Turns turns;
  uint64_t used = 0;
  for (int round = 0; round < 3 || turns.spent() < seconds; ++round) {
    for (int i = 0; i < kRepeats; ++i) {
      turns.Time("bits", kSums, 1, [&] { used += Draw(key); });
      turns.Time("noise", kSums, 1, [&] { gaussian.AddTo(key, 0, absl::MakeSpan(sums)); });
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
  const double exact = turns.least("noise");
  figures.Add("noise", exact, "ns/sample", turns.least("bits"));
  figures.Add("noise_two_threads", turns.least("noise_two_threads") / kRepeats, "ns/sample", exact);
  figures.Add("finalise", turns.least("finalise"), "ns/sample", turns.least("copy"));
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
