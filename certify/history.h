// Events in proto JSON as independent steps with known losses: what docs/mechanisms.md says that
// each event means, read anew.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "certify/composition.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::certify {

struct Neighbours {
  v1::Adjacency adjacency = v1::ADD_OR_REMOVE_ONE;
  uint64_t group_size = 1;
};

// One event a line, of one writer; or one entry of a ledger a line, all of them. INVALID_ARGUMENT:
// a line is no event, or a value breaks a rule; the error names the line and the field.
// UNIMPLEMENTED: nothing here checks such an event under this adjacency or for a group of so many.
// `closeness`: of what encloses a loss that has no closed form.
absl::StatusOr<Claimed> ReadHistory(std::string_view lines, const Neighbours& neighbours,
                                    const Closeness& closeness = {});

}  // namespace dpledger::certify
