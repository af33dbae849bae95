// The container of a bundle: a POSIX ustar file, so that any tar program opens it, in a canonical
// form, so that equal contents give equal bytes.
//
//  1. A member is a regular file whose header is, byte for byte, what UstarHeader writes; its
//     padding is zeros; two blocks of zeros end the file, and nothing follows. So the reader
//     refuses links, folders, long names, extended headers, owners and times.
//  2. The reader returns bytes and writes no files. Its memory is bounded by its buffer and by what
//     the caller asks for.
// Not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::bundle {

inline constexpr size_t kBlockBytes = 512;
inline constexpr uint64_t kMaxMemberBytes = (uint64_t{1} << 33) - 1;  // 11 octal digits
inline constexpr size_t kMaxNameBytes = 100;

// POSIX.1-2017, pax, "ustar Interchange Format": mode 0644, everything else that does not depend on
// the content 0 or empty. Precondition: the name has 1..100 bytes, the size is at most
// kMaxMemberBytes.
std::array<char, kBlockBytes> UstarHeader(std::string_view name, uint64_t size);
// How many zeros follow a content of this size.
size_t PaddingOf(uint64_t size);

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads 1..max_bytes bytes and returns how many; 0 at the end.
  virtual absl::StatusOr<size_t> Read(char* into, size_t max_bytes) = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
};

struct UstarMember {
  std::string name;
  uint64_t size = 0;
};

class UstarReader {
 public:
  // `source` must outlive the reader.
  explicit UstarReader(ByteSource* source);

  // The next member; skips the rest of the previous one. nullopt at the end of the file. NO_BUNDLE
  // naming the member and the rule; errors of the source as they are.
  absl::StatusOr<std::optional<UstarMember>> Next();
  // The whole content of the member. Precondition: the caller has checked its size.
  absl::StatusOr<std::string> Content();
  // The next piece of the content, valid until the next call; empty at the content's end.
  absl::StatusOr<std::string_view> Piece();

 private:
  // Buffers at least `wanted` (<= the buffer's size) bytes, unless the source ends before.
  absl::Status Fill(size_t wanted);
  absl::Status EndOfMember();
  absl::Status CheckEnd();

  ByteSource* const source_;
  std::string buffer_;
  size_t begin_ = 0;  // of the bytes not yet taken
  size_t end_ = 0;
  UstarMember member_;
  uint64_t left_ = 0;  // of the member's content
  size_t padding_ = 0;
};

}  // namespace dpledger::bundle
