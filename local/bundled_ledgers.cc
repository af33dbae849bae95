#include "local/bundled_ledgers.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/names.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/verifier.h"
#include "merkle/tile_tree.h"

namespace dpledger::local {
namespace {

absl::Status In(const std::string& path, const absl::Status& status) {
  return WithReason(absl::Status(status.code(), absl::StrCat(path, ": ", status.message())),
                    ReasonOf(status));
}

absl::Time TimeOf(const v1::LedgerEntry& entry) {
  return absl::FromUnixSeconds(entry.recorded_time().seconds());
}

// Adds the entries of a bundle that was verified, in order. Whether they are still the same shows
// in the root.
absl::Status ReadEntries(bundle::FileSource& file, std::vector<std::string>& entries,
                         merkle::TileBuilder& tree) {
  RETURN_IF_ERROR(file.Rewind());
  bundle::UstarReader reader(&file);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<bundle::UstarMember> member, reader.Next());
    if (!member.has_value()) return absl::OkStatus();
    const absl::StatusOr<merkle::ParsedTilePath> path = merkle::ParseTilePath(member->name);
    if (!path.ok() || !path->entries) continue;
    ASSIGN_OR_RETURN(const std::string content, reader.Content());
    ASSIGN_OR_RETURN(const std::vector<std::string_view> views,
                     merkle::DecodeEntryBundle(content, path->tile.width));
    for (const std::string_view entry : views) {
      tree.Append(merkle::LeafHash(entry));
      entries.emplace_back(entry);
    }
  }
}

}  // namespace

absl::StatusOr<BundledLedgers::Ledger> BundledLedgers::ReadBundle(const std::string& path) {
  ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(path));
  bundle::Verifier verifier({});
  RETURN_IF_ERROR(bundle::VerifyBundle(file, verifier));
  Ledger ledger;
  ledger.path = path;
  ledger.checkpoint = {verifier.evidence().checkpoint(),
                       verifier.evidence().checkpoint_note().ToText(), 0};
  merkle::TileBuilder tree;
  RETURN_IF_ERROR(ReadEntries(file, ledger.entries, tree));
  if (tree.Root() != ledger.checkpoint.checkpoint.root) {
    return absl::DataLossError("changed while it was read");
  }
  ledger.tiles = tree.TakeChanged();

  LedgerHead head;
  ASSIGN_OR_RETURN(head.name,
                   events::FullLedgerName(NameFromOrigin(ledger.checkpoint.checkpoint.origin)));
  v1::LedgerEntry first, last;
  if (!first.ParseFromString(ledger.entries.front()) ||
      !last.ParseFromString(ledger.entries.back())) {
    return absl::DataLossError("changed while it was read");
  }
  v1::LedgerEntry body = verifier.rules().first();
  body.set_caller(first.caller());
  head.first = std::make_shared<const v1::LedgerEntry>(std::move(body));
  head.create_time = TimeOf(first);
  head.last_recorded_time = TimeOf(last);
  head.state = verifier.rules().sealed() ? v1::SEALED : v1::OPEN;
  for (const std::string& entry : ledger.entries) head.tree.Append(merkle::LeafHash(entry));
  for (const auto& [name, writer] : verifier.rules().writer_statuses()) head.writers.Put(writer);
  head.first_leaf = merkle::LeafHash(ledger.entries.front());
  ledger.head = std::make_shared<const LedgerHead>(std::move(head));
  return ledger;
}

absl::StatusOr<std::unique_ptr<BundledLedgers>> BundledLedgers::Open(
    const std::vector<std::string>& paths) {
  auto ledgers = std::make_unique<BundledLedgers>();
  for (const std::string& path : paths) {
    absl::StatusOr<Ledger> ledger = ReadBundle(path);
    if (!ledger.ok()) return In(path, ledger.status());
    const std::string name = ledger->head->name;
    const auto [place, is_new] = ledgers->ledgers_.try_emplace(name, *std::move(ledger));
    if (is_new) continue;
    return FieldError("path", absl::StrCat("must hold ledgers of different names: ",
                                           place->second.path, " and ", path, " both hold ", name));
  }
  return ledgers;
}

absl::StatusOr<const BundledLedgers::Ledger*> BundledLedgers::Find(const std::string& name) const {
  const auto found = ledgers_.find(name);
  if (found != ledgers_.end()) return &found->second;
  return absl::NotFoundError(
      absl::StrCat(name, ": is in none of these bundles; give its bundle too"));
}

absl::StatusOr<std::shared_ptr<const LedgerHead>> BundledLedgers::Head(const std::string& name) {
  ASSIGN_OR_RETURN(const Ledger* const ledger, Find(name));
  return ledger->head;
}

absl::StatusOr<LedgerHeads> BundledLedgers::Heads(const std::string& prefix,
                                                  const std::string& after, size_t limit) {
  LedgerHeads heads;
  for (auto next = ledgers_.upper_bound(after); next != ledgers_.end() && heads.size() < limit;
       ++next) {
    if (absl::StartsWith(next->first, prefix)) heads.push_back(next->second.head);
  }
  return heads;
}

absl::StatusOr<std::vector<std::string>> BundledLedgers::Read(const std::string& name,
                                                              uint64_t first, size_t max_entries,
                                                              size_t max_bytes) {
  RETURN_IF_ERROR(events::CheckLedgerName("ledger", name));
  ASSIGN_OR_RETURN(const Ledger* const ledger, Find(name));
  if (first > ledger->entries.size()) {
    return absl::OutOfRangeError(absl::StrCat(name, ": has ", ledger->entries.size(),
                                              " entries, entry ", first, " is beyond them"));
  }
  std::vector<std::string> read;
  size_t bytes = 0;
  for (uint64_t i = first; i < ledger->entries.size() && read.size() < max_entries; ++i) {
    if (!read.empty() && bytes >= max_bytes) break;
    bytes += ledger->entries[i].size();
    read.push_back(ledger->entries[i]);
  }
  return read;
}

absl::StatusOr<v1::StoredHistory> BundledLedgers::GetHistory(const std::string& name) {
  return absl::NotFoundError(absl::StrCat(name, ": has no run-length table in a bundle"));
}

absl::StatusOr<v1::StoredCheckpoint> BundledLedgers::Latest(const std::string& log) {
  ASSIGN_OR_RETURN(const Ledger* const ledger, Find(log));
  v1::StoredCheckpoint stored;
  stored.set_note(ledger->checkpoint.note);
  stored.set_size(ledger->checkpoint.checkpoint.size);
  return stored;
}

absl::StatusOr<std::string> BundledLedgers::ReadTile(const std::string& log,
                                                     const merkle::TileId& tile) {
  ASSIGN_OR_RETURN(const Ledger* const ledger, Find(log));
  const auto found = ledger->tiles.find(tile);
  if (found != ledger->tiles.end()) return found->second;
  return absl::NotFoundError(absl::StrCat(log, ": has no such tile"));
}

absl::StatusOr<std::vector<std::string>> BundledLedgers::ReadRegistry(uint64_t, size_t) {
  return absl::FailedPreconditionError("a bundle does not hold the registry");
}

absl::StatusOr<SignedCheckpoint> BundledLedgers::AwaitSigned(const std::string& log, uint64_t size,
                                                             const server::CallContext&) {
  ASSIGN_OR_RETURN(const Ledger* const ledger, Find(log));
  if (size <= ledger->checkpoint.checkpoint.size) return ledger->checkpoint;
  return absl::OutOfRangeError(
      absl::StrCat(log, ": has ", ledger->checkpoint.checkpoint.size, " entries, got ", size));
}

}  // namespace dpledger::local
