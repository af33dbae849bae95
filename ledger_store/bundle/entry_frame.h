// What every entry says of itself, whatever it holds: read from its bytes without building a
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
  int body = 0;  // field number in LedgerEntry (v1::LedgerEntry::BodyCase)
  std::string_view body_bytes;
};

// INVALID_ARGUMENT saying the rule: the bytes are not a LedgerEntry as it is serialised once
// (docs/formats.md, section 1), a time is missing or not a whole minute, a name is not one, or the
// body is of a kind that is not known.
absl::StatusOr<EntryFrame> ParseEntryFrame(std::string_view entry);

// What an event says of its round.
struct EventRound {
  bool sampling = false;  // opens the round
  bool by_epoch = false;  // its scheme is one of epochs
  uint64_t round = 0;
};
// Nothing for grouped rounds and mechanisms. INVALID_ARGUMENT if the bytes are no Event.
absl::StatusOr<std::optional<EventRound>> ParseEventRound(std::string_view event);

}  // namespace dpledger::bundle
