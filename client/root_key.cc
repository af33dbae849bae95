#include "client/root_key.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "client/internal/state_bytes.h"

namespace dpledger::client {

namespace {

std::atomic<uint64_t> forks = 0;

// Of this process, and of those that it came from, since the first call.
uint64_t Forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  if (registered != 0) std::abort();  // no memory: a fork would go unnoticed
  return forks;
}

}  // namespace

RootKey::RootKey() : generator_(GeneratorOfThisMachine()), process_(getpid()), forks_(Forks()) {}

absl::StatusOr<RootKey> RootKey::FromKernel() {
  RootKey root;
  const size_t size = KeyBytes(root.generator_);
  ssize_t got;
  do {
    got = getrandom(root.key_.data(), size, /*flags=*/0);
  } while (got < 0 && errno == EINTR);
  // Up to 256 bytes come whole or not at all.
  if (got != static_cast<ssize_t>(size)) {
    return absl::UnavailableError(ErrnoError(errno, "getrandom", "the root key").message());
  }
  return root;
}

RootKey RootKey::NonPrivateForTesting(uint64_t seed) {
  RootKey root;
  std::memcpy(root.key_.data(), "non-priv", 8);
  // Big-endian.
  seed = __builtin_bswap64(internal::LittleEndian(seed));
  std::memcpy(root.key_.data() + 8, &seed, 8);
  root.non_private_ = true;
  return root;
}

void RootKey::Save(internal::StateWriter& to) const {
  to.Number(static_cast<uint64_t>(generator_));
  to.Number(non_private_ ? 1 : 0);
  to.Array(absl::MakeConstSpan(key_));
}

absl::StatusOr<RootKey> RootKey::Restore(internal::StateReader& from) {
  RootKey root;
  const uint64_t generator = from.Number();
  root.non_private_ = from.Number() != 0;
  from.Array(absl::MakeSpan(root.key_));
  if (!from.ok()) return absl::DataLossError("run state: has no whole key");
  if (generator != static_cast<uint64_t>(root.generator_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("run state: its key is for another generator than this machine's, ",
                     GeneratorName(root.generator_), ": carry the run on where it was begun"));
  }
  return root;
}

RootKey::RootKey(RootKey&& other)
    : key_(other.key_),
      generator_(other.generator_),
      process_(other.process_),
      forks_(other.forks_),
      non_private_(other.non_private_) {
  OPENSSL_cleanse(other.key_.data(), other.key_.size());
  other.non_private_ = true;
}

RootKey::~RootKey() { OPENSSL_cleanse(key_.data(), key_.size()); }

absl::Status RootKey::CheckSafeToDraw() const {
  if (getpid() != process_ || forks != forks_) {
    return absl::FailedPreconditionError(
        "this process was forked after its random key was drawn, so both would use the same noise: "
        "create privatizers and samplers after the fork");
  }
  if (std::fegetround() != FE_TONEAREST) {
    return absl::FailedPreconditionError(
        "the floating-point rounding mode must be to nearest while noise is drawn");
  }
  return absl::OkStatus();
}

KeyStream RootKey::Derive(KeyPurpose purpose, uint64_t step) const {
  const size_t size = KeyBytes(generator_);
  std::array<uint64_t, 4> words = {};
  KeyStream(generator_, key())
      .Words(static_cast<uint64_t>(purpose), step * (size / 16),
             absl::MakeSpan(words).first(size / 8));
  for (uint64_t& word : words) word = internal::LittleEndian(word);
  std::array<uint8_t, 32> derived;
  std::memcpy(derived.data(), words.data(), size);
  KeyStream stream(generator_, {derived.data(), size});
  OPENSSL_cleanse(derived.data(), derived.size());
  OPENSSL_cleanse(words.data(), sizeof(words));
  return stream;
}

}  // namespace dpledger::client
