#include "tests/simulation/model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/request_runs.h"
#include "merkle/checkpoint.h"

namespace dpledger::simulation {
namespace {

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InternalError(absl::StrCat(parts...));
}

constexpr size_t kPage = 7;  // small, so that pages begin inside batches

}  // namespace

std::string CallerOf(const std::string& writer) {
  return writer.empty() ? "token:creator" : absl::StrCat("token:of-", writer);
}

absl::Status Model::SayRoot(const std::string& ledger, uint64_t size, const std::string& root) {
  const auto [said, is_new] = roots_[ledger].emplace(size, root);
  if (!is_new && said->second != root) return Wrong(ledger, ": has two roots at size ", size);
  return absl::OkStatus();
}

absl::Status Model::Acknowledged(const std::string& ledger, const std::string& request_id,
                                 const v1::Receipt& receipt) {
  if (receipt.first_sequence() + receipt.count() != receipt.size() ||
      receipt.count() != asked_[ledger][request_id]) {
    return Wrong(ledger, ": the receipt of ", request_id,
                 " does not fit its request: ", receipt.ShortDebugString());
  }
  const auto [known, is_new] = acknowledged_[ledger].emplace(request_id, receipt);
  if (!is_new && known->second.SerializeAsString() != receipt.SerializeAsString()) {
    return Wrong(ledger, ": ", request_id, " has two receipts: entry ",
                 known->second.first_sequence(), " and entry ", receipt.first_sequence());
  }
  if (is_new && !receipts_[ledger].emplace(receipt.first_sequence(), receipt).second)
    return Wrong(ledger, ": entry ", receipt.first_sequence(), " was acknowledged to two requests");
  created_.insert(ledger);
  return SayRoot(ledger, receipt.size(), receipt.root_hash());
}

absl::Status Model::Refused(const std::string& ledger, const std::string& request_id) {
  if (WasAcknowledged(ledger, request_id))
    return Wrong(ledger, ": ", request_id, " was acknowledged, and is refused now");
  refused_[ledger].insert(request_id);
  return absl::OkStatus();
}

bool Model::WasAcknowledged(const std::string& ledger, const std::string& request_id) const {
  const auto found = acknowledged_.find(ledger);
  return found != acknowledged_.end() && found->second.contains(request_id);
}

absl::Status Model::CheckLedgers(LedgerReader& store, bool damaged) {
  for (const std::string& name : created_) RETURN_IF_ERROR(CheckLedger(name, store, damaged));
  return absl::OkStatus();
}

absl::Status Model::CheckLedger(const std::string& name, LedgerReader& store, bool damaged) {
  const absl::StatusOr<v1::Ledger> ledger = store.Get(name);
  if (!ledger.ok()) return Wrong(name, ": cannot be read: ", ledger.status().ToString());
  std::vector<std::string> entries;
  while (entries.size() < ledger->size()) {
    const auto page = store.Read(name, entries.size(), kPage, 1 << 20);
    if (damaged && absl::IsDataLoss(page.status())) return absl::OkStatus();
    if (!page.ok()) return Wrong(name, ": cannot be read: ", page.status().ToString());
    if (page->empty()) return Wrong(name, ": ends before its size ", ledger->size());
    entries.insert(entries.end(), page->begin(), page->end());
  }
  merkle::CompactTree tree;
  for (const std::string& bytes : entries) tree.Append(merkle::LeafHash(bytes));
  // Whoever answers from entries or signs them notices that.
  if (damaged && merkle::ToBytes(tree.Root()) != ledger->root_hash()) return absl::OkStatus();
  tree = merkle::CompactTree();
  std::map<std::string, std::pair<uint64_t, uint64_t>> places;  // first and count, by request
  std::string last_request;
  events::RequestRuns runs;
  for (const std::string& bytes : entries) {
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(bytes) || entry.sequence() != tree.size())
      return Wrong(name, ": entry ", tree.size(), " is not there");
    const std::string& request = entry.request_id();
    const bool begins = runs.Begins(entry.writer(), request, entry.body_case());
    if (entry.caller() != (begins ? CallerOf(entry.writer()) : ""))
      return Wrong(name, ": entry ", tree.size(), " names the caller \"", entry.caller(), "\"");
    // These two name a request that made no such entry of its own.
    if (!entry.has_conflict() && !entry.has_fork_notice()) {
      auto& [first, count] = places[request];
      if (count == 0) first = tree.size();
      if (count > 0 && request != last_request)
        return Wrong(name, ": ", request, " is there twice: at ", first, " and ", tree.size());
      ++count;
    }
    last_request = request;
    tree.Append(merkle::LeafHash(bytes));
    const auto known = roots_[name].find(tree.size());
    if (known != roots_[name].end() && known->second != merkle::ToBytes(tree.Root()))
      return Wrong(name, ": has another root at size ", tree.size(), " than was acknowledged");
  }
  if (ledger->root_hash() != merkle::ToBytes(tree.Root()))
    return Wrong(name, ": its root is not that of its entries");
  RETURN_IF_ERROR(SayRoot(name, tree.size(), ledger->root_hash()));
  for (const v1::WriterStatus& writer : ledger->writers()) {
    if (writer.owner() != CallerOf(writer.writer()))
      return Wrong(name, ": writer ", writer.writer(), " is of \"", writer.owner(), "\"");
  }
  for (const auto& [request, place] : places) {
    const auto asked = asked_[name].find(request);
    if (asked == asked_[name].end()) return Wrong(name, ": nobody asked for ", request);
    if (place.second != asked->second)
      return Wrong(name, ": ", request, " has ", place.second, " entries of ", asked->second);
    if (refused_[name].contains(request))
      return Wrong(name, ": ", request, " was refused, and is there");
  }
  for (const auto& [request, receipt] : acknowledged_[name]) {
    const auto place = places.find(request);
    if (place == places.end()) return Wrong(name, ": ", request, " was acknowledged, and is lost");
    if (place->second.first != receipt.first_sequence())
      return Wrong(name, ": ", request, " is at another place than was acknowledged");
  }
  return absl::OkStatus();
}

