#include "ledger_store/bundle/ustar.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"

namespace dpledger::bundle {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// Where the fields are that differ from member to member, and how long.
constexpr size_t kNameBytes = 100;
constexpr size_t kSizeAt = 124, kSizeDigits = 11;
constexpr size_t kChecksumAt = 148;

// The number of 11 octal digits; nothing if they are not.
std::optional<uint64_t> ParseSize(std::string_view header) {
  uint64_t size = 0;
  for (const char digit : header.substr(kSizeAt, kSizeDigits)) {
    if (digit < '0' || digit > '7') return {};
    size = size * 8 + static_cast<uint64_t>(digit - '0');
  }
  return size;
}

bool IsZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

}  // namespace

std::array<char, kBlockBytes> UstarHeader(std::string_view name, uint64_t size) {
  std::array<char, kBlockBytes> header = {};
  const auto put = [&header](size_t offset, std::string_view text) {
    std::copy(text.begin(), text.end(), header.begin() + static_cast<ptrdiff_t>(offset));
  };
  put(0, name);
  put(100, "0000644");  // mode
  put(108, "0000000");  // owner
  put(116, "0000000");  // group
  put(kSizeAt, absl::StrFormat("%011o", size));
  put(136, "00000000000");       // when it was modified
  put(kChecksumAt, "        ");  // as which it is counted
  put(156, "0");                 // a file
  put(257, std::string_view("ustar\00000", 8));
  put(329, "0000000");  // device
  put(337, "0000000");
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(kChecksumAt, std::string_view(absl::StrFormat("%06o", sum) + '\0'));
  return header;
}

size_t PaddingOf(uint64_t size) { return (kBlockBytes - size % kBlockBytes) % kBlockBytes; }

UstarReader::UstarReader(ByteSource* source) : source_(source), buffer_(kBufferBytes, '\0') {}

absl::Status UstarReader::Fill(size_t wanted) {
  if (end_ - begin_ >= wanted) return absl::OkStatus();
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < wanted) {
    ASSIGN_OR_RETURN(const size_t n, source_->Read(buffer_.data() + end_, buffer_.size() - end_));
    if (n == 0) break;
    end_ += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> UstarReader::Piece() {
  if (left_ == 0) return std::string_view();
  RETURN_IF_ERROR(Fill(1));
  const auto n = static_cast<size_t>(std::min<uint64_t>(left_, end_ - begin_));
  if (n == 0) return NoBundle(member_.name, "the file ends inside this member");
  const std::string_view piece(buffer_.data() + begin_, n);
  begin_ += n;
  left_ -= n;
  return piece;
}

absl::StatusOr<std::string> UstarReader::Content() {
  std::string content;
  while (true) {
    ASSIGN_OR_RETURN(const std::string_view piece, Piece());
    if (piece.empty()) return content;
    content += piece;
  }
}

absl::Status UstarReader::EndOfMember() {
  while (left_ > 0) RETURN_IF_ERROR(Piece().status());
  RETURN_IF_ERROR(Fill(padding_));
  const std::string_view padding(buffer_.data() + begin_, std::min(padding_, end_ - begin_));
  if (padding.size() < padding_) return NoBundle(member_.name, "the file ends inside this member");
  if (!IsZero(padding)) {
    return NoBundle(member_.name, "must be followed by zeros up to a multiple of 512 bytes");
  }
  begin_ += padding_;
  padding_ = 0;
  return absl::OkStatus();
}

absl::Status UstarReader::CheckEnd() {
  RETURN_IF_ERROR(Fill(2 * kBlockBytes + 1));
  const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
  if (rest.size() == 2 * kBlockBytes && IsZero(rest)) return absl::OkStatus();
  return NoBundle("end of the file", "must be two blocks of zeros, and nothing after them");
}

absl::StatusOr<std::optional<UstarMember>> UstarReader::Next() {
  RETURN_IF_ERROR(EndOfMember());
  RETURN_IF_ERROR(Fill(kBlockBytes));
  const std::string after =
      member_.name.empty() ? "start of the file" : absl::StrCat("after ", member_.name);
  if (end_ - begin_ < kBlockBytes) {
    return NoBundle(after, member_.name.empty()
                               ? "the file ends within its first block: it is no tar archive, as "
                                 "bundles are"
                               : "the file ends before its two last blocks of zeros");
  }
  const std::string_view header(buffer_.data() + begin_, kBlockBytes);
  if (IsZero(header)) {
    RETURN_IF_ERROR(CheckEnd());
    return std::optional<UstarMember>();
  }
  const std::string_view field = header.substr(0, kNameBytes);
  const std::string_view name = field.substr(0, field.find('\0'));
  const std::optional<uint64_t> size = ParseSize(header);
  if (name.empty() || !size.has_value()) {
    return NoBundle(after, "must be the header of a tar member with a name and a size");
  }
  const std::array<char, kBlockBytes> expected = UstarHeader(name, *size);
  if (header != std::string_view(expected.data(), expected.size())) {
    return NoBundle(absl::StrCat("member ", Quoted(name)),
                    "its tar header must be that of a plain file of mode 0644, without owner, "
                    "time, link or extension");
  }
  begin_ += kBlockBytes;
  member_ = {std::string(name), *size};
  left_ = *size;
  padding_ = PaddingOf(*size);
  return std::optional<UstarMember>(member_);
}

}  // namespace dpledger::bundle
