#include "ledger_store/bundle/wire.h"

namespace dpledger::bundle {
namespace {

constexpr uint64_t kVarint = 0;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

}  // namespace

std::optional<uint64_t> WireReader::TakeVarint() {
  uint64_t value = 0;
  for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    if (i == 9 && byte > 1) return {};  // beyond 64 bits
    value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return {};  // not the fewest bytes
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return {};
}

std::optional<WireField> WireReader::Next() {
  if (!ok_ || rest_.empty()) return {};
  const std::optional<uint64_t> tag = TakeVarint();
  if (!tag.has_value() || *tag >> 3 > kMaxFieldNumber) return Fail();
  WireField field;
  field.number = static_cast<int>(*tag >> 3);
  const bool again =
      field.number == last_number_ && field.number < 64 && (repeated_ >> field.number & 1) != 0;
  if (field.number <= last_number_ && !again) return Fail();
  last_number_ = field.number;
  const std::optional<uint64_t> value = TakeVarint();
  if (!value.has_value()) return Fail();
  switch (*tag & 7) {
    case kVarint:
      if (*value == 0) return Fail();  // a default is left out
      field.value = *value;
      return field;
    case kLengthDelimited:
      if (*value > rest_.size()) return Fail();
      field.is_bytes = true;
      field.bytes = rest_.substr(0, *value);
      rest_.remove_prefix(*value);
      return field;
    default:
      return Fail();
  }
}

}  // namespace dpledger::bundle
