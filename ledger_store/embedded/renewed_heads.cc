#include "ledger_store/embedded/renewed_heads.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/head_row.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {

absl::Status AddRenewedHeads(const LedgerTable& table, rocksdb::WriteBatch& batch) {
  for (const std::string& name : table.to_renew()) {
    ASSIGN_OR_RETURN(const LedgerRecord record, table.Find(name));
    // Before the other writers' rows, whose heads are no longer.
    const v1::WriterStatus* const server = record.head->writers.Find("");
    if (server == nullptr)
      return absl::DataLossError(absl::StrCat(name, ": the server's own writer is missing"));
    batch.Put(HeadKey(record.id, ""), HeadRow{*server, ToStored(*record.head)}.Serialize());
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
