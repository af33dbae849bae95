// Between a fault tree and a folder of a real disk: files, directories, symbolic and hard links,
// with owners, modes and times of modification.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tests/fault/fault_fs_tree.h"

namespace dpledger::testing {

// Reads the folder into an empty tree, all of it durable. INVALID_ARGUMENT for a file over
// FileContent::kMostBytes or of another kind (device, socket).
absl::Status LoadImage(const std::string& folder, FaultTree& tree);

// Replaces all that `folder` holds by the tree's durable state. Owners only as root. Nothing is
// synced: the machine below is taken to be healthy.
absl::Status StoreImage(const FaultTree& tree, const std::string& folder);

}  // namespace dpledger::testing
