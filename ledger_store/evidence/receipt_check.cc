#include "ledger_store/evidence/receipt_check.h"

#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

// A fork is answered in the child, a grant in the budget, and a refused batch nowhere: what tells
// of them bears their ids.
bool IsAnswered(const bundle::EntryFrame& entry) {
  return entry.body != v1::LedgerEntry::kForkNoticeFieldNumber &&
         entry.body != v1::LedgerEntry::kGrantedFieldNumber &&
         entry.body != v1::LedgerEntry::kConflictFieldNumber;
}

}  // namespace

void ReceiptCheck::BeforeEntry(const bundle::EntryFrame& entry, const merkle::TileBuilder& tree) {
  if (!requests_.Begins(entry.writer, entry.request_id, entry.body)) return;
  EndBatch(tree);
  request_id_ = entry.request_id;
  first_ = tree.size();
  answered_ = IsAnswered(entry);
  if (answered_) ++answers_;
}

void ReceiptCheck::AtEnd(const merkle::TileBuilder& tree) {
  EndBatch(tree);
  const absl::StatusOr<uint64_t> stored = store_.CountAnswered(ledger_);
  if (absl::IsUnimplemented(stored.status())) return;
  if (!stored.ok()) return report_.Add(ledger_, stored.status());
  if (*stored != answers_) {
    report_.Add(ledger_, absl::StrCat("has records of ", *stored,
                                      " answered requests, its entries are those of ", answers_));
  }
}

void ReceiptCheck::EndBatch(const merkle::TileBuilder& tree) {
  if (!answered_ || tree.size() == first_) return;
  const std::string place = absl::StrCat(ledger_, ": request ", request_id_);
  const absl::StatusOr<v1::StoredRequest> request = store_.Answered(ledger_, request_id_);
  if (absl::IsUnimplemented(request.status())) return;
  if (!request.ok()) return report_.Add(place, request.status());
  const v1::Receipt& receipt = request->receipt();
  if (request->request_hash().size() != sizeof(merkle::Hash)) {
    report_.Add(place, "its record has no request hash");
  }
  if (receipt.first_sequence() != first_ || receipt.count() != tree.size() - first_ ||
      receipt.size() != tree.size() || receipt.root_hash() != merkle::ToBytes(tree.Root())) {
    report_.Add(place, absl::StrCat("its receipt is not that of entries ", first_, " to ",
                                    tree.size() - 1));
  }
}

}  // namespace dpledger
