#include "identity/grant.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/utf8.h"
#include "identity/caller.h"

namespace dpledger::identity {
namespace {

constexpr std::string_view kPermissionNames[kPermissions] = {
    "create", "append", "seal", "seal_with_missing", "fork", "correct", "read_entries", "export",
    "ask",    "verify", "list", "administer"};
constexpr std::string_view kRoleNames[kRoles] = {"trainer", "analyst", "auditor", "admin"};

constexpr uint32_t Bit(Permission permission) { return 1u << static_cast<int>(permission); }

constexpr uint32_t kAnalyst = Bit(Permission::kList) | Bit(Permission::kAsk);
constexpr uint32_t kAuditor =
    kAnalyst | Bit(Permission::kReadEntries) | Bit(Permission::kExport) | Bit(Permission::kVerify);
constexpr uint32_t kTrainer = kAuditor | Bit(Permission::kCreate) | Bit(Permission::kAppend) |
                              Bit(Permission::kSeal) | Bit(Permission::kFork) |
                              Bit(Permission::kCorrect);
constexpr uint32_t kAdmin =
    kTrainer | Bit(Permission::kSealWithMissing) | Bit(Permission::kAdminister);

constexpr uint32_t PermissionsOf(Role role) {
  switch (role) {
    case Role::kTrainer:
      return kTrainer;
    case Role::kAnalyst:
      return kAnalyst;
    case Role::kAuditor:
      return kAuditor;
    case Role::kAdmin:
      return kAdmin;
  }
  return 0;
}

constexpr size_t kMaxPartBytes = 63, kMaxDataSetBytes = 256;
constexpr char kScopeRule[] =
    "must be *, projects/P, projects/P/ledgers/L or projects/P/ledgers/PREFIX*, got ";
constexpr absl::string_view kDataSet = "data-set=";

bool IsEdge(char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); }
// The beginning of a part of a ledger's name (events/names.h), or all of it.
bool IsPart(std::string_view part, bool whole) {
  return part.size() <= kMaxPartBytes && !part.empty() && IsEdge(part.front()) &&
         (!whole || IsEdge(part.back())) && std::all_of(part.begin(), part.end(), [](char c) {
           return IsEdge(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::StatusOr<Role> ParseRole(std::string_view word) {
  for (int i = 0; i < kRoles; ++i) {
    if (kRoleNames[i] == word) return static_cast<Role>(i);
  }
  return FieldError("role",
                    absl::StrCat("must be trainer, analyst, auditor or admin, got ", Shown(word)));
}

absl::StatusOr<Scope> ParseScope(std::string_view word) {
  Scope scope;
  if (word == "*") return scope;
  const std::vector<absl::string_view> parts = absl::StrSplit(ToAbsl(word), '/');
  const absl::Status bad = FieldError("scope", absl::StrCat(kScopeRule, Shown(word)));
  if ((parts.size() != 2 && parts.size() != 4) || parts[0] != "projects" ||
      !IsPart(FromAbsl(parts[1]), true)) {
    return bad;
  }
  scope.project = std::string(parts[1]);
  if (parts.size() == 2) return scope;
  absl::string_view ledger = parts[3];
  scope.ledger_prefix = absl::ConsumeSuffix(&ledger, "*");
  scope.ledger = std::string(ledger);
  // "ledgers/*" would be a second spelling of the project.
  if (parts[2] != "ledgers" || !IsPart(scope.ledger, !scope.ledger_prefix)) return bad;
  return scope;
}

absl::Status CheckDataSet(std::string_view name) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
  });
  if (!name.empty() && name.size() <= kMaxDataSetBytes && !control && IsUtf8(name) &&
      name.front() != ' ' && name.back() != ' ') {
    return absl::OkStatus();
  }
  return FieldError("data-set", absl::StrCat("must be 1 to ", kMaxDataSetBytes,
                                             " bytes of UTF-8 without control characters and "
                                             "blanks at its ends, got ",
                                             Shown(name)));
}

}  // namespace

std::string_view PermissionName(Permission permission) {
  return kPermissionNames[static_cast<int>(permission)];
}
std::string_view RoleName(Role role) { return kRoleNames[static_cast<int>(role)]; }

bool RoleHas(Role role, Permission permission) {
  return (PermissionsOf(role) & Bit(permission)) != 0;
}

std::vector<Role> RolesWith(Permission permission) {
  std::vector<Role> roles;
  for (const Role role : {Role::kAnalyst, Role::kAuditor, Role::kTrainer, Role::kAdmin}) {
    if (RoleHas(role, permission)) roles.push_back(role);
  }
  return roles;
}

Resource Resource::Of(std::string_view name) {
  Resource resource;
  if (name.empty()) return resource;
  const std::vector<absl::string_view> parts = absl::StrSplit(ToAbsl(name), '/');
  const bool known = (parts.size() == 2 || (parts.size() == 4 && parts[2] == "ledgers")) &&
                     parts[0] == "projects" && !parts[1].empty() && !parts.back().empty();
  // No scope's project is spelled "-".
  resource.project = known ? std::string(parts[1]) : "-";
  if (known && parts.size() == 4) resource.ledger = std::string(parts[3]);
  return resource;
}

bool Scope::Covers(const Resource& resource) const {
  if (!data_set.empty() && data_set != resource.data_set) return false;
  if (project.empty()) return true;
  if (project != resource.project) return false;
  if (ledger.empty()) return true;
  return ledger_prefix ? absl::StartsWith(resource.ledger, ledger) : ledger == resource.ledger;
}

bool Scope::Touches(const Resource& resource) const {
  Scope scope = *this;
  if (resource.data_set.empty()) scope.data_set.clear();
  if (resource.ledger.empty()) {
    scope.ledger.clear();
    if (resource.project.empty() || resource.project == "-") return true;
  }
  return scope.Covers(resource);
}

absl::StatusOr<Grant> Grant::Parse(std::string_view text) {
  const size_t role_end = text.find(' ');
  Grant grant;
  ASSIGN_OR_RETURN(grant.role, ParseRole(text.substr(0, role_end)));
  if (role_end == std::string_view::npos) {
    return FieldError("scope", "must follow the role: * or projects/P, for example");
  }
  std::string_view rest = text.substr(role_end + 1);
  const size_t scope_end = rest.find(' ');
  ASSIGN_OR_RETURN(grant.scope, ParseScope(rest.substr(0, scope_end)));
  if (scope_end == std::string_view::npos) return grant;
  absl::string_view last = ToAbsl(rest.substr(scope_end + 1));
  if (!absl::ConsumePrefix(&last, kDataSet)) {
    return FieldError("data-set", absl::StrCat("only data-set=NAME may follow the scope, got ",
                                               Shown(FromAbsl(last))));
  }
  RETURN_IF_ERROR(CheckDataSet(FromAbsl(last)));
  grant.scope.data_set = std::string(last);
  return grant;
}

std::string Grant::ToText() const {
  std::string text = absl::StrCat(ToAbsl(RoleName(role)), " ");
  if (scope.project.empty()) {
    text += "*";
  } else {
    absl::StrAppend(&text, "projects/", scope.project);
    if (!scope.ledger.empty()) {
      absl::StrAppend(&text, "/ledgers/", scope.ledger, scope.ledger_prefix ? "*" : "");
    }
  }
  if (!scope.data_set.empty()) absl::StrAppend(&text, " ", kDataSet, scope.data_set);
  return text;
}

}  // namespace dpledger::identity
