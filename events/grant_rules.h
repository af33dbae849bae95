// The rules for what is set aside of a budget (proto/dpledger/v1/ledger.proto, BudgetGrant). Errors
// are INVALID_ARGUMENT and name the field and the rule. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace dpledger::events {

// At most 64 events, each by its own rules, all of rounds that are grouped or of other mechanisms.
absl::Status CheckPlan(const google::protobuf::RepeatedPtrField<v1::Event>& plan);

// The blocks of a budget are numbered from 1 to this.
inline constexpr uint32_t kMostBlocks = 10000;

// At most 64 ranges of blocks, ascending, with others between them: a set has one spelling.
absl::Status CheckBlocks(const google::protobuf::RepeatedPtrField<v1::BlockRange>& blocks);

// The blocks of either, in the one spelling of CheckBlocks but for the number of ranges.
// Precondition: CheckBlocks holds of both.
google::protobuf::RepeatedPtrField<v1::BlockRange> UnionOf(
    const google::protobuf::RepeatedPtrField<v1::BlockRange>& one,
    const google::protobuf::RepeatedPtrField<v1::BlockRange>& other);

// "1-12,14": numbers and ranges, as people write blocks. INVALID_ARGUMENT naming `blocks`; those of
// CheckBlocks.
absl::StatusOr<google::protobuf::RepeatedPtrField<v1::BlockRange>> BlocksFromText(
    const std::string& text);
std::string BlocksText(const google::protobuf::RepeatedPtrField<v1::BlockRange>& blocks);

// Whether both are of the same blocks: declarations or grants.
template <typename One, typename Other>
bool SameBlocks(const One& one, const Other& other) {
  return std::equal(one.blocks().begin(), one.blocks().end(), other.blocks().begin(),
                    other.blocks().end(), [](const v1::BlockRange& a, const v1::BlockRange& b) {
                      return a.first() == b.first() && a.last() == b.last();
                    });
}

// A ledger that declares `run` is under the budget that declares `budget` only if they agree.
// Returns the name of the first field in which they do not; null if there is none.
const char* NotOfBudget(const v1::Declaration& budget, const v1::Declaration& run);

}  // namespace dpledger::events
