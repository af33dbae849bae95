// Which calls of a file system fail, and how many of each there were.
//
// The calls are named as programs name them: access to names (lookup, getattr, setattr, open,
// create, mkdir, symlink, link, rename, unlink, rmdir, readlink, readdir), and to bytes (read,
// write, ftruncate, fallocate, fsync, fdatasync, fsyncdir). "any" is every one of them but lookup
// and getattr, which programs do not call themselves as often as the kernel does. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/fault/fault_fs_content.h"

namespace dpledger::testing {

struct FaultRule {
  std::string op;            // a call's name, or "any"
  uint64_t nth = 1;          // which call fails, from 1; counted from when the rule is given
  int error = 0;             // an errno; 0: none
  uint64_t short_bytes = 0;  // instead, a write or read ends after so many bytes; 0: it does not
  bool cut = false;          // instead, the power is cut before the call does anything
  Survival survival = Survival::kNothing;  // of a cut
  uint64_t seed = 0;                       // of a cut
  bool sticky = false;                     // every later call fails too
  std::string path = {};                   // only files whose name contains this
};

class FaultRules {
 public:
  // INVALID_ARGUMENT "op: ..." if there is no such call, "nth: ..." for 0.
  absl::Status Add(FaultRule rule);
  void Clear() { rules_.clear(); }

  // Counts a call of `op` on a file named `name`; the rule that applies to it, or null. It stays
  // valid until the next call of this object.
  const FaultRule* On(std::string_view op, std::string_view name);
  // Calls since the start, by name, and "any"; "struck" is how many of them a rule applied to,
  // and "struck:<file>" those on that file.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

 private:
  struct Watch {
    FaultRule rule;
    uint64_t seen = 0;
  };
  std::vector<Watch> rules_;
  std::map<std::string, uint64_t> counts_;
};

// A rule as one line: "op nth errno short cut survival seed sticky path", and back.
std::string RuleText(const FaultRule& rule);
absl::StatusOr<FaultRule> ParseRule(std::string_view text);

}  // namespace dpledger::testing
