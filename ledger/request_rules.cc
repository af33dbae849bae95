#include "ledger/request_rules.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "events/names.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "ledger/batch_draft.h"

namespace dpledger {
namespace {

using events::CheckLedgerName;
using events::CheckToken;

constexpr int kMaxEntries = 10'000;
constexpr size_t kMaxReasonBytes = 1024;
constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kMaxCheckpointBytes = 16'384;
// The years 1 to 9999: what google.protobuf.Timestamp may hold.
constexpr int64_t kMinSeconds = -62'135'596'800;
constexpr int64_t kMaxSeconds = 253'402'300'799;

absl::Status CheckSize(std::string_view field, std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::OkStatus();
  return FieldError(field,
                    absl::StrCat("must be at most ", max_bytes, " bytes, got ", text.size()));
}

template <typename Message>
absl::Status CheckKnownFields(std::string_view field, const Message& message) {
  // Looking this up takes longer than all else about an entry.
  static const google::protobuf::Reflection* const reflection = message.GetReflection();
  if (reflection->GetUnknownFields(message).empty()) return absl::OkStatus();
  return FieldError(field, "has a field that this server does not know");
}

absl::Status CheckClaimedTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() < kMinSeconds || time.seconds() > kMaxSeconds || time.nanos() < 0 ||
      time.nanos() > 999'999'999) {
    return FieldError("claimed_time", "must lie in the years 1 to 9999");
  }
  return absl::OkStatus();
}

// Of writers that open none it is empty.
absl::Status CheckIncarnation(std::string_view field, std::string_view incarnation) {
  return incarnation.empty() ? absl::OkStatus() : CheckToken(field, incarnation);
}

bool IsLate(const v1::NewEntry& entry) {
  return entry.has_late_event() || entry.has_spool_imported();
}

// Which entries a batch may hold together.
absl::Status CheckCompany(const v1::AppendBatchRequest& request, const v1::NewEntry& entry,
                          bool is_first) {
  if (IsLate(entry) != IsLate(request.entries(0))) {
    return FieldError("body", "must not be a late entry beside entries that are none");
  }
  if (!entry.has_opened()) return absl::OkStatus();
  if (!is_first) return FieldError("opened", "must be the first entry of its batch");
  if (entry.opened().incarnation() == request.incarnation()) return absl::OkStatus();
  return FieldError("opened.incarnation", "must be the request's incarnation");
}

absl::Status CheckRetired(const v1::RetiredBlocks& retired) {
  RETURN_IF_ERROR(CheckKnownFields("retired_blocks", retired));
  if (retired.blocks().empty()) return FieldError("retired_blocks.blocks", "must name a block");
  if (const absl::Status blocks = events::CheckBlocks(retired.blocks()); !blocks.ok()) {
    return PrefixField("retired_blocks", blocks);
  }
  return CheckSize("retired_blocks.reason", retired.reason(), kMaxReasonBytes);
}

absl::Status CheckEntry(const v1::NewEntry& entry) {
  RETURN_IF_ERROR(CheckKnownFields("", entry));
  if (entry.has_claimed_time()) RETURN_IF_ERROR(CheckClaimedTime(entry.claimed_time()));
  switch (entry.body_case()) {
    case v1::NewEntry::kEvent:
      return absl::OkStatus();
    case v1::NewEntry::kResume:
      RETURN_IF_ERROR(CheckKnownFields("resume", entry.resume()));
      return CheckSize("resume.reason", entry.resume().reason(), kMaxReasonBytes);
    case v1::NewEntry::kNote:
      RETURN_IF_ERROR(CheckKnownFields("note", entry.note()));
      return CheckSize("note.text", entry.note().text(), kMaxTextBytes);
    case v1::NewEntry::kWriterClosed:
      return CheckKnownFields("writer_closed", entry.writer_closed());
    case v1::NewEntry::kCorrection:
      RETURN_IF_ERROR(CheckKnownFields("correction", entry.correction()));
      return CheckSize("correction.text", entry.correction().text(), kMaxTextBytes);
    case v1::NewEntry::kImported:
      return CheckKnownFields("imported", entry.imported());
    case v1::NewEntry::kOpened:
      RETURN_IF_ERROR(CheckKnownFields("opened", entry.opened()));
      return CheckSize("opened.reason", entry.opened().reason(), kMaxReasonBytes);
    case v1::NewEntry::kLateEvent:
      RETURN_IF_ERROR(CheckKnownFields("late_event", entry.late_event()));
      if (!entry.late_event().has_event()) return FieldError("late_event.event", "must be set");
      return CheckIncarnation("late_event.incarnation", entry.late_event().incarnation());
    case v1::NewEntry::kSpoolImported:
      RETURN_IF_ERROR(CheckKnownFields("spool_imported", entry.spool_imported()));
      return CheckIncarnation("spool_imported.incarnation", entry.spool_imported().incarnation());
    case v1::NewEntry::kRetiredBlocks:
      return CheckRetired(entry.retired_blocks());
    case v1::NewEntry::BODY_NOT_SET:
      break;
  }
  return FieldError("body", "must be set");
}

