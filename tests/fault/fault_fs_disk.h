// One disk that can fail: the tree of names and bytes, the rules by which calls fail, the power
// switch, and the nodes that the kernel knows by number. Commands of the test come here too.
// Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tests/fault/fault_fs_rules.h"
#include "tests/fault/fault_fs_tree.h"

namespace dpledger::testing {

class FaultDisk {
 public:
  explicit FaultDisk(std::string backing) : backing_(std::move(backing)) {}

  absl::Status Load();
  // What a clean unmount leaves in the backing folder; nothing more after a power cut.
  absl::Status Store();

  FaultTree& tree() { return tree_; }

  // What is to happen to a call, before it does anything: its errno (EIO without power), or 0.
  // `short_bytes`, if given, becomes the number of bytes after which it is to end (0: all of them).
  int Judge(std::string_view op, const Node& node, uint64_t* short_bytes = nullptr);
  // fsync or fdatasync that was not refused.
  void Sync(const NodePtr& node, bool data_only);

  // The node that the kernel knows by this number; null if it has forgotten it.
  NodePtr Known(uint64_t number) const;
  // The kernel got this node once more; it gives it back by Forget.
  void Remember(const NodePtr& node);
  void Forget(uint64_t number, uint64_t times);

  // Commands: "cut SURVIVAL SEED", "fail RULE", "clear", "counts", "ignore-sync 0|1". The answer
  // begins with "ok" or "error".
  std::string Command(const std::string& command);

 private:
  absl::Status Cut(Survival survival, uint64_t seed);
  std::string CountsText() const;

  struct KnownNode {
    NodePtr node;
    uint64_t times = 0;
  };

  const std::string backing_;
  FaultTree tree_;
  FaultRules rules_;
  bool has_power_ = true;
  bool ignores_sync_ = false;
  std::map<uint64_t, KnownNode> known_;
};

}  // namespace dpledger::testing
