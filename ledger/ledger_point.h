#pragma once

#include <cstdint>

#include "merkle/sha256.h"

namespace dpledger {

// A prefix of a ledger: its size and the root of its tree.
struct LedgerPoint {
  uint64_t size = 0;
  merkle::Hash root = {};
};

}  // namespace dpledger
