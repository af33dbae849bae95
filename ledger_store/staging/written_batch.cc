#include "ledger_store/staging/written_batch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "ledger/request_rules.h"
#include "ledger_store/staging/operation.h"
#include "merkle/compact_tree.h"
#include "merkle/tile_tree.h"

namespace dpledger {
namespace {

constexpr uint64_t kPageEntries = 1000;
constexpr size_t kPageBytes = size_t{4} << 20;

// Exactly the entries [first, end), which the ledger has.
absl::StatusOr<std::vector<std::string>> ReadAll(LedgerReader& store, const std::string& ledger,
                                                 uint64_t first, uint64_t end) {
  std::vector<std::string> entries;
  while (first + entries.size() < end) {
    ASSIGN_OR_RETURN(
        std::vector<std::string> page,
        store.Read(ledger, first + entries.size(), end - first - entries.size(), kPageBytes));
    if (page.empty()) {
      return absl::DataLossError(
          absl::StrCat(ledger, ": entry ", first + entries.size(), " is missing"));
    }
    std::move(page.begin(), page.end(), std::back_inserter(entries));
  }
  return entries;
}

// Whether the stored entry is of that request. (A CONFLICT bears the id of what it refused.)
bool IsOf(const BatchDraft& batch, const v1::LedgerEntry& entry) {
  return entry.writer() == batch.writer() && entry.request_id() == batch.request_id() &&
         !entry.has_conflict();
}

// Whether the stored entry has the body of the batch's: they are fields of the same messages.
bool HasBody(const v1::LedgerEntry& stored, const BatchDraft& batch,
             const BatchDraft::Entry& entry) {
  const google::protobuf::FieldDescriptor* field =
      v1::LedgerEntry::descriptor()->FindFieldByNumber(StoredFieldOf(entry.body));
  const google::protobuf::Reflection& fields = *stored.GetReflection();
  if (field == nullptr || !fields.HasField(stored, field)) return false;
  const std::string body = SerializeDeterministically(fields.GetMessage(stored, field));
  const std::string_view asked = batch.BodyOf(entry);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(asked.data()),
                                            static_cast<int>(asked.size()));
  uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return false;
  return asked.substr(static_cast<size_t>(in.CurrentPosition())) == body;
}

struct Found {
  uint64_t first = 0;
  std::vector<v1::LedgerEntry> entries;
};

// The entries of the request, which follow each other, from the ledger's end on.
absl::StatusOr<std::optional<Found>> Find(LedgerReader& store, const LedgerHead& head,
                                          const BatchDraft& batch) {
  const uint64_t size = head.tree.size();
  const uint64_t least = size - std::min(size, kMostSearched);
  std::vector<v1::LedgerEntry> backwards;
  uint64_t first = 0;
  for (uint64_t end = size; end > least;) {
    const uint64_t begin = end - std::min(end - least, kPageEntries);
    ASSIGN_OR_RETURN(const std::vector<std::string> page, ReadAll(store, head.name, begin, end));
    for (uint64_t sequence = end; sequence-- > begin;) {
      v1::LedgerEntry entry;
      if (!entry.ParseFromString(page[sequence - begin])) {
        return absl::DataLossError(
            absl::StrCat(head.name, ": entry ", sequence, " does not parse"));
      }
      if (IsOf(batch, entry)) {
        first = sequence;
        backwards.push_back(std::move(entry));
      } else if (!backwards.empty()) {
        return Found{first, {backwards.rbegin(), backwards.rend()}};
      }
    }
    end = begin;
  }
  // What goes on before the last one searched may be a part of the request.
  if (backwards.empty() || least > 0) return std::nullopt;
  return Found{first, {backwards.rbegin(), backwards.rend()}};
}

class Tiles : public merkle::TileReader {
 public:
  Tiles(CheckpointReader& store, const std::string& log) : store_(store), log_(log) {}
  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int) override {
    return store_.ReadTile(log_, id);
  }

 private:
  CheckpointReader& store_;
  const std::string& log_;
};

// The root of the first `size` entries: from the tiles as far as they go, and checked by hashing on
// to the head's.
absl::StatusOr<merkle::Hash> RootAt(LedgerReader& store, const LedgerHead& head, uint64_t size) {
  uint64_t next = 0;
  const absl::StatusOr<v1::StoredCheckpoint> last = store.checkpoints().Latest(head.name);
  if (last.ok()) next = std::min(size, last->size());
  if (!last.ok() && !absl::IsNotFound(last.status())) return last.status();
  Tiles tiles(store.checkpoints(), head.name);
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, merkle::TileBuilder::Resume(next, tiles));
  merkle::Hash root = tree.Root();
  while (next < head.tree.size()) {
    const uint64_t end = std::min(head.tree.size(), next + kPageEntries);
    ASSIGN_OR_RETURN(const std::vector<std::string> page, ReadAll(store, head.name, next, end));
    for (const std::string& entry : page) {
      tree.Append(merkle::LeafHash(entry));
      if (tree.size() == size) root = tree.Root();
    }
    tree.TakeChanged();
    next = end;
  }
  if (tree.Root() == head.tree.Root()) return root;
  return absl::DataLossError(
      absl::StrCat(head.name, ": its entries and tiles do not lead to the root of its head"));
}

absl::Status Unborne(const LedgerHead& head, const std::string& request_id) {
  return WithReason(
      absl::DataLossError(absl::StrCat(head.name, ": its record of how request ", request_id,
                                       " was answered is not that of its entries")),
      {kForgedAnswer, {{"ledger", head.name}}});
}

}  // namespace

absl::Status CheckAnswered(LedgerReader& store, const LedgerHead& head,
                           const std::string& request_id, const v1::Receipt& receipt) {
  const uint64_t first = receipt.first_sequence();
  const uint64_t size = receipt.size();
  if (receipt.count() == 0 || size > head.tree.size() || first >= size ||
      receipt.count() != size - first ||
      (size == head.tree.size() && receipt.root_hash() != merkle::ToBytes(head.tree.Root()))) {
    return Unborne(head, request_id);
  }
  for (const uint64_t sequence : {first, size - 1}) {
    ASSIGN_OR_RETURN(const std::vector<std::string> read,
                     store.Read(head.name, sequence, 1, kPageBytes));
    v1::LedgerEntry entry;
    if (read.empty() || !entry.ParseFromString(read.front()) || entry.sequence() != sequence ||
        entry.request_id() != request_id || entry.has_conflict() || entry.has_fork_notice() ||
        entry.has_granted()) {
      return Unborne(head, request_id);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Receipt> ReceiptOfWritten(LedgerReader& store, const LedgerHead& head,
                                             const BatchDraft& batch, const absl::Status& refused) {
  ASSIGN_OR_RETURN(const std::optional<Found> found, Find(store, head, batch));
  if (!found.has_value()) return refused;
  bool is_same = found->entries.size() == batch.entries().size();
  for (size_t i = 0; is_same && i < batch.entries().size(); ++i) {
    is_same = HasBody(found->entries[i], batch, batch.entries()[i]);
  }
  if (!is_same) return RequestIdReused();
  v1::Receipt receipt;
  receipt.set_first_sequence(found->first);
  receipt.set_count(found->entries.size());
  receipt.set_size(found->first + found->entries.size());
  ASSIGN_OR_RETURN(const merkle::Hash root, RootAt(store, head, receipt.size()));
  receipt.set_root_hash(merkle::ToBytes(root));
  return receipt;
}

}  // namespace dpledger
