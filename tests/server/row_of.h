// A row of the index for a ledger that calls would return so; its entries are made up.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger/ledger_head.h"
#include "merkle/compact_tree.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

inline std::shared_ptr<const LedgerHead> HeadOf(const v1::Ledger& ledger) {
  auto head = std::make_shared<LedgerHead>();
  head->name = ledger.name();
  head->state = ledger.state();
  head->create_time = absl::FromUnixSeconds(ledger.create_time().seconds());
  v1::LedgerEntry first;
  first.set_caller(ledger.creator());
  if (ledger.has_import()) {
    *first.mutable_import()->mutable_declaration() = ledger.declaration();
  } else {
    *first.mutable_declaration() = ledger.declaration();
  }
  head->first = std::make_shared<const v1::LedgerEntry>(std::move(first));
  while (head->tree.size() < ledger.size()) head->tree.Append(merkle::LeafHash("made up"));
  for (const v1::WriterStatus& writer : ledger.writers()) head->writers.Put(writer);
  return head;
}

inline LedgerRow RowOf(const v1::Ledger& ledger, std::optional<v1::LedgerSummary> summary) {
  LedgerRow row{.head = HeadOf(ledger),
                .writers = static_cast<uint32_t>(ledger.writers_size()),
                .open_writers = static_cast<uint32_t>(ledger.open_writer_count())};
  if (summary.has_value())
    row.summary = std::make_shared<const v1::LedgerSummary>(*std::move(summary));
  return row;
}

}  // namespace dpledger::server
