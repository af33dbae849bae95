// The requests that one transaction commits together: each is staged on the heads that the ones
// before it left. Pure: what the database holds is given, what it shall hold is asked for.
//
//  1. Requests of one group see each other; a refused one leaves nothing.
//  2. Every ledger and request id that a request names was looked up before it is staged.
// Not thread safe.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger/ledger_head.h"
#include "ledger_store/postgres/chunk.h"
#include "ledger_store/postgres/operation.h"

namespace dpledger::postgres {

absl::Status LedgerNotFound(const std::string& name);

// How a request was answered, for ever.
struct AnsweredRequest {
  std::string request_hash;
  v1::Receipt receipt;
};
using RequestKey = std::pair<std::string, std::string>;  // ledger, request id

// A ledger as the group has it.
struct StagedLedger {
  LedgerHead head;
  // In the database: what the compare-and-set expects. No size: it is new.
  uint64_t stored_size = 0;
  std::string stored_root;
  std::string first_entry;  // of a new ledger
  std::vector<Chunk> chunks;
};

class StagedGroup {
 public:
  explicit StagedGroup(absl::Time now) : now_(now) {}

  // What the database has.
  void AddLedger(LedgerHead head);
  void AddRequest(RequestKey key, AnsweredRequest answered);

  // The receipt is true once the group is durable. Errors as in ledger_store/store.h. May be called
  // again with the same operation, in the group of a transaction that runs again.
  absl::StatusOr<v1::Receipt> Stage(Operation& operation);

  // What the group adds: ledgers with new entries, and new requests.
  const std::map<std::string, StagedLedger>& ledgers() const { return ledgers_; }
  const std::map<RequestKey, AnsweredRequest>& requests() const { return requests_; }

 private:
  absl::StatusOr<v1::Receipt> Make(const v1::CreateLedgerRequest& request, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(v1::AppendBatchRequest& request, Operation& from);
  absl::StatusOr<v1::Receipt> Make(const v1::SealLedgerRequest& request, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const ForkAtPoint& fork, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const absl::Status& refused, const Operation&) {
    return refused;
  }

  // The ledger as this group has it; null if there is none.
  StagedLedger* Find(const std::string& name);
  // The receipt if this very request was answered before, else INVALID_ARGUMENT; NOT_FOUND if its
  // id is new.
  absl::StatusOr<v1::Receipt> Repeated(const Operation& operation) const;
  // How a taken name answers a request to make a ledger of it.
  absl::StatusOr<v1::Receipt> AnswerTaken(const Operation& operation) const;
  v1::Receipt TakeNew(NewLedger made, const Operation& from);
  v1::Receipt Take(const LedgerChange& change, const Operation& from, StagedLedger& ledger);
  static void Put(const LedgerChange& change, StagedLedger& ledger);

  const absl::Time now_;
  std::map<std::string, StagedLedger> ledgers_;
  std::map<RequestKey, AnsweredRequest> answered_;  // by the database
  std::map<RequestKey, AnsweredRequest> requests_;  // by this group
};

}  // namespace dpledger::postgres
