#include "tests/fault/fault_fs_disk.h"

#include <cerrno>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/fault/fault_fs_image.h"

namespace dpledger::testing {
namespace {

std::string Answer(const absl::Status& status) {
  return status.ok() ? "ok" : absl::StrCat("error ", status.message());
}

}  // namespace

absl::Status FaultDisk::Load() {
  absl::Status status = LoadImage(backing_, tree_);
  known_[tree_.root()->number] = {tree_.root(), 1};
  return status;
}

absl::Status FaultDisk::Store() {
  if (!has_power_) return absl::OkStatus();
  tree_.SyncAll();
  return StoreImage(tree_, backing_);
}

absl::Status FaultDisk::Cut(Survival survival, uint64_t seed) {
  if (!has_power_) return absl::OkStatus();
  has_power_ = false;
  tree_.CutPower(survival, seed);
  return StoreImage(tree_, backing_);
}

int FaultDisk::Judge(std::string_view op, const Node& node, uint64_t* short_bytes) {
  if (!has_power_) return EIO;
  const FaultRule* rule = rules_.On(op, node.name);
  if (rule == nullptr) return 0;
  if (rule->cut) {
    const absl::Status status = Cut(rule->survival, rule->seed);
    if (!status.ok()) std::cerr << "fault_fs: " << status << "\n";
    return EIO;
  }
  if (short_bytes != nullptr) *short_bytes = rule->short_bytes;
  return rule->error;
}

void FaultDisk::Sync(const NodePtr& node, bool data_only) {
  if (!ignores_sync_) tree_.Sync(node, data_only);
}

NodePtr FaultDisk::Known(uint64_t number) const {
  const auto found = known_.find(number);
  return found == known_.end() ? nullptr : found->second.node;
}

void FaultDisk::Remember(const NodePtr& node) {
  KnownNode& known = known_[node->number];
  known.node = node;
  ++known.times;
}

void FaultDisk::Forget(uint64_t number, uint64_t times) {
  const auto found = known_.find(number);
  if (found == known_.end() || number == tree_.root()->number) return;
  if (found->second.times <= times) {
    known_.erase(found);
  } else {
    found->second.times -= times;
  }
}

std::string FaultDisk::CountsText() const {
  std::string text = "ok";
  for (const auto& [op, count] : rules_.counts()) absl::StrAppend(&text, " ", op, "=", count);
  return text;
}

std::string FaultDisk::Command(const std::string& command) {
  const std::vector<std::string> words = absl::StrSplit(command, absl::MaxSplits(' ', 1));
  const std::string rest = words.size() > 1 ? words[1] : "";
  if (words[0] == "fail") {
    auto rule = ParseRule(rest);
    return Answer(rule.ok() ? rules_.Add(*std::move(rule)) : rule.status());
  }
  if (words[0] == "cut") {
    const std::vector<std::string> parts = absl::StrSplit(rest, ' ');
    int survival = 0;
    uint64_t seed = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &survival) && survival >= 0 &&
        survival <= static_cast<int>(Survival::kTornWithHoles) &&
        absl::SimpleAtoi(parts[1], &seed)) {
      return Answer(Cut(static_cast<Survival>(survival), seed));
    }
  }
  if (words[0] == "clear") {
    rules_.Clear();
    return "ok";
  }
  if (words[0] == "counts") return CountsText();
  if (words[0] == "ignore-sync") {
    ignores_sync_ = rest == "1";
    return "ok";
  }
  return absl::StrCat("error no such command: ", command);
}

}  // namespace dpledger::testing