absl::Status Model::Witness(CheckpointReader& checkpoints) {
  const absl::StatusOr<v1::StoredCheckpoint> latest = checkpoints.Latest(kRegistryLog);
  if (absl::IsNotFound(latest.status())) {
    return witnessed() == 0 ? absl::OkStatus() : Wrong("the registry is gone");
  }
  if (absl::IsUnavailable(latest.status()) || absl::IsDataLoss(latest.status()))
    return absl::OkStatus();                             // nothing is shown
  if (latest->note() == note_) return absl::OkStatus();  // seen, and checked
  const absl::StatusOr<merkle::Note> note = merkle::Note::Parse(latest->note());
  if (!note.ok()) return Wrong("the registry's checkpoint is no note");
  const auto checkpoint = merkle::OpenCheckpoint(*note, key_.name, {{key_}});
  if (!checkpoint.ok()) return Wrong("the registry's checkpoint: ", checkpoint.status().ToString());
  if (checkpoint->size < witnessed())
    return Wrong("the registry went back from ", witnessed(), " to ", checkpoint->size, " entries");
  const auto entries = checkpoints.ReadRegistry(0, checkpoint->size);
  if (absl::IsUnavailable(entries.status()) || absl::IsDataLoss(entries.status()))
    return absl::OkStatus();
  if (!entries.ok() || entries->size() != checkpoint->size)
    return Wrong("the registry has not the entries that were signed");
  if (!std::equal(entries_.begin(), entries_.end(), entries->begin()))
    return Wrong("the registry shows another history than before");
  for (uint64_t i = witnessed(); i < checkpoint->size; ++i) {
    const std::string& bytes = (*entries)[i];
    if (const absl::Status taken = witnessed_.Take(bytes); !taken.ok())
      return Wrong("the registry: ", taken.message());
    tree_.Append(merkle::LeafHash(bytes));
    entries_.push_back(bytes);
    if (const std::string& origin = witnessed_.last_registered(); !origin.empty()) {
      const registry::Point& point = witnessed_.HeadOf(origin).last;
      registered_[origin.substr(key_.name.size() + 1)][point.size] = merkle::ToBytes(point.root);
    }
  }
  if (checkpoint->root != tree_.Root())
    return Wrong("the registry was signed with another root at size ", checkpoint->size);
  if (witnessed() > 0 && !witnessed_.ends_with_map())
    return Wrong("the registry does not end with the map's root");
  note_ = latest->note();
  return absl::OkStatus();
}

absl::Status Model::CheckRegistered() const {
  for (const auto& [ledger, points] : registered_) {
    const auto known = roots_.find(ledger);
    if (known == roots_.end()) return Wrong("the registry has ", ledger, ", which nobody made");
    for (const auto& [size, root] : points) {
      const auto said = known->second.find(size);
      if (said != known->second.end() && said->second != root)
        return Wrong("the registry has another root of ", ledger, " at size ", size);
    }
  }
  return absl::OkStatus();
}

}  // namespace dpledger::simulation
