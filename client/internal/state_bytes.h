// How what a run keeps is laid out in bytes: numbers of 64 bits, the least significant byte first;
// texts and arrays behind their size.
#pragma once

#include <openssl/sha.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/internal/little_endian.h"

namespace dpledger::client::internal {

inline std::string Sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

class StateWriter {
 public:
  void Number(uint64_t number) {
    number = LittleEndian(number);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void String(std::string_view text) {
    Number(text.size());
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

  uint64_t Number() {
    uint64_t number = 0;
    const std::string_view read = Cut(sizeof(number));
    if (ok_) std::memcpy(&number, read.data(), sizeof(number));
    return LittleEndian(number);
  }
  std::string String() { return std::string(Cut(Number())); }
  template <typename T>
  void Array(absl::Span<T> values) {
    const std::string_view read = Cut(Number());
    ok_ = ok_ && read.size() == values.size() * sizeof(T);
    if (ok_ && !read.empty()) std::memcpy(values.data(), read.data(), read.size());
  }

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view Cut(uint64_t size) {
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return {};
    const std::string_view read = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return read;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace dpledger::client::internal
