// Finds a batch among a ledger's entries, when its request id is not known but its position says
// that it was made before: the record of its answer is lost. Thread safe as far as the store is.
#pragma once

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger/batch_draft.h"
#include "ledger/ledger_head.h"
#include "ledger_store/store.h"

namespace dpledger {

// How many entries from the end on are searched.
inline constexpr uint64_t kMostSearched = uint64_t{1} << 16;

// The batch's receipt, made again from its entries: those of its writer that bear its request id
// and have its bodies. The entries and tiles lead to the head's root. `refused` if there are no
// such entries among the last kMostSearched; INVALID_ARGUMENT (REQUEST_ID_REUSED) if they hold
// something else; DATA_LOSS if the store's entries or tiles do not lead to the root.
absl::StatusOr<v1::Receipt> ReceiptOfWritten(LedgerReader& store, const LedgerHead& head,
                                             const BatchDraft& batch, const absl::Status& refused);

}  // namespace dpledger
