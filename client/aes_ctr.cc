#include "client/aes_ctr.h"

#include <openssl/crypto.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace dpledger::client {
namespace {

constexpr uint64_t SwapBytesOn(std::endian order, uint64_t word) {
  return std::endian::native == order ? __builtin_bswap64(word) : word;
}
constexpr uint64_t BigEndian(uint64_t word) { return SwapBytesOn(std::endian::little, word); }
constexpr uint64_t LittleEndian(uint64_t word) { return SwapBytesOn(std::endian::big, word); }

[[noreturn]] void Die(const char* why) {
  std::fprintf(stderr, "dpledger: %s\n", why);
  std::abort();
}

}  // namespace

AesCtr::AesCtr(const Key& key) : context_(EVP_CIPHER_CTX_new()) {
  const bool ready =
      context_ != nullptr && EVP_EncryptInit_ex(context_.get(), EVP_aes_128_ctr(), /*impl=*/nullptr,
                                                key.data(), /*iv=*/nullptr) == 1;
  if (!ready) Die("AES-128-CTR is not available, so nothing can be made private");
}

void AesCtr::Words(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words) {
  // OpenSSL counts with 128 bits, the format with 64; they agree below 2^64 blocks of a stream.
  const std::array<uint64_t, 2> counter = {BigEndian(stream), BigEndian(first_block)};
  uint8_t iv[16];
  std::memcpy(iv, counter.data(), sizeof(iv));
  bool ok = EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, iv) == 1;
  // The key stream is the encryption of zeros, in place; int lengths are why it goes in pieces.
  constexpr size_t kPiece = 1 << 20;
  std::fill(words.begin(), words.end(), 0);
  for (size_t begin = 0; ok && begin < words.size(); begin += kPiece) {
    auto* bytes = reinterpret_cast<uint8_t*>(words.data() + begin);
    const int size = static_cast<int>(8 * std::min(kPiece, words.size() - begin));
    int written = 0;
    ok = EVP_EncryptUpdate(context_.get(), bytes, &written, bytes, size) == 1 && written == size;
  }
  if (!ok) Die("AES-128-CTR failed, so no noise can be drawn");
  if constexpr (std::endian::native != std::endian::little) {
    for (uint64_t& word : words) word = LittleEndian(word);
  }
}

std::array<uint64_t, 2> AesCtr::Block(uint64_t stream, uint64_t block) {
  std::array<uint64_t, 2> words;
  Words(stream, block, absl::MakeSpan(words));
  return words;
}

RootKey::RootKey() : process_(getpid()) {}

absl::StatusOr<RootKey> RootKey::FromKernel() {
  RootKey root;
  ssize_t got;
  do {
    got = getrandom(root.key_.data(), root.key_.size(), /*flags=*/0);
  } while (got < 0 && errno == EINTR);
  // Up to 256 bytes come whole or not at all.
  if (got != static_cast<ssize_t>(root.key_.size())) {
    return absl::UnavailableError(ErrnoError(errno, "getrandom", "the root key").message());
  }
  return root;
}

RootKey RootKey::NonPrivateForTesting(uint64_t seed) {
  RootKey root;
  std::memcpy(root.key_.data(), "non-priv", 8);
  seed = BigEndian(seed);
  std::memcpy(root.key_.data() + 8, &seed, 8);
  root.non_private_ = true;
  return root;
}

RootKey::RootKey(RootKey&& other)
    : key_(other.key_), process_(other.process_), non_private_(other.non_private_) {
  OPENSSL_cleanse(other.key_.data(), other.key_.size());
  other.non_private_ = true;
}

RootKey::~RootKey() { OPENSSL_cleanse(key_.data(), key_.size()); }

absl::Status RootKey::CheckSafeToDraw() const {
  if (getpid() != process_) {
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

AesCtr RootKey::Derive(KeyPurpose purpose, uint64_t step) const {
  AesCtr root(key_);
  std::array<uint64_t, 2> words = root.Block(static_cast<uint64_t>(purpose), step);
  for (uint64_t& word : words) word = LittleEndian(word);
  AesCtr::Key key;
  std::memcpy(key.data(), words.data(), sizeof(key));
  AesCtr derived(key);
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(words.data(), sizeof(words));
  return derived;
}

}  // namespace dpledger::client
