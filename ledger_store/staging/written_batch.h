// Compares the records of answered requests with a ledger's entries: finds a batch when its request
// id is not known but its position says that it was made before, for then the record of its answer
// is lost; and does not believe a record that no entries bear out. Thread safe as far as the store
// is.
#pragma once

#include <string>

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

// The reason of an answer that the entries do not bear out.
inline constexpr char kForgedAnswer[] = "FORGED_ANSWER";

// DATA_LOSS (kForgedAnswer) unless the receipt is of entries that bear the request's id: its first
// and its last are read, and its root is compared if it is the head's. `head` is durable.
absl::Status CheckAnswered(LedgerReader& store, const LedgerHead& head,
                           const std::string& request_id, const v1::Receipt& receipt);

}  // namespace dpledger
