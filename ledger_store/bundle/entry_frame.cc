#include "ledger_store/bundle/entry_frame.h"

#include "absl/strings/str_cat.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/names.h"

namespace dpledger::bundle {
namespace {

using v1::LedgerEntry;

constexpr uint64_t kVarint = 0;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

absl::Status NotCanonical(absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("must be a serialised ", message,
                   ", its fields in order, each once, without defaults and unknown fields"));
}

// The seconds of a google.protobuf.Timestamp that is a whole minute.
std::optional<int64_t> ParseMinute(std::string_view timestamp) {
  WireReader reader(timestamp);
  int64_t seconds = 0;
  while (const std::optional<WireField> field = reader.Next()) {
    if (field->number != 1 || field->is_bytes) return {};
    seconds = static_cast<int64_t>(field->value);
  }
  if (!reader.ok() || seconds % 60 != 0) return {};
  return seconds;
}

bool IsBody(int number) {
  return number >= LedgerEntry::kEvent && number <= LedgerEntry::kRetiredBlocks;
}

// Whatever cannot be read here is said to be, so that it is read again as a whole.
bool IsByEpoch(std::string_view scheme) {
  WireReader reader(scheme);
  while (const std::optional<WireField> field = reader.Next()) {
    if (field->number == v1::SamplingScheme::kDisjointBatches ||
        field->number == v1::SamplingScheme::kRandomAllocation) {
      return true;
    }
  }
  return !reader.ok();
}

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
  if (field.number <= last_number_) return Fail();
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

absl::StatusOr<EntryFrame> ParseEntryFrame(std::string_view entry) {
  EntryFrame frame;
  bool recorded = false;
  WireReader reader(entry);
  while (const std::optional<WireField> field = reader.Next()) {
    const bool is_number = field->number == LedgerEntry::kSequenceFieldNumber ||
                           field->number == LedgerEntry::kWriterCounterFieldNumber;
    if (field->is_bytes == is_number) return NotCanonical("LedgerEntry");
    switch (field->number) {
      case LedgerEntry::kSequenceFieldNumber:
        frame.sequence = field->value;
        break;
      case LedgerEntry::kWriterCounterFieldNumber:
        frame.writer_counter = field->value;
        break;
      case LedgerEntry::kWriterFieldNumber:
      case LedgerEntry::kRequestIdFieldNumber:
        if (field->bytes.empty()) return NotCanonical("LedgerEntry");
        if (!events::IsToken(field->bytes)) {
          return absl::InvalidArgumentError(
              "writer and request_id must be at most 64 bytes of [A-Za-z0-9._-]");
        }
        (field->number == LedgerEntry::kWriterFieldNumber ? frame.writer : frame.request_id) =
            field->bytes;
        break;
      case LedgerEntry::kClaimedTimeFieldNumber:
      case LedgerEntry::kRecordedTimeFieldNumber: {
        const std::optional<int64_t> seconds = ParseMinute(field->bytes);
        if (!seconds.has_value()) {
          return absl::InvalidArgumentError("claimed_time and recorded_time must be whole minutes");
        }
        if (field->number == LedgerEntry::kRecordedTimeFieldNumber) {
          frame.recorded_seconds = *seconds;
          recorded = true;
        }
        break;
      }
      case LedgerEntry::kCallerFieldNumber:
        // Its form and place are the rules' to judge, which know the entries before.
        if (field->bytes.empty()) return NotCanonical("LedgerEntry");
        frame.caller = field->bytes;
        break;
      default:
        if (!IsBody(field->number) || frame.body != 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("must have one body of a known kind, found field ", field->number));
        }
        frame.body = field->number;
        frame.body_bytes = field->bytes;
    }
  }
  if (!reader.ok()) return NotCanonical("LedgerEntry");
  if (frame.body == 0) return absl::InvalidArgumentError("must have a body");
  if (!recorded) return absl::InvalidArgumentError("must have a recorded_time");
  return frame;
}

absl::StatusOr<std::optional<EventRound>> ParseEventRound(std::string_view event) {
  WireReader reader(event);
  const std::optional<WireField> kind = reader.Next();
  if (!kind.has_value() || !kind->is_bytes || kind->number > v1::Event::kMechanism ||
      reader.Next().has_value() || !reader.ok()) {
    return NotCanonical("Event of one known kind");
  }
  if (kind->number == v1::Event::kMechanism) return std::optional<EventRound>();
  EventRound round;
  WireReader body(kind->bytes);
  if (kind->number == v1::Event::kRounds) {
    while (const std::optional<WireField> field = body.Next()) {
      if (field->number == v1::RoundsEvent::kSchemeFieldNumber) {
        round.by_epoch = field->is_bytes && IsByEpoch(field->bytes);
      }
    }
    return round.by_epoch ? std::optional<EventRound>(round) : std::nullopt;
  }
  round.sampling = kind->number == v1::Event::kSampling;
  // Both have a round, field 1, and a message, field 2; a sample has its source, field 3.
  while (const std::optional<WireField> field = body.Next()) {
    int last = v1::SumQueryEvent::kQueryFieldNumber;
    if (round.sampling) last = v1::SamplingEvent::kSourceFieldNumber;
    if (field->number > last || field->is_bytes != (field->number == 2)) {
      return NotCanonical("Event of one known kind");
    }
    if (field->number == 1) round.round = field->value;
    if (field->number == 2 && round.sampling) round.by_epoch = IsByEpoch(field->bytes);
  }
  if (!body.ok()) return NotCanonical("Event of one known kind");
  return std::optional<EventRound>(round);
}

}  // namespace dpledger::bundle
