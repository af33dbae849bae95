#include "events/names.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::events {
namespace {

constexpr size_t kMaxTokenBytes = 64;
constexpr size_t kMaxNamePartBytes = 63;

// [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?
bool IsNamePart(std::string_view part) {
  const auto is_edge = [](char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); };
  const auto is_inner = [&](char c) { return is_edge(c) || c == '.' || c == '_' || c == '-'; };
  return !part.empty() && part.size() <= kMaxNamePartBytes && is_edge(part.front()) &&
         is_edge(part.back()) && std::all_of(part.begin(), part.end(), is_inner);
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

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  return absl::StrCat("\"", ToAbsl(text.substr(0, kShown)), text.size() > kShown ? "..." : "",
                      "\"");
}

absl::Status CheckLedgerName(std::string_view field, std::string_view name) {
  return CheckName(field, name, {"projects", "ledgers"}, "projects/{project}/ledgers/{ledger}");
}

absl::Status CheckProjectName(std::string_view field, std::string_view name) {
  return CheckName(field, name, {"projects"}, "projects/{project}");
}

absl::StatusOr<std::string> FullLedgerName(std::string_view name) {
  const std::string full = name.find('/') == std::string_view::npos
                               ? absl::StrCat("projects/default/ledgers/", ToAbsl(name))
                               : std::string(name);
  if (CheckLedgerName("ledger", full).ok()) return full;
  return FieldError(
      "ledger",
      absl::StrCat("must be a name of [a-z0-9._-], 1 to 63 long, beginning and ending with a "
                   "letter or digit, or projects/{project}/ledgers/{ledger}, got ",
                   Quoted(name)));
}

bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::Status CheckToken(std::string_view field, std::string_view token) {
  if (IsToken(token)) return absl::OkStatus();
  return FieldError(field,
                    absl::StrCat("must be 1 to 64 bytes of [A-Za-z0-9._-], got ", Quoted(token)));
}

}  // namespace dpledger::events
