#include "ledger_store/store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace dpledger {

absl::StatusOr<v1::StoredRequest> LedgerReader::Answered(const std::string&, const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

absl::StatusOr<uint64_t> LedgerReader::CountAnswered(const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

namespace {

constexpr size_t kTailBytes = size_t{4} << 20;

absl::Status ReadTail(LedgerStore& store, const TailRange& range, Tail& tail) {
  for (const merkle::TileId& id : range.tiles) {
    absl::StatusOr<std::string> tile = store.checkpoints().ReadTile(range.ledger, id);
    if (absl::IsNotFound(tile.status())) continue;
    if (!tile.ok()) return tile.status();
    tail.tiles[id] = *std::move(tile);
  }
  while (range.signed_size + tail.entries.size() < range.size) {
    const uint64_t next = range.signed_size + tail.entries.size();
    absl::StatusOr<std::vector<std::string>> page =
        store.Read(range.ledger, next, range.size - next, kTailBytes);
    if (!page.ok()) return page.status();
    if (page->empty()) {
      return absl::DataLossError(absl::StrCat(range.ledger, ": entry ", next, " is missing"));
    }
    for (std::string& entry : *page) tail.entries.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

}  // namespace

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

absl::StatusOr<ChangedLedgers> LedgerStore::Changed(uint64_t, size_t, const WriterRange&,
                                                    const KnownSizes&) {
  return absl::UnimplementedError("this store cannot be followed");
}

absl::StatusOr<uint64_t> LedgerStore::ChangesEnd() {
  return absl::UnimplementedError("this store cannot be followed");
}

absl::Status LedgerStore::SnapshotTo(const std::string& /*folder*/) {
  return absl::UnimplementedError("the database is backed up with its own tools");
}

}  // namespace dpledger
