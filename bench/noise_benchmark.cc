// Speed of exact noise, one thread: rounded Gaussians of sigma = 2^24 added to sums
// that stay in the second cache, by the sample.
//
//   noise_benchmark [--seconds S]
//
// client/noise beside the key stream's bytes for it, in turns, so that they meet the same load; the
// least of each counts. Prints one JSON object.
#include <cstdint>
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
constexpr int kLeastRounds = 48;

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
  KeyStream key = client::RootKey::NonPrivateForTesting(7).Derive(client::KeyPurpose::kNoise, 0);
  std::vector<int64_t> sums(kSums);

  bench::Turns turns;
  uint64_t used = 0;
  for (int round = 0; round < kLeastRounds || turns.spent() < seconds; ++round) {
    turns.Time("bits", kSums, 1, [&] { used += Draw(key); });
    turns.Time("noise", kSums, 1, [&] { gaussian.AddTo(key, 0, absl::MakeSpan(sums)); });
  }
  if (used == 0) bench::Die("nothing was drawn");
  bench::Report("client/").Add("noise", turns.least("noise"), "ns/sample", turns.least("bits"));
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
