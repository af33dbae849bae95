#include "ledger_store/embedded/surviving_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger_store/embedded/head_row.h"
#include "ledger_store/embedded/history_row.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/staging/operation.h"
#include "merkle/compact_tree.h"

namespace dpledger::embedded {
namespace {

constexpr uint64_t kRowsApart = 16;  // remembered places of batches

bool Parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Ends a scan that has found enough.
absl::Status Enough() { return absl::CancelledError(""); }
absl::Status UnlessEnough(const absl::Status& status) {
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

// Takes all records in the order of their keys.
class SurvivingStore::Loader {
 public:
  Loader(SurvivingStore& store, HeadKeys keys, FsckReport& report)
      : store_(store), keys_(std::move(keys)), report_(report) {}

  void Take(std::string_view key, std::string_view value) {
    if (key.empty()) return Wrong(key, "is empty");
    const std::string_view rest = key.substr(1);
    switch (static_cast<Table>(key.front())) {
      case Table::kVersion:
        if (!rest.empty()) Wrong(key, "is none of a store's");
        return;
      case Table::kName:
        return;  // TakeName
      case Table::kRegistry:
        return TakeRegistry(key, rest);
      default:
        break;
    }
    const std::optional<uint64_t> id = DecodeNumber(rest.substr(0, 8));
    if (!id.has_value()) return Wrong(key, "names no log");
    TakeOfLog(static_cast<Table>(key.front()), *id, key, rest.substr(8), value);
  }

  // Names before all else: messages speak of ledgers by them.
  void TakeName(std::string_view name, std::string_view value) {
    const std::optional<uint64_t> id = DecodeNumber(value);
    if (!id.has_value()) {
      report_.Add(std::string(name), "its name leads to no id");
      return;
    }
    Ledger& ledger = store_.ledgers_[*id];
    if (!ledger.name.empty()) {
      report_.Add(ledger.name, absl::StrCat("shares its id with ", ToAbsl(name)));
    }
    ledger.name = name;
    store_.ids_[ledger.name] = *id;
  }

  void Finish() {
    for (auto& [id, ledger] : store_.ledgers_) {
      ledger.id = id;
      if (ledger.name.empty()) {
        report_.Add(Place(id), "has lost its name");
        continue;
      }
      if (id >= store_.ids_.size()) {
        report_.Add(ledger.name, absl::StrCat("has id ", id, ", but there are only ",
                                              store_.ids_.size(), " names: one is missing"));
      }
      FinishHead(ledger);
    }
  }

 private:
  struct End {
    v1::StoredHead head;
    std::map<std::string, v1::WriterStatus> writers;
    std::optional<std::string> first;  // entry 0, if it parses
  };

  std::string Place(uint64_t id) const {
    const auto ledger = store_.ledgers_.find(id);
    if (ledger == store_.ledgers_.end() || ledger->second.name.empty()) {
      return absl::StrCat("ledger id ", id);
    }
    return ledger->second.name;
  }

  void Wrong(std::string_view key, std::string_view what) {
    report_.Add(absl::StrCat("the record under the key ", HexEncode(key)), std::string(what));
  }

  void TakeRegistry(std::string_view key, std::string_view rest) {
    const std::optional<uint64_t> index = DecodeNumber(rest);
    if (!index.has_value()) return Wrong(key, "is no entry's of the registry");
    if (*index != registry_next_) {
      report_.Add("the registry",
                  absl::StrCat("entries ", registry_next_, " to ", *index - 1, " are missing"));
    }
    registry_next_ = *index + 1;
  }

  void TakeOfLog(Table table, uint64_t id, std::string_view key, std::string_view rest,
                 std::string_view value) {
    if (id == kRegistryId) {
      if (table == Table::kTile) return CheckTile(key, rest, value);
      v1::StoredCheckpoint checkpoint;
      if (table == Table::kCheckpoint && rest.empty() && Parse(value, checkpoint)) return;
      return Wrong(key, "is none of the registry's");
    }
    switch (table) {
      case Table::kBatch:
        return TakeBatch(store_.ledgers_[id], id, rest, value);
      case Table::kHead:
        return TakeHead(id, key, rest, value);
      case Table::kRequest: {
        ++store_.ledgers_[id].requests;
        v1::StoredRequest request;
        if (!Parse(value, request)) Wrong(key, "does not parse");
        return;
      }
      case Table::kCheckpoint: {
        store_.ledgers_[id];
        v1::StoredCheckpoint checkpoint;
        if (!rest.empty() || !Parse(value, checkpoint)) Wrong(key, "is no checkpoint");
        return;
      }
      case Table::kHistory:
        store_.ledgers_[id];
        if (!rest.empty() || !ParseHistoryRow(value).ok()) Wrong(key, "is no run-length table");
        return;
      case Table::kSummary:  // made anew
        store_.ledgers_[id];
        if (!rest.empty()) Wrong(key, "is no summary");
        return;
      case Table::kTile:
        store_.ledgers_[id];
        return CheckTile(key, rest, value);
      default:
        Wrong(key, "is none of a store's");
    }
  }

  void CheckTile(std::string_view key, std::string_view rest, std::string_view value) {
    if (rest.size() != 9 || value.empty() || value.size() % merkle::kHashBytes != 0 ||
        value.size() > size_t{merkle::kTileWidth} * merkle::kHashBytes) {
      Wrong(key, "is no tile");
    }
  }

  void TakeBatch(Ledger& ledger, uint64_t id, std::string_view rest, std::string_view value) {
    const std::optional<uint64_t> first = DecodeNumber(rest);
    const auto entries = DecodeBatchRow(value);
    if (!first.has_value() || !entries.has_value()) {
      report_.Add(absl::StrCat(Place(id), ": batch ", HexEncode(rest)), "does not parse");
      return;
    }
    if (*first > ledger.end) {
      report_.Add(Place(id),
                  absl::StrCat("entries ", ledger.end, " to ", *first - 1, " are missing"));
    } else if (*first < ledger.end) {
      report_.Add(Place(id),
                  absl::StrCat("entries ", *first, " to ", ledger.end - 1, " are there twice"));
    }
    if (rows_seen_++ % kRowsApart == 0 || ledger.rows.empty()) ledger.rows.push_back(*first);
    ledger.end = std::max<uint64_t>(ledger.end, *first + entries->size());
    if (*first == 0) {
      v1::LedgerEntry entry;
      if (Parse(entries->front(), entry)) ends_[id].first = std::string(entries->front());
    }
  }

  void TakeHead(uint64_t id, std::string_view key, std::string_view writer,
                std::string_view value) {
    store_.ledgers_[id];
    HeadRow row;
    if (!row.ParseFrom(value) || row.writer.writer() != writer || row.head.size() == 0) {
      return Wrong(key, "is no head");
    }
    End& end = ends_[id];
    if (row.head.size() > end.head.size()) end.head = std::move(row.head);
    end.writers.emplace(writer, std::move(row.writer));
  }

  void FinishHead(Ledger& ledger) {
    End& end = ends_[ledger.id];
    if (end.writers.empty()) {
      report_.Add(ledger.name, "its head is missing");
      return;
    }
    if (!end.first.has_value()) {
      report_.Add(ledger.name, "its entry 0 is missing or does not parse");
      return;
    }
    if (end.head.size() != ledger.end) {
      report_.Add(ledger.name, absl::StrCat("its head says ", end.head.size(),
                                            " entries, those that are there end at ", ledger.end));
    }
    // As it is, so that its entries are compared with it too.
    absl::StatusOr<LedgerHead> head = FromStored(ledger.name, *end.first, end.head, end.writers);
    if (head.ok()) ledger.head = *std::move(head);
    if (head.ok() && keys_.current != nullptr) {
      head = FromStored(ledger.name, *end.first, end.head, std::move(end.writers), keys_);
    }
    report_.Add(absl::StrCat(ledger.name, ": head"), head.status());
  }

  SurvivingStore& store_;
  const HeadKeys keys_;
  FsckReport& report_;
  std::map<uint64_t, End> ends_;
  uint64_t registry_next_ = 0;
  uint64_t rows_seen_ = 0;
};

absl::StatusOr<std::unique_ptr<SurvivingStore>> SurvivingStore::Open(SurvivingRecords& records,
                                                                     HeadKeys keys,
                                                                     FsckReport& report) {
  const std::optional<std::string> version = records.Get(VersionKey());
  if (!version.has_value()) {
    report.Add("the store", "its format version is missing");
  } else if (*version != kFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the store has format ", HexEncode(*version),
                                                      " (hexadecimal), this program reads ",
                                                      HexEncode(kFormatVersion)));
  }
  std::unique_ptr<SurvivingStore> store(new SurvivingStore(records));
  Loader loader(*store, std::move(keys), report);
  const std::string names = TablePrefix(Table::kName);
  RETURN_IF_ERROR(records.ScanPrefix(names, [&](std::string_view key, std::string_view value) {
    loader.TakeName(key.substr(names.size()), value);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(records.Scan("", "", [&](std::string_view key, std::string_view value) {
    loader.Take(key, value);
    return absl::OkStatus();
  }));
  loader.Finish();
  return store;
}

absl::Status SurvivingStore::ScanBatches(const Ledger& ledger, uint64_t first,
                                         const VisitBatch& visit) {
  const auto after = std::upper_bound(ledger.rows.begin(), ledger.rows.end(), first);
  const uint64_t begin = after == ledger.rows.begin() ? 0 : *(after - 1);
  const std::string prefix = LedgerPrefix(Table::kBatch, ledger.id);
  const auto take = [&](std::string_view key, std::string_view value) -> absl::Status {
    const std::optional<uint64_t> sequence = DecodeNumber(key.substr(prefix.size()));
    const auto entries = DecodeBatchRow(value);
    if (!sequence.has_value() || !entries.has_value() || *sequence + entries->size() <= first) {
      return absl::OkStatus();
    }
    return visit(*sequence, *entries);
  };
  return UnlessEnough(records_.Scan(BatchKey(ledger.id, begin), PrefixEnd(prefix), take));
}

absl::StatusOr<uint64_t> SurvivingStore::CountAnswered(const std::string& ledger) {
  const Ledger* stored = FindByName(ledger);
  if (stored == nullptr) return absl::NotFoundError(absl::StrCat(ledger, ": no such ledger"));
  return stored->requests;
}

absl::StatusOr<v1::StoredRequest> SurvivingStore::Answered(const std::string& ledger,
                                                           const std::string& request_id) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(ledger));
  const std::optional<std::string> value = records_.Get(RequestKey(id, request_id));
  if (!value.has_value()) return absl::NotFoundError("there is no record of it");
  v1::StoredRequest request;
  if (!Parse(*value, request)) return absl::DataLossError("its record does not parse");
  return request;
}

const SurvivingStore::Ledger* SurvivingStore::FindByName(const std::string& name) const {
  const auto id = ids_.find(name);
  return id == ids_.end() ? nullptr : &ledgers_.at(id->second);
}

absl::StatusOr<v1::Ledger> SurvivingStore::Get(const std::string& name,
                                               const WriterRange& writers) {
  const Ledger* ledger = FindByName(name);
  if (ledger == nullptr) return LedgerNotFound(name);
  if (!ledger->head.has_value()) {
    return absl::DataLossError(absl::StrCat(name, ": its head is lost"));
  }
  return Describe(*ledger->head, writers);
}

absl::StatusOr<std::vector<v1::Ledger>> SurvivingStore::List(const std::string& parent,
                                                             const std::string& after, size_t limit,
                                                             const WriterRange& writers) {
  const std::string prefix =
      parent == "projects/-" ? "projects/" : absl::StrCat(parent, "/ledgers/");
  std::vector<v1::Ledger> ledgers;
  for (auto it = ids_.upper_bound(after); it != ids_.end() && ledgers.size() < limit; ++it) {
    const Ledger& ledger = ledgers_.at(it->second);
    if (!absl::StartsWith(it->first, prefix) || !ledger.head.has_value()) continue;
    ledgers.push_back(Describe(*ledger.head, writers));
  }
  return ledgers;
}

absl::StatusOr<std::vector<std::string>> SurvivingStore::Read(const std::string& name,
                                                              uint64_t first, size_t max_entries,
                                                              size_t max_bytes) {
  const Ledger* ledger = FindByName(name);
  if (ledger == nullptr) return LedgerNotFound(name);
  const uint64_t size = ledger->head.has_value() ? ledger->head->tree.size() : ledger->end;
  std::vector<std::string> entries;
  size_t bytes = 0;
  uint64_t next = first;
  const auto take = [&](uint64_t sequence, const std::vector<std::string_view>& batch) {
    if (sequence > next) return Enough();
    for (uint64_t i = next - sequence; i < batch.size(); ++i, ++next) {
      if (next >= size || entries.size() >= max_entries || (bytes >= max_bytes && bytes > 0)) {
        return Enough();
      }
      bytes += batch[i].size();
      entries.emplace_back(batch[i]);
    }
    return absl::OkStatus();
  };
  if (first < size && max_entries > 0) RETURN_IF_ERROR(ScanBatches(*ledger, first, take));
  if (entries.empty() && first < size && max_entries > 0) {
    return absl::DataLossError(absl::StrCat(name, ": entry ", first, " is missing"));
  }
  return entries;
}

absl::StatusOr<v1::StoredHistory> SurvivingStore::GetHistory(const std::string& name) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(name));
  const std::optional<std::string> value = records_.Get(HistoryKey(id));
  if (!value.has_value()) {
    return absl::NotFoundError(absl::StrCat(name, ": has no run-length table yet"));
  }
  return ParseHistoryRow(*value);
}

