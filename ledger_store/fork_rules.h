// What a fork may declare. One rule for the store, which refuses what breaks it, and for the
// verifier of bundles, which does not believe the store. Pure; thread safe.
#pragma once

#include "dpledger/v1/ledger.pb.h"

namespace dpledger {

// What a parent's prefix says, its forks cannot take back: the first field of the declaration that
// the child has otherwise and must not, by its name in the .proto; null if there is none.
const char* NotInherited(const v1::Declaration& parent, const v1::Declaration& child);

}  // namespace dpledger
