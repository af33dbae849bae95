// SHA-256, fast for the short inputs of a Merkle tree. Thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace dpledger::merkle {

using Hash = std::array<uint8_t, 32>;

// The hash of the concatenated parts.
Hash Sha256(std::initializer_list<std::string_view> parts);

// The bytes of a hash, key or signature, which must outlive the view.
template <size_t kSize>
std::string_view View(const std::array<uint8_t, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}
// nullopt unless these are 32 bytes.
std::optional<Hash> HashFrom(std::string_view bytes);

}  // namespace dpledger::merkle