absl::StatusOr<v1::StoredCheckpoint> SurvivingStore::Latest(const std::string& log) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  const std::optional<std::string> value = records_.Get(CheckpointKey(id));
  if (!value.has_value()) return absl::NotFoundError("has no checkpoint");
  v1::StoredCheckpoint checkpoint;
  if (!Parse(*value, checkpoint)) return absl::DataLossError("its checkpoint does not parse");
  return checkpoint;
}

absl::StatusOr<std::string> SurvivingStore::ReadTile(const std::string& log,
                                                     const merkle::TileId& tile) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  std::optional<std::string> hashes = records_.Get(TileKey(id, tile));
  if (!hashes.has_value()) return absl::NotFoundError("is missing");
  return *std::move(hashes);
}

absl::StatusOr<std::vector<std::string>> SurvivingStore::ReadRegistry(uint64_t first,
                                                                      size_t max_entries) {
  std::vector<std::string> entries;
  bool more = false;
  const auto take = [&](std::string_view key, std::string_view value) {
    more = true;
    if (entries.size() == max_entries || key != RegistryKey(first + entries.size())) {
      return Enough();
    }
    entries.emplace_back(value);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(UnlessEnough(
      records_.Scan(RegistryKey(first), PrefixEnd(TablePrefix(Table::kRegistry)), take)));
  if (entries.empty() && more && max_entries > 0) {
    return absl::DataLossError(absl::StrCat("the registry: entry ", first, " is missing"));
  }
  return entries;
}

absl::StatusOr<uint64_t> SurvivingStore::IdOf(const std::string& log) const {
  if (log == kRegistryLog) return kRegistryId;
  const auto id = ids_.find(log);
  if (id == ids_.end()) return LedgerNotFound(log);
  return id->second;
}

}  // namespace dpledger::embedded
