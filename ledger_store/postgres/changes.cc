#include "ledger_store/postgres/changes.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/postgres/heads.h"

namespace dpledger::postgres {
namespace {

// An origin ends with the ledger's name: projects/{project}/ledgers/{ledger}.
constexpr int kPartsOfName = 4;

std::string NameFromOrigin(const std::string& origin) {
  size_t begin = origin.size();
  for (int part = 0; part < kPartsOfName; ++part) {
    if (begin == 0) return origin;
    const size_t slash = origin.rfind('/', begin - 1);
    if (slash == std::string::npos) return origin;
    begin = slash;
  }
  return origin.substr(begin + 1);
}

}  // namespace

absl::StatusOr<ChangedLedgers> ReadChanged(Database& database, uint64_t since, size_t limit,
                                           const WriterRange& writers, const KnownSizes& known) {
  // In this order: a ledger that is signed after the first statement has read is in the registry
  // of the second, or in that of the next call.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      database.Read({{database.Sql("SELECT name, next_seq FROM @.ledgers WHERE unsigned"), {}},
                     {database.Sql("SELECT entry FROM @.registry WHERE idx >= $1 AND idx < $2"),
                      Values()
                          .Number(static_cast<int64_t>(since))
                          .Number(static_cast<int64_t>(since + limit))}}));
  std::set<std::string> names;
  const auto take = [&](const std::string& name, uint64_t size) {
    if (!known || known(name) < size) names.insert(name);
  };
  for (int row = 0; row < found[0].size(); ++row)
    take(found[0].Bytes(row, 0), static_cast<uint64_t>(found[0].Number(row, 1)));
  for (int row = 0; row < found[1].size(); ++row) {
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(found[1].Bytes(row, 0))) {
      return absl::DataLossError("the registry: an entry does not parse");
    }
    if (entry.has_registered())
      take(NameFromOrigin(entry.registered().origin()), entry.registered().size());
  }
  ChangedLedgers changed;
  if (!names.empty()) {
    ASSIGN_OR_RETURN(const LedgerHeads heads,
                     ReadHeads(database,
                               {database.Sql(absl::StrCat("SELECT ", kEndColumns,
                                                          " FROM @.ledgers WHERE name = ANY ($1)")),
                                Values().Texts({names.begin(), names.end()})},
                               &changed.damaged));
    for (const auto& head : heads) changed.ledgers.push_back(Describe(*head, writers));
  }
  const auto entries = static_cast<uint64_t>(found[1].size());
  changed.next = since + entries;
  changed.more = entries == limit;
  return changed;
}

absl::StatusOr<uint64_t> ReadChangesEnd(Database& database) {
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      database.Read({{database.Sql("SELECT coalesce(max(idx) + 1, 0) FROM @.registry"), {}}}));
  return static_cast<uint64_t>(found[0].Number(0, 0));
}

}  // namespace dpledger::postgres
