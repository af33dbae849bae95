#include "tests/fault/fault_fs_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::testing {
namespace {

constexpr const char* kCalls[] = {
    "any",     "lookup", "getattr",   "setattr",   "open",  "create",    "mkdir",
    "symlink", "link",   "rename",    "unlink",    "rmdir", "readlink",  "readdir",
    "read",    "write",  "ftruncate", "fallocate", "fsync", "fdatasync", "fsyncdir"};

bool Matches(const FaultRule& rule, std::string_view op, std::string_view name, bool in_any) {
  const bool op_matches = rule.op == op || (in_any && rule.op == "any");
  return op_matches && name.find(rule.path) != std::string_view::npos;
}

}  // namespace

absl::Status FaultRules::Add(FaultRule rule) {
  if (std::find(std::begin(kCalls), std::end(kCalls), rule.op) == std::end(kCalls)) {
    return FieldError("op", absl::StrCat("must be a call of a file system, got ", rule.op));
  }
  if (rule.nth == 0) return FieldError("nth", "must be >= 1, got 0");
  if (rule.error == 0 && rule.short_bytes == 0 && !rule.cut) {
    return FieldError("error", "must be given unless short_bytes or cut is");
  }
  rules_.push_back({std::move(rule)});
  return absl::OkStatus();
}

const FaultRule* FaultRules::On(std::string_view op, std::string_view name) {
  const bool in_any = op != "lookup" && op != "getattr";
  ++counts_[std::string(op)];
  if (in_any) ++counts_["any"];
  const FaultRule* applies = nullptr;
  for (Watch& watch : rules_) {
    const FaultRule& rule = watch.rule;
    if (!Matches(rule, op, name, in_any)) continue;
    ++watch.seen;
    if (watch.seen == rule.nth || (watch.seen > rule.nth && rule.sticky)) applies = &rule;
  }
  if (applies != nullptr) {
    ++counts_["struck"];
    ++counts_[absl::StrCat("struck:", ToAbsl(name))];
  }
  return applies;
}

std::string RuleText(const FaultRule& rule) {
  return absl::StrCat(rule.op, " ", rule.nth, " ", rule.error, " ", rule.short_bytes, " ",
                      rule.cut ? 1 : 0, " ", static_cast<int>(rule.survival), " ", rule.seed, " ",
                      rule.sticky ? 1 : 0, " ", rule.path);
}

absl::StatusOr<FaultRule> ParseRule(std::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(ToAbsl(text), absl::MaxSplits(' ', 8));
  FaultRule rule;
  int cut = 0, sticky = 0, survival = 0;
  if (words.size() != 9 || !absl::SimpleAtoi(words[1], &rule.nth) ||
      !absl::SimpleAtoi(words[2], &rule.error) || !absl::SimpleAtoi(words[3], &rule.short_bytes) ||
      !absl::SimpleAtoi(words[4], &cut) || !absl::SimpleAtoi(words[5], &survival) ||
      !absl::SimpleAtoi(words[6], &rule.seed) || !absl::SimpleAtoi(words[7], &sticky)) {
    return FieldError("rule", "must be \"op nth errno short cut survival seed sticky path\"");
  }
  if (survival < 0 || survival > static_cast<int>(Survival::kTornWithHoles)) {
    return FieldError("survival", absl::StrCat("must be 0, 1 or 2, got ", survival));
  }
  rule.op = words[0];
  rule.cut = cut != 0;
  rule.survival = static_cast<Survival>(survival);
  rule.sticky = sticky != 0;
  rule.path = words[8];
  return rule;
}

}  // namespace dpledger::testing
