#include "identity/rights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

constexpr char kBlanks[] = " \t";

// Cuts the first word and the blanks behind it off.
absl::string_view TakeWord(absl::string_view& rest) {
  const absl::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return word;
}

absl::StatusOr<PolicyLine> ParseLine(absl::string_view rest) {
  PolicyLine line;
  absl::string_view caller = TakeWord(rest);
  line.prefix = absl::ConsumeSuffix(&caller, "*");
  line.caller = std::string(caller);
  if (!IsCallerName(line.caller) && !(line.prefix && caller.empty())) {
    return FieldError("caller",
                      "must be a caller's name such as token:alice, or the beginning of names and "
                      "a * at the end");
  }
  // A data set's name may hold blanks: it is the rest of the line.
  const absl::string_view role = TakeWord(rest);
  const absl::string_view scope = TakeWord(rest);
  ASSIGN_OR_RETURN(line.grant, Grant::Parse(absl::StrCat(role, scope.empty() ? "" : " ", scope,
                                                         rest.empty() ? "" : " ", rest)));
  return line;
}

// The name of `resource` in an error; never bytes that are no valid name.
std::string NameOf(const Resource& resource) {
  if (resource.project.empty()) return "this server";
  if (resource.project == "-") return "all projects";
  std::string name = absl::StrCat("projects/", resource.project);
  if (!resource.ledger.empty()) absl::StrAppend(&name, "/ledgers/", resource.ledger);
  return Grant::Parse(absl::StrCat("admin ", name)).ok() ? name : "what it names";
}

std::string ScopeFor(const Resource& resource, Permission permission) {
  if (permission == Permission::kAdminister) return "*";
  const std::string name = NameOf(resource);
  return absl::StartsWith(name, "projects/") ? name : "*";
}

std::string RolesText(Permission permission) {
  return absl::StrJoin(RolesWith(permission), " or ", [](std::string* out, Role role) {
    absl::StrAppend(out, ToAbsl(RoleName(role)));
  });
}

absl::Status Denied(const Caller& caller, Permission permission, const Resource& resource) {
  const std::string name(PermissionName(permission));
  const std::string scope = ScopeFor(resource, permission);
  const bool seal = permission == Permission::kSealWithMissing;
  const Role role = RolesWith(permission).front();
  // Not whether there is such a ledger, nor its data set or creator: only what any denial tells.
  const std::string advice = absl::StrCat(
      "An administrator can allow it by the policy line: ", caller.name, " ",
      ToAbsl(RoleName(role)), " ", scope,
      caller.kind == CallerKind::kAnonymous ? "; a call with credentials may already be allowed"
                                            : "");
  return WithReason(
      absl::PermissionDeniedError(absl::StrCat(
          caller.name, " has no right to ", name, " on ", NameOf(resource),
          ": that needs the role ", RolesText(permission),
          seal ? ", or to have made the ledger and the right to seal" : "", " there. ", advice)),
      {seal ? "SEAL_NEEDS_CREATOR" : "NOT_GRANTED",
       {{"caller", caller.name}, {"permission", name}, {"roles", RolesText(permission)}}});
}

}  // namespace

bool PolicyLine::Names(const Caller& who) const {
  if (!prefix) return caller == who.name;
  return who.kind != CallerKind::kAnonymous && absl::StartsWith(who.name, caller);
}

absl::StatusOr<std::vector<PolicyLine>> ParsePolicy(std::string_view text) {
  std::vector<PolicyLine> policy;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    absl::StatusOr<PolicyLine> parsed = ParseLine(line);
    if (!parsed.ok()) {
      return WithReason(absl::InvalidArgumentError(
                            absl::StrCat("line ", number, ": ", parsed.status().message())),
                        {"INVALID_POLICY", {{"line", absl::StrCat(number)}}});
    }
    policy.push_back(*std::move(parsed));
  }
  return policy;
}

