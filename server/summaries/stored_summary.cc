#include "server/summaries/stored_summary.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/request_rules.h"

namespace dpledger::server {
namespace {

constexpr std::string_view kWhat = "summary";

}  // namespace

SummaryRow ToRow(const merkle::Authenticator& key, const v1::LedgerSummary& summary) {
  v1::StoredSummary stored;
  stored.set_summary(SerializeDeterministically(summary));
  stored.set_authenticator(key.Of({kWhat, summary.ledger(), stored.summary()}));
  return {summary.ledger(), stored.SerializeAsString()};
}

absl::StatusOr<v1::LedgerSummary> FromRow(const merkle::Authenticator& key, const SummaryRow& row) {
  v1::StoredSummary stored;
  v1::LedgerSummary summary;
  if (!stored.ParseFromString(row.bytes) ||
      !key.Holds(stored.authenticator(), {kWhat, row.ledger, stored.summary()}) ||
      !summary.ParseFromString(stored.summary()) || summary.ledger() != row.ledger) {
    return absl::DataLossError(
        absl::StrCat(row.ledger, ": no server with this signing key made its summary"));
  }
  return summary;
}

bool Fits(const v1::LedgerSummary& summary, const LedgerHead& ledger) {
  return summary.size() < ledger.tree.size() ||
         (summary.size() == ledger.tree.size() &&
          summary.root_hash() == merkle::ToBytes(ledger.tree.Root()));
}

bool IsCurrent(const v1::LedgerSummary* summary, const LedgerHead& ledger, double delta) {
  return summary != nullptr && summary->size() == ledger.tree.size() && summary->delta() == delta &&
         Fits(*summary, ledger);
}

}  // namespace dpledger::server
