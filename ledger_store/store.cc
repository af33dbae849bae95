#include "ledger_store/store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "base/status.h"
#include "events/names.h"

namespace dpledger {

absl::StatusOr<v1::Ledger> LedgerReader::Get(const std::string& name, const WriterRange& writers) {
  RETURN_IF_ERROR(events::CheckLedgerName("name", name));
  ASSIGN_OR_RETURN(const std::shared_ptr<const LedgerHead> head, Head(name));
  return Describe(*head, writers);
}

absl::StatusOr<std::vector<v1::Ledger>> LedgerReader::List(const std::string& parent,
                                                           const std::string& after, size_t limit,
                                                           const WriterRange& writers) {
  const bool every_project = parent == "projects/-";
  if (!every_project) RETURN_IF_ERROR(events::CheckProjectName("parent", parent));
  ASSIGN_OR_RETURN(
      const LedgerHeads heads,
      Heads(every_project ? "projects/" : absl::StrCat(parent, "/ledgers/"), after, limit));
  std::vector<v1::Ledger> ledgers;
  for (const auto& head : heads) ledgers.push_back(Describe(*head, writers));
  return ledgers;
}

absl::Status LedgerReader::ForEach(const std::string& parent,
                                   absl::FunctionRef<absl::Status(const v1::Ledger& ledger)> take,
                                   const WriterRange& writers) {
  constexpr size_t kPageLedgers = 1000;
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<v1::Ledger> page,
                     List(parent, after, kPageLedgers, writers));
    for (const v1::Ledger& ledger : page) RETURN_IF_ERROR(take(ledger));
    if (page.size() < kPageLedgers) return absl::OkStatus();
    after = page.back().name();
  }
}

absl::Status LedgerReader::ForEachEntry(const std::string& name, uint64_t first, uint64_t end,
                                        absl::FunctionRef<absl::Status(std::string& bytes)> take) {
  constexpr size_t kPageEntries = 10'000, kPageBytes = size_t{4} << 20;
  while (first < end) {
    ASSIGN_OR_RETURN(std::vector<std::string> page,
                     Read(name, first, std::min<uint64_t>(kPageEntries, end - first), kPageBytes));
    if (page.empty()) return EntryMissing(name, first);
    for (std::string& bytes : page) RETURN_IF_ERROR(take(bytes));
    first += page.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::StoredRequest> LedgerReader::Answered(const std::string&, const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

absl::StatusOr<uint64_t> LedgerReader::CountAnswered(const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

namespace {

absl::Status ReadTail(LedgerStore& store, const TailRange& range, Tail& tail) {
  for (const merkle::TileId& id : range.tiles) {
    absl::StatusOr<std::string> tile = store.checkpoints().ReadTile(range.ledger, id);
    if (absl::IsNotFound(tile.status())) continue;
    if (!tile.ok()) return tile.status();
    tail.tiles[id] = *std::move(tile);
  }
  absl::StatusOr<std::vector<std::string>> entries =
      ReadAll(store, range.ledger, range.signed_size, range.size);
  if (entries.ok()) tail.entries = *std::move(entries);
  return entries.status();
}

}  // namespace

std::string NameFromOrigin(const std::string& origin) {
  constexpr size_t kPartsOfName = 4;
  const std::vector<std::string> parts = absl::StrSplit(origin, '/');
  if (parts.size() <= kPartsOfName) return origin;
  return absl::StrJoin(parts.end() - kPartsOfName, parts.end(), "/");
}

absl::Status EntryMissing(const std::string& log, uint64_t sequence) {
  return absl::DataLossError(absl::StrCat(log, ": entry ", sequence, " is missing"));
}

absl::Status SignerReplaced(const std::string& what) {
  return WithReason(absl::AbortedError(what), {"SIGNER_REPLACED", {}});
}

absl::Status MissingTile(const std::string& log, const merkle::TileId& id, int width) {
  return absl::DataLossError(absl::StrCat(
      LogName(log), ": ", merkle::TilePath(id.level, id.index, width), " is signed, but missing"));
}

absl::StatusOr<std::string> LogTiles::ReadTile(const merkle::TileId& id, int width) {
  absl::StatusOr<std::string> tile = store_.ReadTile(log_, id);
  if (!absl::IsNotFound(tile.status())) return tile;
  return MissingTile(log_, id, width);
}

absl::StatusOr<std::vector<std::string>> ReadAll(LedgerReader& store, const std::string& ledger,
                                                 uint64_t first, uint64_t end) {
  std::vector<std::string> entries;
  RETURN_IF_ERROR(store.ForEachEntry(ledger, first, end, [&](std::string& bytes) {
    entries.push_back(std::move(bytes));
    return absl::OkStatus();
  }));
  return entries;
}

absl::StatusOr<std::vector<Tail>> LedgerStore::ReadTails(const std::vector<TailRange>& ranges) {
  std::vector<Tail> tails(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    tails[i].status = ReadTail(*this, ranges[i], tails[i]);
  }
  return tails;
}

absl::StatusOr<v1::Receipt> LedgerStore::Grant(const GrantAtSize&, const std::string&) {
  return absl::UnimplementedError("this store keeps no budgets");
}

absl::StatusOr<v1::Receipt> LedgerStore::Append(v1::AppendBatchRequest request,
                                                const std::string& caller) {
  absl::Notification answered;
  absl::StatusOr<v1::Receipt> receipt;
  AppendAsync(std::move(request), caller, nullptr, [&](absl::StatusOr<v1::Receipt> answer) {
    receipt = std::move(answer);
    answered.Notify();
  });
  answered.WaitForNotification();
  return receipt;
}

absl::Status LedgerStore::PutSummaries(const std::vector<SummaryRow>&) { return absl::OkStatus(); }

absl::StatusOr<std::vector<SummaryRow>> LedgerStore::ReadSummaries(
    const std::vector<std::string>&) {
  return std::vector<SummaryRow>();
}

absl::StatusOr<ChangedLedgers> LedgerStore::Changed(uint64_t, size_t, const KnownSizes&) {
  return absl::UnimplementedError("this store cannot be followed");
}

absl::StatusOr<uint64_t> LedgerStore::ChangesEnd() {
  return absl::UnimplementedError("this store cannot be followed");
}

absl::Status LedgerStore::SnapshotTo(const std::string& /*folder*/) {
  return absl::UnimplementedError("the database is backed up with its own tools");
}

}  // namespace dpledger
