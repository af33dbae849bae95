#include "ledger_store/embedded/head_row.h"

#include <cstdint>

namespace dpledger::embedded {
namespace {

constexpr size_t kLengthBytes = 2;

bool Parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

std::string HeadRow::Serialize() const {
  const size_t length = writer.ByteSizeLong();  // names have at most 64 bytes
  std::string value;
  value.push_back(static_cast<char>(length >> 8));
  value.push_back(static_cast<char>(length & 0xff));
  writer.AppendToString(&value);
  head.AppendToString(&value);
  return value;
}

bool HeadRow::ParseFrom(std::string_view value) {
  if (value.size() < kLengthBytes) return false;
  const size_t length =
      static_cast<size_t>(static_cast<uint8_t>(value[0])) << 8 | static_cast<uint8_t>(value[1]);
  value.remove_prefix(kLengthBytes);
  return value.size() >= length && Parse(value.substr(0, length), writer) &&
         Parse(value.substr(length), head);
}

}  // namespace dpledger::embedded
