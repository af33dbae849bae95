// An operation as its ledger tells it: what it asks, which ledgers, what has been found, whether it
// has ended. Everything that servers know of an operation is in the ledger; this follows it.
//
// Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/recompute_note.pb.h"
#include "ledger_store/store.h"

namespace dpledger::server {

inline constexpr char kOperationPrefix[] = "operations/";

// The ledger of the operation with this id.
std::string OperationLedger(std::string_view id);

class OperationLog {
 public:
  explicit OperationLog(std::string id);

  // Reads what came since the last call. NOT_FOUND if there is no such ledger.
  absl::Status Refresh(LedgerReader& store);

  bool begun() const { return begun_; }
  bool ended() const { return operation_.state() != v1::Operation::RUNNING; }
  // With its counts and state. Precondition: begun().
  const v1::Operation& operation() const { return operation_; }
  const std::string& ledger() const { return ledger_; }

  // Precondition for all below: begun().
  uint64_t chunks() const;
  // Empty once the operation has ended.
  std::vector<std::string> LedgersOf(uint64_t chunk) const;
  bool stored(uint64_t chunk) const { return stored_.contains(chunk); }
  bool AllStored() const { return stored_.size() == chunks(); }
  // The last claim of the chunk, and how many there were; null if none.
  const v1::RecomputeNote::Claim* ClaimOf(uint64_t chunk, uint64_t* count) const;

  // At most `limit` results from the one of ledger number `first` on, in the ledgers' order.
  // `next`: where to go on, 0 at the end.
  absl::StatusOr<std::vector<v1::Recomputed>> Results(LedgerReader& store, uint64_t first,
                                                      size_t limit, uint64_t* next) const;
  // The result of one ledger; nullopt: there is none, or not yet.
  absl::StatusOr<std::optional<v1::Recomputed>> ResultOf(LedgerReader& store,
                                                         const std::string& ledger) const;

 private:
  struct Stored {
    uint64_t first_sequence = 0;
    uint64_t notes = 0;
    std::string first_ledger;
  };
  struct Claims {
    v1::RecomputeNote::Claim last;
    uint64_t count = 0;
  };
  absl::Status Take(uint64_t sequence, const std::string& bytes);
  void Count(const v1::Recomputed& result);

  const std::string ledger_;
  uint64_t read_ = 0;  // entries
  bool begun_ = false;
  uint64_t chunk_size_ = 1;
  v1::Operation operation_;
  std::vector<std::string> names_;
  std::map<uint64_t, Stored> stored_;
  std::map<uint64_t, Claims> claims_;
};

}  // namespace dpledger::server
