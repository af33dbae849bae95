#include "ledger/change_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger/request_rules.h"
#include "merkle/tile.h"

namespace dpledger {
namespace {

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Protocol buffers' encoding: a tag is (field number << 3) | wire type.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;

void AppendNumberField(int field, uint64_t value, std::string& out) {
  if (value == 0) return;
  AppendVarint(static_cast<uint32_t>(field) << 3 | kVarint, out);
  AppendVarint(value, out);
}

void AppendTag(int field, std::string& out) {
  AppendVarint(static_cast<uint32_t>(field) << 3 | kLengthDelimited, out);
}

std::string StringField(int field, std::string_view value) {
  std::string out;
  if (value.empty()) return out;
  AppendTag(field, out);
  AppendVarint(value.size(), out);
  return out.append(value);
}

std::string TimeField(int field, int64_t seconds) {
  std::string time;
  AppendNumberField(google::protobuf::Timestamp::kSecondsFieldNumber,
                    static_cast<uint64_t>(seconds), time);
  std::string out;
  AppendTag(field, out);
  AppendVarint(time.size(), out);
  return out.append(time);
}

}  // namespace

ChangeBuilder::ChangeBuilder(const LedgerHead& head, const std::string& writer,
                             const std::string& request_id, const Arrival& arrival)
    : writer_field_(StringField(v1::LedgerEntry::kWriterFieldNumber, writer)),
      request_id_field_(StringField(v1::LedgerEntry::kRequestIdFieldNumber, request_id)),
      caller_field_(StringField(v1::LedgerEntry::kCallerFieldNumber, arrival.caller)) {
  change_.tree = head.tree;
  change_.state = head.state;
  change_.recorded_time = RecordedTime(head, arrival.time);
  change_.receipt.set_first_sequence(head.tree.size());
  if (std::optional<v1::WriterStatus> known = head.writers.Find(writer)) {
    change_.writer = *std::move(known);
  }
  change_.writer.set_writer(writer);
  recorded_field_ = TimeField(v1::LedgerEntry::kRecordedTimeFieldNumber,
                              absl::ToUnixSeconds(change_.recorded_time));
}

void ChangeBuilder::SetClaimedTime(std::optional<int64_t> seconds) {
  if (seconds == claimed_seconds_) return;
  claimed_seconds_ = seconds;
  claimed_field_ = seconds.has_value()
                       ? TimeField(v1::LedgerEntry::kClaimedTimeFieldNumber, *seconds)
                       : std::string();
}

absl::Status ChangeBuilder::Push(int field, std::string_view body) {
  std::string& bytes = change_.entries;
  const size_t begin = bytes.size() + kEntryLengthBytes;
  bytes.append(kEntryLengthBytes, '\0');
  AppendNumberField(v1::LedgerEntry::kSequenceFieldNumber, next_sequence(), bytes);
  bytes.append(writer_field_);
  AppendNumberField(v1::LedgerEntry::kWriterCounterFieldNumber, change_.writer.entry_count(),
                    bytes);
  bytes.append(request_id_field_).append(claimed_field_).append(recorded_field_);
  bytes.append(caller_field_);
  caller_field_.clear();
  AppendTag(field, bytes);
  bytes.append(body);
  const std::string_view entry = std::string_view(bytes).substr(begin);
  if (entry.size() > merkle::kMaxEntryBytes) {
    return FieldError("", absl::StrCat("must be at most ", merkle::kMaxEntryBytes,
                                       " bytes as a stored entry, got ", entry.size()));
  }
  SetEntryLength(begin, bytes);
  change_.tree.Append(merkle::LeafHash(entry));
  change_.writer.set_entry_count(change_.writer.entry_count() + 1);
  return absl::OkStatus();
}

absl::Status ChangeBuilder::Push(int field, const google::protobuf::Message& body) {
  const std::string content = SerializeDeterministically(body);
  std::string sized;
  AppendVarint(content.size(), sized);
  return Push(field, sized.append(content));
}

LedgerChange ChangeBuilder::Finish(v1::LedgerState state) && {
  change_.state = state;
  change_.receipt.set_count(change_.tree.size() - change_.receipt.first_sequence());
  change_.receipt.set_size(change_.tree.size());
  change_.receipt.set_root_hash(merkle::ToBytes(change_.tree.Root()));
  return std::move(change_);
}

}  // namespace dpledger
