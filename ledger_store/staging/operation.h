// A request on its way to a commit thread, or a refusal that waits for its turn: answers keep the
// order of the calls. A value, but for the caller's callback and line.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger/batch_draft.h"
#include "ledger/ledger_point.h"
#include "ledger_store/store.h"
#include "merkle/sha256.h"

namespace dpledger {

// A fork, with the prefix that it speaks of.
struct ForkAtPoint {
  v1::ForkLedgerRequest request;
  LedgerPoint point;
};

struct Operation {
  // Checks and hashes the request, on the caller's thread: commit threads are the narrow place. A
  // request that breaks a rule of its own becomes its refusal.
  // `from` is the caller of LedgerStore's calls.
  explicit Operation(v1::AppendBatchRequest batch, std::string from = {});
  explicit Operation(const v1::CreateLedgerRequest& create, std::string from = {});
  explicit Operation(const v1::SealLedgerRequest& seal, std::string from = {});
  explicit Operation(const ForkAtPoint& fork, std::string from = {});
  explicit Operation(const GrantAtSize& grant, std::string from = {});

  // Refuses all that comes after it in its line.
  void BreakLine() const {
    if (line != nullptr) line->Break(turn);
  }
  bool is_refusal() const { return std::holds_alternative<absl::Status>(request); }

  std::variant<absl::Status, BatchDraft, v1::CreateLedgerRequest, v1::SealLedgerRequest,
               ForkAtPoint, GrantAtSize>
      request;
  std::vector<std::string> ledgers;  // that it reads and changes; the one it is made to first
  std::string request_id;
  std::string caller;
  merkle::Hash hash = {};            // of the request alone, whoever brings it
  size_t bytes = 0;                  // that it counts against max_pending_bytes
  std::shared_ptr<AppendLine> line;  // null for all but batches in line
  uint64_t turn = 0;                 // in its line
  LedgerStore::AppendCallback done;
};

// RESOURCE_EXHAUSTED (QUEUE_FULL): `waiting` bytes wait for `what`.
absl::Status QueueFull(size_t waiting, size_t limit, std::string_view what);

// INVALID_ARGUMENT (REQUEST_ID_REUSED).
absl::Status RequestIdReused();

// PERMISSION_DENIED (REQUEST_OF_ANOTHER_CALLER).
absl::Status RequestOfAnotherCaller();

// NOT_FOUND (LEDGER_NOT_FOUND).
absl::Status LedgerNotFound(const std::string& name);

}  // namespace dpledger