absl::Status CheckImport(const v1::Import& import) {
  RETURN_IF_ERROR(CheckKnownFields("import", import));
  RETURN_IF_ERROR(CheckSize("import.origin", import.origin(), kMaxReasonBytes));
  if (import.origin().empty()) return FieldError("import.origin", "must be set");
  if (import.size() == 0) return FieldError("import.size", "must be at least 1");
  if (import.root_hash().size() != sizeof(merkle::Hash)) {
    return FieldError("import.root_hash",
                      absl::StrCat("must be 32 bytes, got ", import.root_hash().size()));
  }
  RETURN_IF_ERROR(CheckSize("import.checkpoint", import.checkpoint(), kMaxCheckpointBytes));
  if (!import.has_declaration()) return FieldError("import.declaration", "must be set");
  return absl::OkStatus();
}

merkle::Hash HashOf(const google::protobuf::Message& request) {
  return RequestHashOf(*request.GetDescriptor(), SerializeDeterministically(request));
}

}  // namespace

absl::Status CheckRequest(const v1::CreateLedgerRequest& request) {
  RETURN_IF_ERROR(CheckLedgerName("name", request.name()));
  RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  RETURN_IF_ERROR(CheckKnownFields("request", request));
  if (!request.has_import()) {
    if (!request.has_declaration()) return FieldError("declaration", "must be set");
    return absl::OkStatus();
  }
  if (request.has_declaration()) {
    return FieldError("declaration", "must not be set beside an import, which brings its own");
  }
  return CheckImport(request.import());
}

absl::Status CheckRequest(const v1::ForkLedgerRequest& request) {
  RETURN_IF_ERROR(CheckLedgerName("parent", request.parent()));
  RETURN_IF_ERROR(CheckLedgerName("name", request.name()));
  RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  if (request.name() == request.parent()) return FieldError("name", "must not be the parent's");
  RETURN_IF_ERROR(CheckSize("reason", request.reason(), kMaxReasonBytes));
  return CheckKnownFields("request", request);
}

absl::Status CheckRequest(const v1::AppendBatchRequest& request) {
  RETURN_IF_ERROR(CheckLedgerName("ledger", request.ledger()));
  RETURN_IF_ERROR(CheckToken("writer", request.writer()));
  RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  RETURN_IF_ERROR(CheckKnownFields("request", request));
  RETURN_IF_ERROR(CheckIncarnation("incarnation", request.incarnation()));
  if (request.entries_size() < 1 || request.entries_size() > kMaxEntries) {
    return FieldError("entries", absl::StrCat("must be 1 to 10,000, got ", request.entries_size()));
  }
  for (int i = 0; i < request.entries_size(); ++i) {
    absl::Status checked = CheckEntry(request.entries(i));
    if (checked.ok()) checked = CheckCompany(request, request.entries(i), i == 0);
    if (!checked.ok()) {
      return PrefixField(absl::StrCat("entries[", i, "]"), checked);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const v1::SealLedgerRequest& request) {
  RETURN_IF_ERROR(CheckLedgerName("name", request.name()));
  RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  for (int i = 0; i < request.missing_writers_size(); ++i) {
    RETURN_IF_ERROR(
        CheckToken(absl::StrCat("missing_writers[", i, "]"), request.missing_writers(i)));
  }
  if (request.open_writers_are_missing() && request.missing_writers_size() > 0) {
    return FieldError("missing_writers", "must be empty where open_writers_are_missing is set");
  }
  return CheckKnownFields("request", request);
}

absl::Status CheckRequest(const v1::GrantBudgetRequest& request) {
  RETURN_IF_ERROR(CheckLedgerName("budget", request.budget()));
  RETURN_IF_ERROR(CheckLedgerName("ledger", request.ledger()));
  RETURN_IF_ERROR(CheckToken("request_id", request.request_id()));
  if (request.ledger() == request.budget()) return FieldError("ledger", "must not be the budget");
  RETURN_IF_ERROR(CheckSize("reason", request.reason(), kMaxReasonBytes));
  return CheckKnownFields("request", request);
}

merkle::Hash RequestHash(const v1::CreateLedgerRequest& request) { return HashOf(request); }

merkle::Hash RequestHash(const v1::AppendBatchRequest& request) {
  return BatchDraft(request).Hash();
}

merkle::Hash RequestHash(const v1::SealLedgerRequest& request) { return HashOf(request); }

merkle::Hash RequestHash(const v1::ForkLedgerRequest& request) { return HashOf(request); }

merkle::Hash RequestHash(const v1::GrantBudgetRequest& request) { return HashOf(request); }

merkle::Hash RequestHashOf(const google::protobuf::Descriptor& message, std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  return merkle::Sha256({message.full_name(), "\0"sv, bytes});
}

std::string SerializeDeterministically(const google::protobuf::Message& message) {
  std::string bytes(message.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
  return bytes;
}

}  // namespace dpledger
