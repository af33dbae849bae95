#include "server/desk/authorizer.h"

namespace dpledger::server {

std::string_view NameOf(Permission permission) {
  switch (permission) {
    case Permission::kNone:
      return "none";
    case Permission::kCreate:
      return "create";
    case Permission::kAppend:
      return "append";
    case Permission::kSeal:
      return "seal";
    case Permission::kSealWithMissing:
      return "seal_with_missing";
    case Permission::kFork:
      return "fork";
    case Permission::kCorrect:
      return "correct";
    case Permission::kReadEntries:
      return "read_entries";
    case Permission::kList:
      return "list";
    case Permission::kAsk:
      return "ask";
    case Permission::kVerifyExport:
      return "verify_export";
    case Permission::kAdminister:
      return "administer";
  }
  return "";
}

}  // namespace dpledger::server
