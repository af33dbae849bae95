// Speed of the client's random bits and of Poisson sampling, one thread.
//
//   random_benchmark [--seconds S]
//
// client/random_bits: a key stream's words, made in pieces that stay in the nearest cache, beside
// reading as many bytes once from memory; client/random_bits_<target> by one instruction set alone;
// client/random_bits_chacha20 what a machine without AES instructions uses;
// client/random_bits_two_threads half of the bytes each, beside one thread.
// client/poisson_sampling: a sample at q = 1e-4 of 1e9 records, by the index, beside 8 bytes of the
// key stream; client/poisson_sampling_dense at q = 1e-2 of 1e8. All take turns, so that they meet
// the same load; the least of each counts. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bench/memory_reading.h"
#include "bench/program.h"
#include "client/internal/aes_kernels.h"
#include "client/poisson_sampler.h"
#include "client/root_key.h"
#include "hwy/targets.h"

namespace dpledger {
namespace {

using client::KeyStream;

constexpr size_t kBytes = 384'000'000;
// The lesser generators get some of the bytes, and their times are scaled up.
constexpr size_t kLesserShare = 4;
constexpr uint64_t kPopulation = 1'000'000'000, kDensePopulation = 100'000'000;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

// The least time, in seconds, of each of several works that take turns.
class Turns {
 public:
  double Time(const std::string& name, const std::function<void()>& work) {
    const double took = SecondsOf(work);
    spent_ += took;
    const auto [least, added] = least_.emplace(name, took);
    if (!added) least->second = std::min(least->second, took);
    return took;
  }
  double spent() const { return spent_; }
  double least(const std::string& name) const { return least_.at(name); }
  const std::map<std::string, double>& all() const { return least_; }

 private:
  double spent_ = 0;
  std::map<std::string, double> least_;
};

struct Sampling {
  std::string name;
  std::unique_ptr<client::PoissonSampler> sampler;
  double ns = 1e9;  // an index
};

Sampling MakeSampling(const std::string& name, uint64_t population, double probability) {
  auto sampler = client::PoissonSampler::Create({population, probability});
  bench::Check(sampler.status());
  return {name, *std::move(sampler)};
}

// The instruction sets with AES, least first, that this machine has.
std::vector<int64_t> AesTargets() {
  std::vector<int64_t> targets;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    if (client::internal::HasAesInstructions()) targets.push_back(left & -left);
    hwy::SetSupportedTargetsForTest(0);
  }
  return targets;
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const std::vector<char> memory(kBytes, 1);
  const client::Generator generator = client::GeneratorOfThisMachine();
  const std::vector<int64_t> targets = AesTargets();
  Sampling samplings[] = {MakeSampling("poisson_sampling", kPopulation, 1e-4),
                          MakeSampling("poisson_sampling_dense", kDensePopulation, 1e-2)};
  KeyStream key = TestKey(generator), chacha = TestKey(client::Generator::kChaCha20);

  Turns turns;
  uint64_t used = 0;
  for (int round = 0; round < 3 || turns.spent() < seconds; ++round) {
    turns.Time("read", [&] { used += bench::ReadMemory(memory.data(), memory.size()); });
    turns.Time("random_bits", [&] { used += Draw(key, 0, kBytes); });
    turns.Time("random_bits_two_threads", [&] {
      std::thread other([&] {
        KeyStream own = TestKey(generator);
        Draw(own, 1, kBytes / 2);
      });
      used += Draw(key, 0, kBytes / 2);
      other.join();
    });
    for (const int64_t target : targets) {
      hwy::SetSupportedTargetsForTest(target);
      turns.Time(absl::AsciiStrToLower(absl::StrCat("random_bits_", hwy::TargetName(target))),
                 [&] { used += Draw(key, 0, kBytes / kLesserShare); });
      hwy::SetSupportedTargetsForTest(0);
    }
    turns.Time("random_bits_chacha20", [&] { used += Draw(chacha, 0, kBytes / kLesserShare); });
    for (Sampling& sampling : samplings) {
      size_t size = 0;
      const double took = turns.Time(sampling.name, [&] {
        const auto sample = sampling.sampler->Draw();
        bench::Check(sample.status());
        size = sample->size();
      });
      sampling.ns = std::min(sampling.ns, 1e9 * took / static_cast<double>(size));
    }
  }
  if (used == 0) bench::Die("nothing was read");

  std::string separator = "{\n";
  const auto report = [&](const std::string& name, double value, const char* unit, double limit) {
    std::printf(
        "%s  \"client/%s\": {\"value\": %.6g, \"unit\": \"%s\", \"limit\": %.6g, \"ratio\": %.4g}",
        separator.c_str(), name.c_str(), value, unit, limit, value / limit);
    separator = ",\n";
  };
  const double read = 1e3 * turns.least("read"), bits = 1e3 * turns.least("random_bits");
  report("random_bits", bits, "ms", read);
  report("random_bits_two_threads", 1e3 * turns.least("random_bits_two_threads"), "ms", bits);
  for (const auto& [name, least] : turns.all()) {
    if (name.rfind("random_bits_", 0) != 0 || name == "random_bits_two_threads") continue;
    report(name, kLesserShare * 1e3 * least, "ms", read);
  }
  for (const Sampling& sampling : samplings) {
    report(sampling.name, sampling.ns, "ns/index", 1e6 * bits * 8 / kBytes);
  }
  std::printf("\n}\n");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
