#include "tests/tidy/targets.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace dpledger::tidy {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

}  // namespace

Targets::Targets(const std::string& text) {
  using Words = std::vector<std::string>;
  for (const std::string& line : Words(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    const Words fields = absl::StrSplit(line, '|');
    const std::string name(absl::StripAsciiWhitespace(fields.at(0)));
    if (!absl::StrContains(fields.at(1), ".c")) groups_.insert(name);
    for (const std::string& source :
         Words(absl::StrSplit(fields.at(1), ' ', absl::SkipWhitespace()))) {
      of_source_.emplace(source, name);
      // A public header is included by its name below include/.
      if (const size_t at = source.find("/include/"); at != std::string::npos) {
        of_source_.emplace(source.substr(at + 9), name);
      }
      of_folder_[FolderOf(source)].insert(name);
    }
    for (const std::string& dep :
         Words(absl::StrSplit(fields.at(2), ' ', absl::SkipWhitespace()))) {
      if (absl::StartsWith(dep, "dpledger::")) deps_[name].insert(dep.substr(10));
    }
  }
}

std::string Targets::Of(const std::string& path) const {
  for (const char* wire : {"dpledger/v1/", "google/rpc/", "grpc/health/"}) {
    if (absl::StartsWith(path, wire)) return absl::EndsWith(path, ".grpc.pb.h") ? "grpc" : "proto";
  }
  const std::string stem = path.substr(0, path.rfind('.'));
  for (const std::string& source : {path, absl::StrCat(stem, ".cc"), absl::StrCat(stem, ".c")}) {
    if (const auto found = of_source_.find(source); found != of_source_.end()) return found->second;
  }
  const auto folder = of_folder_.find(FolderOf(path));
  return folder != of_folder_.end() && folder->second.size() == 1 ? *folder->second.begin() : "";
}

bool Targets::Uses(const std::string& from, const std::string& to) const {
  if (from == to) return true;
  const auto deps = deps_.find(from);
  if (deps == deps_.end()) return false;
  return std::any_of(deps->second.begin(), deps->second.end(), [&](const std::string& dep) {
    return dep == to || (groups_.count(dep) > 0 && Uses(dep, to));
  });
}

bool Targets::Reaches(const std::string& from, const std::string& to) const {
  std::set<std::string> seen;
  std::vector<std::string> next = {from};
  while (!next.empty()) {
    const auto deps = deps_.find(next.back());
    next.pop_back();
    if (deps == deps_.end()) continue;
    for (const std::string& dep : deps->second) {
      if (dep == to) return true;
      if (seen.insert(dep).second) next.push_back(dep);
    }
  }
  return false;
}

Complaints Targets::Circles() const {
  Complaints complaints;
  for (const auto& [name, deps] : deps_) {
    if (Reaches(name, name)) complaints.push_back(absl::StrCat(name, " depends on itself"));
  }
  return complaints;
}

}  // namespace dpledger::tidy
