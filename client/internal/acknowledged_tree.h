// What a receipt says of a ledger: what the server acknowledged, and is held to. A value.
#pragma once

#include <cstdint>

#include "merkle/sha256.h"

namespace dpledger::client::internal {

// The first `size` entries of a ledger. size 0: nothing acknowledged yet.
struct AcknowledgedTree {
  uint64_t size = 0;
  merkle::Hash root = {};
  bool operator==(const AcknowledgedTree&) const = default;
};

}  // namespace dpledger::client::internal
