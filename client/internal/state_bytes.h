// How what a run and a spool keep is laid out in bytes: numbers, of 64 bits unless said, the least
// significant byte first; texts and arrays behind their size.
#pragma once

#include <openssl/sha.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace dpledger::client::internal {

// A word as its bytes, least significant first, and back: its own inverse.
constexpr uint64_t LittleEndian(uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

inline std::string Sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

class StateWriter {
 public:
  template <typename T = uint64_t>
  void Number(uint64_t number) {
    number = LittleEndian(number);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(T));
  }
  template <typename Size = uint64_t>
  void String(std::string_view text) {
    Number<Size>(text.size());
    bytes_.append(text);
  }
  // In this machine's own order: an array is carried on by the same kind of machine only.
  template <typename T>
  void Array(absl::Span<const T> values) {
    String({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }

  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// After a read beyond the end, or of an array of another size, ok() is false for good.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T = uint64_t>
  T Number() {
    uint64_t number = 0;
    const std::string_view read = Cut(sizeof(T));
    if (ok_) std::memcpy(&number, read.data(), sizeof(T));
    return static_cast<T>(LittleEndian(number));
  }
  template <typename Size = uint64_t>
  std::string String() {
    return std::string(Cut(Number<Size>()));
  }
  template <typename T>
  void Array(absl::Span<T> values) {
    const std::string_view read = Cut(Number());
    ok_ = ok_ && read.size() == values.size() * sizeof(T);
    if (ok_ && !read.empty()) std::memcpy(values.data(), read.data(), read.size());
  }

  // The next `size` bytes.
  std::string_view Cut(uint64_t size) {
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return {};
    const std::string_view read = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return read;
  }

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace dpledger::client::internal
