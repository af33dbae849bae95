// A prefix of a ledger: its size and the root of its tree.
#pragma once

#include <cstdint>

#include "merkle/sha256.h"

namespace dpledger {

struct LedgerPoint {
  uint64_t size = 0;
  merkle::Hash root = {};
};

}  // namespace dpledger
