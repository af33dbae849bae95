// The projects that are the server's own: nobody else creates, writes to, forks or seals ledgers of
// them. Thread safe.
#pragma once

#include <string_view>

namespace dpledger::server {

inline constexpr std::string_view kAccessRecordProject = "projects/access-record";
inline constexpr std::string_view kRecomputationsProject = "projects/recomputations";

// Whether `name`, of a project or of a ledger, is `project` or one of its ledgers.
inline bool IsOf(std::string_view project, std::string_view name) {
  return name.starts_with(project) &&
         (name.size() == project.size() || name[project.size()] == '/');
}

// Whether `name`, of a project or of a ledger, is the server's own.
inline bool IsOfServer(std::string_view name) {
  return IsOf(kAccessRecordProject, name) || IsOf(kRecomputationsProject, name);
}

}  // namespace dpledger::server
