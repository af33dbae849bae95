// The fields that every entry has, whatever its body; read from its bytes without building a
// message, which is several times as fast. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpledger::bundle {

// Protobuf's wire format in the canonical form that this project writes: fields in the order of
// their numbers, each once, numbers in the fewest bytes, defaults left out. The reader accepts no
// other form, so that no two programs can read different contents from the same entry.
struct WireField {
  int number = 0;
  bool is_bytes = false;   // wire type 2; otherwise wire type 0, a varint
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a string, bytes or message field
};

// Reads the fields of one message; all are varints or length-delimited, and none is repeated.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

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
  int last_number_ = 0;
  bool ok_ = true;
};

// Views into the entry's bytes.
struct EntryFrame {
  uint64_t sequence = 0;
  std::string_view writer;
  uint64_t writer_counter = 0;
  std::string_view request_id;
  int64_t recorded_seconds = 0;
  std::string_view caller;  // empty: the entry names none
  int body = 0;             // field number in LedgerEntry (v1::LedgerEntry::BodyCase)
  std::string_view body_bytes;
};

// INVALID_ARGUMENT naming the rule if the bytes are not a LedgerEntry in its only valid
// serialisation (docs/formats.md, section 1), a time is missing or not a whole minute, a name is
// invalid, or the kind of the body is not known.
absl::StatusOr<EntryFrame> ParseEntryFrame(std::string_view entry);

// An event's part in its round.
struct EventRound {
  bool sampling = false;  // a sample: it opens the round
  bool by_epoch = false;  // its scheme has epochs; of grouped rounds too
  uint64_t round = 0;
};
// nullopt for mechanisms and grouped rounds without epochs. INVALID_ARGUMENT if the bytes are not
// an Event.
absl::StatusOr<std::optional<EventRound>> ParseEventRound(std::string_view event);

}  // namespace dpledger::bundle
