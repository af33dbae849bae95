#include "client/ledger_name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::client {
namespace {

constexpr size_t kMaxPartLength = 63;

bool IsLowerOrDigit(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

bool IsNamePart(const std::string& part) {
  return !part.empty() && part.size() <= kMaxPartLength && IsLowerOrDigit(part.front()) &&
         IsLowerOrDigit(part.back()) && std::all_of(part.begin(), part.end(), [](char c) {
           return IsLowerOrDigit(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

absl::StatusOr<std::string> FullLedgerName(std::string_view name) {
  std::vector<std::string> parts = absl::StrSplit(ToAbsl(name), '/');
  if (parts.size() == 1) parts = {"projects", "default", "ledgers", parts[0]};
  if (parts.size() != 4 || parts[0] != "projects" || parts[2] != "ledgers" ||
      !IsNamePart(parts[1]) || !IsNamePart(parts[3])) {
    return FieldError(
        "ledger", absl::StrCat("must be a name of [a-z0-9._-], 1 to 63 long, beginning and ending "
                               "with a letter or digit, or projects/{project}/ledgers/{ledger}, "
                               "got \"",
                               ToAbsl(name), "\""));
  }
  return absl::StrCat("projects/", parts[1], "/ledgers/", parts[3]);
}

}  // namespace dpledger::client
