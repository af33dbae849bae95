// Permissions, the roles made of them, and grants: a role within a scope. The text of a grant is
// the same in a policy file, in the token file and on the command line:
//
//   grant = role SP scope [SP "data-set=" NAME]          NAME: the rest of the line
//   role  = "trainer" / "analyst" / "auditor" / "admin"
//   scope = "*"                                           everything
//         / "projects/" P                                 a project
//         / "projects/" P "/ledgers/" L                   one ledger
//         / "projects/" P "/ledgers/" PREFIX "*"          the ledgers whose names begin so
//
// Values; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::identity {

enum class Permission {
  kCreate,           // CreateLedger, imports
  kAppend,           // events and notes of writers
  kSeal,             // where every writer has closed
  kSealWithMissing,  // naming writers that never closed
  kFork,
  kCorrect,      // corrections and notes
  kReadEntries,  // the entries themselves
  kExport,       // the entries, to be kept elsewhere as a bundle
  kAsk,          // accounting questions
  kVerify,       // checkpoints, proofs, tiles of hashes
  kList,         // names and heads of ledgers
  kAdminister,   // tokens, the access record
};
inline constexpr int kPermissions = 12;

enum class Role { kTrainer, kAnalyst, kAuditor, kAdmin };
inline constexpr int kRoles = 4;

std::string_view PermissionName(Permission permission);  // "append", "seal_with_missing"
std::string_view RoleName(Role role);                    // "trainer"

//            create append seal fork correct | list ask | read_entries export verify | the others
//   trainer    x      x     x    x     x        x    x        x          x      x
//   analyst                                     x    x
//   auditor                                     x    x        x          x      x
//   admin      x      x     x    x     x        x    x        x          x      x           x
bool RoleHas(Role role, Permission permission);
// The roles that have the permission, the weakest first.
std::vector<Role> RolesWith(Permission permission);

// The object of a call. Names that were not checked are safe: they match only names equal to them.
// Empty fields are not known or do not apply.
struct Resource {
  std::string project;   // "vision"; "-" for all projects
  std::string ledger;    // "mnist"; empty: the whole project
  std::string data_set;  // as the ledger declares it, also where the call does not say it
  std::string creator;   // the name of the caller who made the ledger

  // Of projects/{project}/ledgers/{ledger}, projects/{project} or "". Of any other text, a resource
  // that only a grant of everything covers.
  static Resource Of(std::string_view name);
};

struct Scope {
  std::string project;        // empty: everything
  std::string ledger;         // a name, or its beginning
  bool ledger_prefix = true;  // all ledgers whose names begin with `ledger`
  std::string data_set;       // empty: any

  bool everything() const { return project.empty() && data_set.empty(); }
  // Whether all of `resource` lies within. A scope of a data set covers only ledgers known to be
  // over it.
  bool Covers(const Resource& resource) const;
  // Whether it covers `resource` or something inside it.
  bool Touches(const Resource& resource) const;
  bool operator==(const Scope&) const = default;
};

struct Grant {
  Role role = Role::kAnalyst;
  Scope scope;

  // Reads the grammar above. INVALID_ARGUMENT names the word and the rule.
  static absl::StatusOr<Grant> Parse(std::string_view text);
  std::string ToText() const;
  bool operator==(const Grant&) const = default;
};

}  // namespace dpledger::identity
