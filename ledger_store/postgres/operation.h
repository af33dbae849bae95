// A request on its way to a commit thread. A value, but for the caller's callback and line.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger/request_rules.h"
#include "ledger_store/store.h"
#include "merkle/sha256.h"

namespace dpledger::postgres {

// A fork, with the prefix that it speaks of.
struct ForkAtPoint {
  v1::ForkLedgerRequest request;
  LedgerPoint point;
};

struct Operation {
  // A batch is used up when it is staged for the first time; `batch_bytes` brings it back, for
  // transactions that run again. (To serialise it costs a tenth of a copy.) A status is a refusal
  // that waits for its turn: answers keep the order of the calls.
  std::variant<v1::AppendBatchRequest, v1::CreateLedgerRequest, v1::SealLedgerRequest, ForkAtPoint,
               absl::Status>
      request;
  std::string batch_bytes;
  bool used_up = false;
  std::vector<std::string> ledgers;  // that it reads and changes; the one it is made to first
  std::string request_id;
  merkle::Hash hash = {};
  size_t bytes = 0;                  // that it counts against max_pending_bytes
  std::shared_ptr<AppendLine> line;  // null for all but batches in line
  LedgerStore::AppendCallback done;
};

}  // namespace dpledger::postgres
