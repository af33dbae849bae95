#include "ledger_store/request_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "ledger_store/batch_draft.h"

namespace dpledger {
namespace {

constexpr size_t kMaxTokenBytes = 64;
constexpr size_t kMaxNamePartBytes = 63;
constexpr int kMaxEntries = 10'000;
constexpr size_t kMaxReasonBytes = 1024;
constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kMaxCheckpointBytes = 16'384;
// The years 1 to 9999: what google.protobuf.Timestamp may hold.
constexpr int64_t kMinSeconds = -62'135'596'800;
constexpr int64_t kMaxSeconds = 253'402'300'799;

// [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?
bool IsNamePart(std::string_view part) {
  const auto is_edge = [](char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); };
  const auto is_inner = [&](char c) { return is_edge(c) || c == '.' || c == '_' || c == '-'; };
  return !part.empty() && part.size() <= kMaxNamePartBytes && is_edge(part.front()) &&
         is_edge(part.back()) && std::all_of(part.begin(), part.end(), is_inner);
}

// Names come from strangers: quoted and cut before they go into a message.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  return absl::StrCat("\"", ToAbsl(text.substr(0, kShown)), text.size() > kShown ? "..." : "",
                      "\"");
}

// "<words[0]>/{part}/<words[1]>/{part}..."
absl::Status CheckName(std::string_view field, std::string_view name,
                       std::initializer_list<absl::string_view> words, const char* shape) {
  const std::vector<absl::string_view> parts = absl::StrSplit(ToAbsl(name), '/');
  bool good = parts.size() == 2 * words.size();
  size_t i = 0;
  for (absl::string_view word : words) {
    good = good && parts[i] == word && IsNamePart(FromAbsl(parts[i + 1]));
    i += 2;
  }
  if (good) return absl::OkStatus();
  return FieldError(
      field, absl::StrCat("must be ", shape,
                          ", the parts [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?, got ", Quoted(name)));
}

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

absl::Status CheckLedgerName(std::string_view field, std::string_view name) {
  return CheckName(field, name, {"projects", "ledgers"}, "projects/{project}/ledgers/{ledger}");
}

absl::Status CheckProjectName(std::string_view field, std::string_view name) {
  return CheckName(field, name, {"projects"}, "projects/{project}");
}

absl::Status CheckToken(std::string_view field, std::string_view token) {
  const bool good = !token.empty() && token.size() <= kMaxTokenBytes &&
                    std::all_of(token.begin(), token.end(), [](unsigned char c) {
                      return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
                    });
  if (good) return absl::OkStatus();
  return FieldError(field,
                    absl::StrCat("must be 1 to 64 bytes of [A-Za-z0-9._-], got ", Quoted(token)));
}

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
  if (request.entries_size() < 1 || request.entries_size() > kMaxEntries) {
    return FieldError("entries", absl::StrCat("must be 1 to 10,000, got ", request.entries_size()));
  }
  for (int i = 0; i < request.entries_size(); ++i) {
    if (absl::Status checked = CheckEntry(request.entries(i)); !checked.ok()) {
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
  return CheckKnownFields("request", request);
}

merkle::Hash RequestHash(const v1::CreateLedgerRequest& request) { return HashOf(request); }

merkle::Hash RequestHash(const v1::AppendBatchRequest& request) {
  return BatchDraft(request).Hash();
}

merkle::Hash RequestHash(const v1::SealLedgerRequest& request) { return HashOf(request); }

merkle::Hash RequestHash(const v1::ForkLedgerRequest& request) { return HashOf(request); }

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
