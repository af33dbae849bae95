// Speed of the client's random bits and of Poisson sampling, one thread.
//
//   random_benchmark [--seconds S]
//
// client/random_bits: a key stream's words, made in pieces that stay in the nearest cache, beside
// reading as many bytes once from memory. client/poisson_sampling: a sample at q = 1e-4 of 1e9
// records, by the index, beside 8 bytes of the key stream. All take turns, so that they meet the
// same load; the least of each counts. Prints one JSON object.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/memory_reading.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "client/poisson_sampler.h"
#include "client/root_key.h"

namespace dpledger {
namespace {

using client::KeyStream;

// More than any cache holds, read and drawn in pieces, which take turns.
constexpr size_t kBytes = 384'000'000;
constexpr size_t kPiece = kBytes / 16;
constexpr uint64_t kPopulation = 1'000'000'000;

// kPiece bytes in pieces of 8 KiB, as the noise takes them.
uint64_t Draw(KeyStream& key) {
  std::vector<uint64_t> words(1024);
  uint64_t used = 0;
  for (size_t block = 0; 16 * block < kPiece; block += words.size() / 2) {
    key.Words(0, block, absl::MakeSpan(words));
    used += words[block % words.size()];
  }
  return used;
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const std::vector<char> memory(kBytes, 1);
  const client::Generator generator = client::GeneratorOfThisMachine();
  KeyStream key(generator, std::vector<uint8_t>(client::KeyBytes(generator), 7));
  const auto sampler = bench::Must(client::PoissonSampler::Create({kPopulation, 1e-4}));

  bench::Turns turns;
  uint64_t used = 0;
  double sampling_ns = 1e9;  // an index
  for (size_t round = 0; round < 16 || turns.spent() < seconds; ++round) {
    const char* piece = memory.data() + round % (kBytes / kPiece) * kPiece;
    turns.Time("read", kPiece, 1, [&] { used += bench::ReadMemory(piece, kPiece); });
    turns.Time("bits", kPiece, 1, [&] { used += Draw(key); });
    size_t size = 0;
    const double took =
        turns.Time("sampling", 1, 1, [&] { size = bench::Must(sampler->Draw()).size(); });
    sampling_ns = std::min(sampling_ns, took / static_cast<double>(size));
  }
  if (used == 0) bench::Die("nothing was read");

  bench::Report report("client/");
  // Of a byte, in ns; of kBytes, in ms.
  const double read = turns.least("read"), bits = turns.least("bits"), to_ms = 1e-6 * kBytes;
  report.Add("random_bits", to_ms * bits, "ms", to_ms * read);
  report.Add("poisson_sampling", sampling_ns, "ns/index", 8 * bits);
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
