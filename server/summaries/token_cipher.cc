#include "server/summaries/token_cipher.h"

#include <cstring>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"

namespace dpledger::server {
namespace {

constexpr char kPurpose[] = "dpledger watch 1";  // and a number of the start
constexpr int kRounds = 4;
constexpr size_t kNumberBytes = 8;
constexpr size_t kCodeBytes = 8;

std::string BytesOf(uint64_t number) {
  std::string bytes(kNumberBytes, '\0');
  for (size_t i = kNumberBytes; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

}  // namespace

std::string TokenCipher::NewPurpose() {
  absl::BitGen random;
  return absl::StrCat(kPurpose, " ", absl::Uniform<uint64_t>(random));
}

uint32_t TokenCipher::Round(int round, uint32_t half) const {
  const merkle::Hash hash = key_->HashOf({"round", absl::StrCat(round), absl::StrCat(half)});
  uint32_t out = 0;
  std::memcpy(&out, hash.data(), sizeof out);
  return out;
}

std::string TokenCipher::Hide(uint64_t number) const {
  auto left = static_cast<uint32_t>(number >> 32);
  auto right = static_cast<uint32_t>(number);
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t next = left ^ Round(round, right);
    left = right;
    right = next;
  }
  const std::string hidden = BytesOf(uint64_t{left} << 32 | right);
  return HexEncode(hidden + key_->Of({"code", hidden}).substr(0, kCodeBytes));
}

std::optional<uint64_t> TokenCipher::Find(const std::string& token) const {
  const auto bytes = HexDecode(token);
  if (!bytes.ok() || bytes->size() != kNumberBytes + kCodeBytes) return std::nullopt;
  const std::string hidden = bytes->substr(0, kNumberBytes);
  if (key_->Of({"code", hidden}).substr(0, kCodeBytes) != bytes->substr(kNumberBytes)) {
    return std::nullopt;
  }
  uint64_t number = 0;
  for (const char byte : hidden) number = number << 8 | static_cast<unsigned char>(byte);
  auto left = static_cast<uint32_t>(number >> 32);
  auto right = static_cast<uint32_t>(number);
  for (int round = kRounds; round-- > 0;) {
    const uint32_t before = right ^ Round(round, left);
    right = left;
    left = before;
  }
  return uint64_t{left} << 32 | right;
}

}  // namespace dpledger::server
