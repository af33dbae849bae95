// Speed of the client's random bits and of Poisson sampling, one thread.
//
//   random_benchmark [--seconds S]
//
// client/random_bits: a key stream's words, made in pieces that stay in the nearest cache, beside
// reading as many bytes once from memory; client/random_bits_chacha20 what a machine without AES
// instructions uses; client/random_bits_two_threads half of the bytes each, beside one thread.
// client/poisson_sampling: a sample at q = 1e-4 of 1e9 records, by the index, beside 8 bytes of the
// key stream; client/poisson_sampling_dense at q = 1e-2 of 1e7. All take turns, so that they meet
// the same load; the least of each counts. Prints one JSON object.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
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
constexpr uint64_t kPopulation = 1'000'000'000, kDensePopulation = 10'000'000;

// `bytes` of stream `stream` in pieces of 8 KiB, as the noise takes them.
uint64_t Draw(KeyStream& key, uint64_t stream, size_t bytes) {
  std::vector<uint64_t> words(1024);
  uint64_t used = 0;
  for (size_t block = 0; 16 * block < bytes; block += words.size() / 2) {
    key.Words(stream, block, absl::MakeSpan(words));
    used += words[block % words.size()];
  }
  return used;
}

KeyStream TestKey(client::Generator generator) {
  const std::vector<uint8_t> key(client::KeyBytes(generator), 7);
  return KeyStream(generator, key);
}

struct Sampling {
  const char* name;
  std::unique_ptr<client::PoissonSampler> sampler;
  double ns = 1e9;  // an index
};

Sampling MakeSampling(const char* name, uint64_t population, double probability) {
  return {name, bench::Must(client::PoissonSampler::Create({population, probability}))};
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const std::vector<char> memory(kBytes, 1);
  const client::Generator generator = client::GeneratorOfThisMachine();
  Sampling samplings[] = {MakeSampling("poisson_sampling", kPopulation, 1e-4),
                          MakeSampling("poisson_sampling_dense", kDensePopulation, 1e-2)};
  KeyStream key = TestKey(generator), chacha = TestKey(client::Generator::kChaCha20);

  bench::Turns turns;
  uint64_t used = 0;
  for (size_t round = 0; round < 16 || turns.spent() < seconds; ++round) {
    const char* piece = memory.data() + round % (kBytes / kPiece) * kPiece;
    turns.Time("read", kPiece, 1, [&] { used += bench::ReadMemory(piece, kPiece); });
    turns.Time("bits", kPiece, 1, [&] { used += Draw(key, 0, kPiece); });
    turns.Time("bits_two_threads", kPiece, 1, [&] {
      std::thread other([&] {
        KeyStream own = TestKey(generator);
        Draw(own, 1, kPiece / 2);
      });
      used += Draw(key, 0, kPiece / 2);
      other.join();
    });
    turns.Time("bits_chacha20", kPiece / 8, 1, [&] { used += Draw(chacha, 0, kPiece / 8); });
    for (Sampling& sampling : samplings) {
      size_t size = 0;
      const double took = turns.Time(sampling.name, 1, 1,
                                     [&] { size = bench::Must(sampling.sampler->Draw()).size(); });
      sampling.ns = std::min(sampling.ns, took / static_cast<double>(size));
    }
  }
  if (used == 0) bench::Die("nothing was read");

  bench::Report report("client/");
  // Of a byte, in ns; of kBytes, in ms.
  const double read = turns.least("read"), bits = turns.least("bits"), to_ms = 1e-6 * kBytes;
  report.Add("random_bits", to_ms * bits, "ms", to_ms * read);
  report.Add("random_bits_two_threads", to_ms * turns.least("bits_two_threads"), "ms",
             to_ms * bits);
  report.Add("random_bits_chacha20", to_ms * turns.least("bits_chacha20"), "ms", to_ms * read);
  for (const Sampling& sampling : samplings) {
    report.Add(sampling.name, sampling.ns, "ns/index", 8 * bits);
  }
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
