// Reads the ends of many ledgers together that have grown a little each, before they are asked for
// one by one: a store that others serve answers a few questions, not some for each ledger. Not
// thread safe.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/store.h"

namespace dpledger {

class TailsAhead {
 public:
  // `ranges` in the order in which they will be asked for. The store must outlive this.
  TailsAhead(LedgerStore& store, std::vector<TailRange> ranges)
      : store_(store), ranges_(std::move(ranges)) {}

  // The tail of range `i`, not before that of an earlier one; valid until the next call. Null for
  // one that is empty or too long: the caller reads it itself, by pages. Errors of ReadTails.
  absl::StatusOr<const Tail*> At(size_t i);

 private:
  LedgerStore& store_;
  const std::vector<TailRange> ranges_;
  size_t end_ = 0;  // of what was read
  std::vector<const TailRange*> read_;
  std::vector<Tail> tails_;  // of those
};

}  // namespace dpledger