absl::StatusOr<std::unique_ptr<Rights>> Rights::Open(const std::string& policy_file,
                                                     const Log* log) {
  std::unique_ptr<Rights> rights(new Rights(policy_file, log));
  auto policy = std::make_shared<std::vector<PolicyLine>>();
  if (!policy_file.empty()) {
    absl::MutexLock refreshing(&rights->refreshing_);
    ASSIGN_OR_RETURN(const std::string text, *rights->file_.Changed());
    absl::StatusOr<std::vector<PolicyLine>> parsed = ParsePolicy(text);
    if (!parsed.ok()) {
      return WithReason(
          absl::InvalidArgumentError(absl::StrCat(policy_file, ": ", parsed.status().message())),
          ReasonOf(parsed.status()));
    }
    *policy = *std::move(parsed);
  }
  absl::MutexLock lock(&rights->mutex_);
  rights->policy_ = std::move(policy);
  return rights;
}

void Rights::Refresh() {
  absl::MutexLock refreshing(&refreshing_);
  if (file_.path().empty()) return;
  std::optional<absl::StatusOr<std::string>> text = file_.Changed();
  if (!text.has_value()) return;
  absl::Status status = text->status();
  if (status.ok()) {
    absl::StatusOr<std::vector<PolicyLine>> parsed = ParsePolicy(**text);
    status = parsed.status();
    if (parsed.ok()) {
      const auto lines = static_cast<int64_t>(parsed->size());
      {
        absl::MutexLock lock(&mutex_);
        policy_ = std::make_shared<const std::vector<PolicyLine>>(*std::move(parsed));
      }
      if (log_ != nullptr) log_->Write(LogLevel::kInfo, "policy_read", {{"lines", lines}});
      return;
    }
  }
  if (log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "policy_kept",
                {{"file", file_.path()}, {"error", std::string(status.message())}});
  }
}

std::shared_ptr<const std::vector<PolicyLine>> Rights::policy() const {
  absl::ReaderMutexLock lock(&mutex_);
  return policy_;
}

template <typename Rule>
bool Rights::AnyGrant(const Caller& caller, const Rule& rule) const {
  if (caller.grants != nullptr && std::any_of(caller.grants->begin(), caller.grants->end(), rule)) {
    return true;
  }
  const std::shared_ptr<const std::vector<PolicyLine>> lines = policy();
  return std::any_of(lines->begin(), lines->end(), [&](const PolicyLine& line) {
    return line.Names(caller) && rule(line.grant);
  });
}

bool Rights::Allows(const Caller& caller, Permission permission, const Resource& resource) const {
  const bool whole_server = resource.project.empty() || permission == Permission::kAdminister;
  const bool events_in_request = permission == Permission::kAsk && resource.project.empty();
  const auto allows = [&](const Grant& grant) {
    if (!RoleHas(grant.role, permission)) return false;
    if (events_in_request) return true;
    return whole_server ? grant.scope.everything() : grant.scope.Covers(resource);
  };
  if (AnyGrant(caller, allows)) return true;
  return permission == Permission::kSealWithMissing && caller.kind != CallerKind::kAnonymous &&
         resource.creator == caller.name && Allows(caller, Permission::kSeal, resource);
}

absl::Status Rights::Decide(const Caller& caller, Permission permission,
                            const Resource& resource) const {
  return Allows(caller, permission, resource) ? absl::OkStatus()
                                              : Denied(caller, permission, resource);
}

absl::Status Rights::DecideSomewhere(const Caller& caller, Permission permission) const {
  const auto has = [&](const Grant& grant) { return RoleHas(grant.role, permission); };
  return AnyGrant(caller, has) ? absl::OkStatus() : Denied(caller, permission, Resource());
}

absl::Status Rights::DecideList(const Caller& caller, const Resource& resource) const {
  const auto touches = [&](const Grant& grant) {
    return RoleHas(grant.role, Permission::kList) && grant.scope.Touches(resource);
  };
  return AnyGrant(caller, touches) ? absl::OkStatus() : Denied(caller, Permission::kList, resource);
}

}  // namespace dpledger::identity
