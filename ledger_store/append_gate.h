// Asked before a batch is stored: whether the ledger can bear it. The store knows no accounting;
// who opens it for writing sets the gate.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "ledger/ledger_head.h"
#include "ledger_store/store.h"

namespace dpledger {

// Thread safe. Called by the threads that commit, on which all appends wait: no long work.
class AppendGate {
 public:
  virtual ~AppendGate() = default;

  // Whether the ledger's batches are to be asked about.
  virtual bool Guards(const LedgerHead& head) const = 0;

  // Of a ledger that it guards: why the batch is refused, which then leaves nothing; or OK.
  // `change` is what the batch makes of `head`; it may still not be stored. FAILED_PRECONDITION;
  // ABORTED if the answer is not known yet: the batch is to be sent again; RESOURCE_EXHAUSTED
  // (OUT_OF_MEMORY). `reader` reads what is durable.
  virtual absl::Status Admit(const LedgerHead& head, const LedgerChange& change,
                             std::string_view caller, LedgerReader& reader) = 0;
};

}  // namespace dpledger
