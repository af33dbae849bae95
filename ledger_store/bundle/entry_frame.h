// The fields that every entry has, whatever its body; read from its bytes without building a
// message. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpledger::bundle {

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
