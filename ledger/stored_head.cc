#include "ledger/stored_head.h"

#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/shared_first.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

absl::Status Damaged(const std::string& ledger, const std::string& what) {
  return absl::DataLossError(absl::StrCat(ledger, ": ", what));
}

// What the authenticator covers. `use` gets the fields; `stored` has no authenticator.
template <typename Use>
auto OverFields(const v1::StoredHead& stored, const LedgerHead& head, const Use& use) {
  const std::string bytes = stored.SerializeAsString();
  return use(std::initializer_list<std::string_view>{"head", head.name,
                                                     merkle::View(head.first_leaf), bytes,
                                                     merkle::View(head.writers.code().bytes())});
}

bool Holds(const v1::StoredHead& stored, const LedgerHead& head) {
  v1::StoredHead bare = stored;
  bare.clear_authenticator();
  return OverFields(bare, head, [&](std::initializer_list<std::string_view> fields) {
    return head.writers.key()->Holds(stored.authenticator(), fields);
  });
}

// `writers` under the key that made the authenticator of `stored`.
absl::Status TakeWriters(const v1::StoredHead& stored,
                         const std::map<std::string, v1::WriterStatus>& writers,
                         const HeadKeys& keys, LedgerHead& head) {
  if (keys.current == nullptr) {
    head.writers = WriterMap(writers);
    head.needs_key = !stored.authenticator().empty();
    return absl::OkStatus();
  }
  if (stored.authenticator().empty()) {
    return Damaged(head.name,
                   "its head has no authenticator: it was changed, or a program without the "
                   "signing key wrote it");
  }
  bool is_previous = false;
  if (keys.previous != nullptr) {
    head.writers = WriterMap(writers, keys.previous);
    is_previous = Holds(stored, head);
  }
  head.writers = WriterMap(writers, keys.current);
  if (is_previous || Holds(stored, head)) return absl::OkStatus();
  return Damaged(head.name,
                 "its head, a writer of it or its entry 0 is not as a server with this signing key "
                 "left it: something was changed or put back, or the key is another one (after a "
                 "change of key, start once more with --previous-signing-key)");
}

// The body of entry 0 and its time.
absl::Status TakeFirst(std::string_view bytes, LedgerHead& head) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Damaged(head.name, "its entry 0 does not parse");
  }
  v1::LedgerEntry first;
  if (entry.has_declaration()) {
    *first.mutable_declaration() = std::move(*entry.mutable_declaration());
  } else if (entry.has_fork()) {
    *first.mutable_fork() = std::move(*entry.mutable_fork());
  } else if (entry.has_import()) {
    *first.mutable_import() = std::move(*entry.mutable_import());
  } else {
    return Damaged(head.name, "entry 0 is no declaration, fork or import");
  }
  if (!entry.caller().empty()) first.set_caller(entry.caller());  // an empty one takes memory
  head.first = SharedFirst(std::move(first));
  head.first_leaf = merkle::LeafHash(bytes);
  head.create_time = absl::FromUnixSeconds(entry.recorded_time().seconds());
  return absl::OkStatus();
}

absl::Status TakeTree(const v1::StoredHead& stored, LedgerHead& head) {
  absl::StatusOr<merkle::CompactTree> tree =
      merkle::CompactTree::FromFrontier(stored.size(), stored.frontier());
  if (!tree.ok()) return Damaged(head.name, std::string(tree.status().message()));
  head.tree = *std::move(tree);
  return absl::OkStatus();
}

}  // namespace

v1::StoredHead ToStored(const LedgerHead& head) {
  v1::StoredHead stored;
  stored.set_size(head.tree.size());
  stored.set_frontier(head.tree.FrontierBytes());
  stored.set_state(head.state);
  stored.mutable_last_recorded_time()->set_seconds(absl::ToUnixSeconds(head.last_recorded_time));
  if (head.writers.key() != nullptr) {
    stored.set_authenticator(
        OverFields(stored, head, [&](std::initializer_list<std::string_view> fields) {
          return head.writers.key()->Of(fields);
        }));
  }
  return stored;
}

absl::StatusOr<LedgerHead> FromStored(const std::string& name, std::string_view first_entry,
                                      const v1::StoredHead& stored,
                                      const std::map<std::string, v1::WriterStatus>& writers,
                                      const HeadKeys& keys) {
  LedgerHead head;
  head.name = name;
  RETURN_IF_ERROR(TakeFirst(first_entry, head));
  RETURN_IF_ERROR(TakeTree(stored, head));
  uint64_t counted = 0;
  for (const auto& [writer, status] : writers) counted += status.entry_count();
  if (counted != stored.size()) {
    return Damaged(
        name, absl::StrCat("its head counts ", stored.size(), " entries, its writers ", counted));
  }
  head.last_recorded_time = absl::FromUnixSeconds(stored.last_recorded_time().seconds());
  head.state = stored.state();
  RETURN_IF_ERROR(TakeWriters(stored, writers, keys, head));
  return head;
}

bool IsCurrent(const v1::StoredHead& stored, const LedgerHead& head) {
  return head.writers.key() == nullptr || Holds(stored, head);
}

}  // namespace dpledger
