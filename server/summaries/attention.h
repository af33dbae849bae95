// What somebody has to act on, of a ledger and of data sets: pure functions of what lists know.
// Each item says what is the matter, what it means and what to do; docs/dashboard.md has the list.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger_store/checkpoint_store.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

void AddAttention(const DamagedLedger& ledger, std::vector<v1::AttentionItem>& items);
void AddAttention(const LedgerRow& row, absl::Time now, std::vector<v1::AttentionItem>& items);
// Of data sets, each with its total or why there is none.
void AddAttention(const std::vector<v1::DatasetSummary>& datasets,
                  std::vector<v1::AttentionItem>& items);

// What is the matter with the server itself.
struct ServerState {
  absl::Duration signed_age;   // since something last showed that ledgers get signed
  absl::Duration signed_late;  // from when on that is too long
  std::optional<absl::Time> certificate_ends;
  struct Token {
    std::string caller;
    absl::Time ends;
  };
  std::vector<Token> tokens;  // that are good now
};
void AddAttention(const ServerState& server, absl::Time now, std::vector<v1::AttentionItem>& items);

// The item's id: the same as long as the same is the matter, as its title and message say it. Of
// data sets, `projects` are those of the ledgers that it is about: another reader, who sees others,
// has another item.
std::string IdOf(const v1::AttentionItem& item, const std::set<std::string>& projects);
// By which items stand: the gravest first, and then by name; those that are acknowledged last.
std::string PlaceOf(const v1::AttentionItem& item);

}  // namespace dpledger::server
