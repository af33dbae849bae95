// Where the registry registers a ledger: the indices of its entries, in order, in blocks of 256.
// They are kept among the ledger's tiles, at a level that no tree has, and written with each
// checkpoint: so nobody who answers for them has to hold them, or to read the registry. Derived:
// the entries say which ledger they register. docs/formats.md, section 2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/checkpoint_store.h"
#include "merkle/tile.h"
#include "registry/head.h"

namespace dpledger {

// The block that holds registration `point` of a ledger, counted from 0.
merkle::TileId RegistrationsTile(uint64_t point);

// The block of the ledger's next registration, with that. `stored`: the block as it is stored,
// empty if it is not. DATA_LOSS unless the last registration is where it belongs.
absl::StatusOr<std::string> WithRegistration(const std::string& ledger, const registry::Head& last,
                                             std::string stored, uint64_t index);

// The indices of registrations [first, end) of the ledger. DATA_LOSS if a block is not there, or
// its indices do not rise.
absl::StatusOr<std::vector<uint64_t>> ReadRegistrations(CheckpointReader& store,
                                                        const std::string& ledger, uint64_t first,
                                                        uint64_t end);

// How many of the ledger's first `points` registrations are below entry `index`.
absl::StatusOr<uint64_t> CountRegistrations(CheckpointReader& store, const std::string& ledger,
                                            uint64_t points, uint64_t index);

}  // namespace dpledger
