// The targets of the build, read from the list that CMake writes (cmake/Dpledger.cmake): which
// files each of them has, and which others it may include.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dpledger::tidy {

using Complaints = std::vector<std::string>;

class Targets {
 public:
  // Lines of "name | sources | dependencies".
  explicit Targets(const std::string& text);

  // The target of a source file or header, by the name it is included by; empty if it has none.
  std::string Of(const std::string& path) const;
  // Whether `from` names `to`, or a group that has it, in DEPS, or is the same.
  bool Uses(const std::string& from, const std::string& to) const;
  // Whether it does so by way of others.
  bool Reaches(const std::string& from, const std::string& to) const;
  // Targets that reach themselves.
  Complaints Circles() const;

 private:
  std::map<std::string, std::set<std::string>> deps_;
  std::set<std::string> groups_;                  // targets of headers alone, or of nothing
  std::map<std::string, std::string> of_source_;  // by path
  std::map<std::string, std::set<std::string>> of_folder_;  // every target with a source there
};

}  // namespace dpledger::tidy
