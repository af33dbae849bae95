// Protobuf's wire format in the canonical form that this project writes: fields in the order of
// their numbers, each once, numbers in the fewest bytes, defaults left out. The reader accepts no
// other form, so that no two programs can read different contents from the same entry. It is also
// several times as fast as building messages. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dpledger::bundle {

struct WireField {
  int number = 0;
  bool is_bytes = false;   // wire type 2; otherwise wire type 0, a varint
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a string, bytes or message field
};

// Reads the fields of one message; all are varints or length-delimited, and none is repeated but
// those whose number is set in `repeated`, below 64.
class WireReader {
 public:
  explicit WireReader(std::string_view message, uint64_t repeated = 0)
      : rest_(message), repeated_(repeated) {}

  // nullopt at the end and at the first violation; ok() tells which.
  std::optional<WireField> Next();
  bool ok() const { return ok_; }

 private:
  std::optional<uint64_t> TakeVarint();
  std::optional<WireField> Fail() {
    ok_ = false;
    return {};
  }

  std::string_view rest_;
  const uint64_t repeated_;
  int last_number_ = 0;
  bool ok_ = true;
};

}  // namespace dpledger::bundle
