#include "ledger_store/postgres/head_row.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/postgres/chunk.h"

namespace dpledger::postgres {

absl::StatusOr<LedgerHead> HeadFromRow(const Rows& rows, int row) {
  const std::string name = rows.Bytes(row, 0);
  const auto damaged = [&name](const char* what) {
    return absl::DataLossError(absl::StrCat(name, ": ", what));
  };
  v1::LedgerEntry first;
  v1::StoredHead stored;
  v1::Ledger listed;
  if (!stored.ParseFromString(rows.Bytes(row, 1))) return damaged("its head does not parse");
  if (!listed.ParseFromString(rows.Bytes(row, 2))) return damaged("its writers do not parse");
  if (rows.IsNull(row, 5) || rows.IsNull(row, 6)) return damaged("entry 0 is missing");
  const auto chunk = FromChunk(rows.View(row, 5), rows.View(row, 6), 1);
  if (!chunk.ok() || !first.ParseFromString(std::string(chunk->front()))) {
    return damaged("entry 0 is damaged");
  }
  std::map<std::string, v1::WriterStatus> writers;
  for (v1::WriterStatus& writer : *listed.mutable_writers()) {
    std::string writer_name = writer.writer();
    writers[std::move(writer_name)] = std::move(writer);
  }
  ASSIGN_OR_RETURN(LedgerHead head, FromStored(name, first, stored, std::move(writers)));
  if (static_cast<uint64_t>(rows.Number(row, 3)) != head.tree.size() ||
      rows.View(row, 4) != merkle::ToBytes(head.tree.Root())) {
    return damaged("its head has another size or root than its row");
  }
  return head;
}

std::string HeadColumn(const LedgerHead& head) { return ToStored(head).SerializeAsString(); }

std::string WritersColumn(const LedgerHead& head) {
  v1::Ledger listed;
  for (const v1::WriterStatus& writer : head.writers) *listed.add_writers() = writer;
  return listed.SerializeAsString();
}

}  // namespace dpledger::postgres
