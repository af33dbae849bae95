#include "tests/simulation/cluster_store.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "tests/simulation/forger.h"

namespace dpledger::simulation {
namespace {

constexpr int kAttempts = 4;

absl::Status Lost(const char* what) {
  return WithReason(absl::UnavailableError(what), {"STORE_UNREACHABLE", {}});
}

// What a transaction has read: heads as the server remembers them, if the row is where they are.
class ReadTables : public StoredLedgers {
 public:
  ReadTables(const Tables& tables, LedgerReader& reader) : tables_(tables), reader_(reader) {}

  void Add(std::shared_ptr<const LedgerHead> head) { heads_[head->name] = std::move(head); }
  std::shared_ptr<const LedgerHead> Head(const std::string& ledger) override {
    const auto found = heads_.find(ledger);
    return found == heads_.end() ? nullptr : found->second;
  }
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                             const std::string& request_id) override {
    const auto of_ledger = tables_.requests.find(ledger);
    if (of_ledger == tables_.requests.end()) return absl::NotFoundError("");
    const auto row = of_ledger->second->find(request_id);
    if (row == of_ledger->second->end()) return absl::NotFoundError("");
    return row->second;
  }
  LedgerReader& reader() override { return reader_; }

 private:
  const Tables& tables_;
  LedgerReader& reader_;
  std::map<std::string, std::shared_ptr<const LedgerHead>> heads_;
};

}  // namespace

HeadKeys ClusterStore::Keys() const { return cluster_.flaws.no_keys ? HeadKeys() : ServerKeys(); }

absl::StatusOr<std::shared_ptr<const LedgerHead>> ClusterStore::Load(
    const Tables& tables, const std::string& name) const {
  const auto row = tables.heads.find(name);
  if (row == tables.heads.end()) return LedgerNotFound(name);
  const HeadRows& rows = row->second;
  const std::vector<std::string>& entries = *tables.entries.at(name);
  ASSIGN_OR_RETURN(LedgerHead head,
                   FromStored(name, entries.front(), rows.head, rows.writers, Keys()));
  if (!rows.IsAt(head) || entries.size() != rows.size)
    return absl::DataLossError(absl::StrCat(name, ": its rows do not fit"));
  return std::make_shared<const LedgerHead>(std::move(head));
}

absl::Status ClusterStore::Transact(const std::function<absl::StatusOr<bool>(Tables&)>& work) {
  bool unknown = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Tables next = cluster_.primary;
    ASSIGN_OR_RETURN(const bool holds, work(next));
    if (!holds) continue;
    if (cluster_.lost_before > 0) {
      --cluster_.lost_before;
      continue;
    }
    cluster_.primary = std::move(next);
    if (!cluster_.standby_away) cluster_.standby = cluster_.primary;
    if (cluster_.lost_after > 0) {
      --cluster_.lost_after;
      unknown = true;
      continue;
    }
    if (!cluster_.standby_away || cluster_.flaws.no_standby) return absl::OkStatus();
    unknown = true;
    break;
  }
  return unknown ? Lost("whether it was stored is not known") : Lost("the connection was lost");
}

absl::Status ClusterStore::CommitGroup(std::vector<Operation>& group,
                                       std::vector<absl::StatusOr<v1::Receipt>>& answers) {
  std::vector<std::shared_ptr<const LedgerHead>> grown;
  const absl::Status status = Transact([&](Tables& tables) -> absl::StatusOr<bool> {
    const Tables read = cluster_.primary;
    ReadTables stored(read, *this);
    for (const Operation& operation : group) {
      for (const std::string& name : operation.ledgers) {
        const auto row = read.heads.find(name);
        if (row == read.heads.end() || stored.Head(name) != nullptr) continue;
        std::shared_ptr<const LedgerHead> head = heads_.Find(name);
        if (head == nullptr || !row->second.IsAt(*head)) {
          ASSIGN_OR_RETURN(head, Load(read, name));
          heads_.Put(head);
        }
        stored.Add(std::move(head));
      }
    }
    StagedGroup staged(stored, clock_.Now(), Keys().current, gate_);
    answers.clear();
    for (const Operation& operation : group) answers.push_back(staged.Stage(operation));
    between_();
    tables = cluster_.primary;  // as others have left it meanwhile
    grown.clear();
    for (const auto& [name, ledger] : staged.ledgers()) {
      if (ledger.changes.empty()) continue;
      if (cluster_.flaws.no_transaction && !grown.empty()) cluster_.primary = tables;
      const auto row = cluster_.primary.heads.find(name);
      const bool is_new = row == cluster_.primary.heads.end();
      const bool same = is_new ? ledger.stored == nullptr
                               : ledger.stored != nullptr && row->second.IsAt(*ledger.stored);
      if (!same && !cluster_.flaws.no_compare) return false;
      HeadRows& rows = tables.heads[name];
      rows.size = ledger.head->tree.size();
      rows.root = ledger.head->tree.Root();
      rows.head = ToStored(*ledger.head);
      for (const auto& [change, request] : ledger.changes) {
        const std::string& writer = change->writer.writer();
        rows.writers[writer] = *ledger.head->writers.Find(writer);
      }
      grown.push_back(ledger.head);
      auto& entries = tables.entries[name].Own();
      for (const auto& [change, request] : ledger.changes) {
        entries.resize(change->receipt.first_sequence());
        const auto added = DecodeBatchRow(change->entries).value();
        entries.insert(entries.end(), added.begin(), added.end());
        if (request == nullptr || cluster_.flaws.no_request_rows) continue;
        v1::StoredRequest& answered = tables.requests[name].Own()[request->request_id];
        answered.set_request_hash(merkle::ToBytes(request->hash));
        *answered.mutable_receipt() = change->receipt;
      }
    }
    return true;
  });
  RETURN_IF_ERROR(status);
  for (const auto& head : grown) heads_.Put(head);
  return absl::OkStatus();
}

size_t ClusterStore::Step() {
  std::vector<Operation> group = std::exchange(waiting_, {});
  if (group.empty()) return 0;
  std::vector<absl::StatusOr<v1::Receipt>> answers;
  if (const absl::Status failed = CommitGroup(group, answers); !failed.ok())
    answers.assign(group.size(), failed);
  for (size_t i = 0; i < group.size(); ++i) {
    if (!answers[i].ok()) group[i].BreakLine();
  }
  for (size_t i = 0; i < group.size(); ++i) group[i].done(answers[i]);
  return group.size();
}

void ClusterStore::AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                               std::shared_ptr<AppendLine> line, AppendCallback done) {
  Operation operation(std::move(request), caller);
  operation.turn = line == nullptr ? 0 : line->NextTurn();
  operation.line = std::move(line);
  operation.done = std::move(done);
  waiting_.push_back(std::move(operation));
}

absl::StatusOr<v1::Receipt> ClusterStore::Submit(Operation operation) {
  absl::StatusOr<v1::Receipt> answer;
  operation.done = [&](absl::StatusOr<v1::Receipt> receipt) { answer = std::move(receipt); };
  waiting_.push_back(std::move(operation));
  Step();
  return answer;
}

absl::StatusOr<v1::Ledger> ClusterStore::SubmitAndGet(Operation operation,
                                                      const std::string& name) {
  RETURN_IF_ERROR(Submit(std::move(operation)).status());
  return Get(name, {});
}

absl::StatusOr<v1::Ledger> ClusterStore::Create(const v1::CreateLedgerRequest& request,
                                                const std::string& caller) {
  return SubmitAndGet(Operation(request, caller), request.name());
}
absl::StatusOr<v1::Ledger> ClusterStore::Seal(const v1::SealLedgerRequest& request,
                                              const std::string& caller) {
  return SubmitAndGet(Operation(request, caller), request.name());
}
absl::StatusOr<v1::Ledger> ClusterStore::Fork(const v1::ForkLedgerRequest& request,
                                              const LedgerPoint& point, const std::string& caller) {
  return SubmitAndGet(Operation(ForkAtPoint{request, point}, caller), request.name());
}
absl::StatusOr<v1::Receipt> ClusterStore::Grant(const GrantAtSize& grant,
                                                const std::string& caller) {
  return Submit(Operation(grant, caller));
}

absl::StatusOr<std::shared_ptr<const LedgerHead>> ClusterStore::Head(const std::string& name) {
  return Load(cluster_.primary, name);
}

absl::StatusOr<LedgerHeads> ClusterStore::Heads(const std::string& prefix, const std::string& after,
                                                size_t limit) {
  LedgerHeads heads;
  for (const auto& [name, rows] : cluster_.primary.heads) {
    if (name <= after || !absl::StartsWith(name, prefix) || heads.size() >= limit) continue;
    ASSIGN_OR_RETURN(heads.emplace_back(), Load(cluster_.primary, name));
  }
  return heads;
}

absl::StatusOr<std::vector<std::string>> ClusterStore::Read(const std::string& name, uint64_t first,
                                                            size_t max_entries, size_t max_bytes) {
  const auto row = cluster_.primary.entries.find(name);
  if (row == cluster_.primary.entries.end()) return LedgerNotFound(name);
  const std::vector<std::string>& all = *row->second;
  if (first > all.size()) return absl::OutOfRangeError(name);
  std::vector<std::string> entries;
  size_t bytes = 0;
  for (uint64_t i = first; i < all.size() && entries.size() < max_entries; ++i) {
    if (!entries.empty() && bytes >= max_bytes) break;
    bytes += entries.emplace_back(all[i]).size();
  }
  return entries;
}

absl::StatusOr<v1::StoredHistory> ClusterStore::GetHistory(const std::string& name) {
  return absl::NotFoundError(name);
}

absl::StatusOr<uint64_t> ClusterStore::CountDeclaring(const std::string&) { return 0; }

// As ledger_store/postgres/postgres_checkpoints.cc: a holder that was seen to raise no beat for
// `duration` has lost the lease.
absl::StatusOr<uint64_t> ClusterStore::AcquireLease(const std::string& holder,
                                                    absl::Duration duration) {
  between_();
  uint64_t epoch = 0;
  RETURN_IF_ERROR(Transact([&](Tables& tables) -> absl::StatusOr<bool> {
    const bool own = !tables.released && tables.holder == holder;
    if (!own && !tables.released) {
      if (other_.epoch != tables.epoch || other_.beat != tables.beat)
        other_ = {tables.epoch, tables.beat, clock_.Now()};
      if (clock_.Now() - other_.seen < duration) {
        return WithReason(absl::UnavailableError(absl::StrCat(tables.holder, " signs")),
                          {"SIGNER_ELSEWHERE", {}});
      }
    }
    tables.epoch += own ? 0 : 1;
    ++tables.beat;
    tables.holder = holder;
    tables.released = false;
    epoch = tables.epoch;
    return true;
  }));
  return epoch;
}

absl::StatusOr<UnsignedLedgers> ClusterStore::Unsigned(const std::string& after, size_t limit) {
  between_();
  UnsignedLedgers found;
  for (const bool behind : {true, false}) {
    for (const auto& [name, rows] : cluster_.primary.heads) {
      const auto last = cluster_.primary.checkpoints.find(name);
      const uint64_t size = last == cluster_.primary.checkpoints.end() ? 0 : last->second.size();
      if ((name > after) != behind || rows.size <= size || found.ledgers.size() >= limit) continue;
      ASSIGN_OR_RETURN(found.ledgers.emplace_back(), Get(name, kNoWriters));
      found.last = name;
    }
  }
  return found;
}

absl::Status ClusterStore::Publish(const Publication& publication) {
  between_();
  const auto replaced = [] {
    return WithReason(absl::AbortedError("another signer has taken over"), {"SIGNER_REPLACED", {}});
  };
  bool repeated = false;
  return Transact([&](Tables& tables) -> absl::StatusOr<bool> {
    const bool again = std::exchange(repeated, true);
    if (tables.epoch != publication.lease_epoch) return replaced();
    const auto& entries = publication.registry_entries;
    if (again && tables.registry.size() == publication.registry_size + entries.size() &&
        std::equal(entries.rbegin(), entries.rend(), tables.registry.rbegin())) {
      return true;  // the last try stored it
    }
    if (tables.registry.size() != publication.registry_size) return replaced();
    tables.registry.insert(tables.registry.end(), entries.begin(), entries.end());
    for (const SignedLog& log : publication.logs) {
      const auto head = tables.heads.find(log.log);
      const uint64_t longest = log.log == kRegistryLog      ? tables.registry.size()
                               : head == tables.heads.end() ? 0
                                                            : head->second.size;
      if (log.checkpoint.size() > longest ||
          log.checkpoint.size() < tables.checkpoints[log.log].size()) {
        return FieldError("checkpoint.size", "does not follow");
      }
      tables.checkpoints[log.log] = log.checkpoint;
      for (const auto& [tile, hashes] : log.tiles) tables.tiles[{log.log, tile}] = hashes;
    }
    return true;
  });
}

// What is shown was waited for: a checkpoint that the standby may not have is not.
absl::StatusOr<v1::StoredCheckpoint> ClusterStore::Latest(const std::string& log) {
  if (cluster_.standby_away && !cluster_.flaws.no_standby) return Lost("the standby is away");
  const auto row = cluster_.primary.checkpoints.find(log);
  if (row == cluster_.primary.checkpoints.end()) return absl::NotFoundError(log);
  return row->second;
}

absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> ClusterStore::LatestOfAll() {
  if (cluster_.standby_away && !cluster_.flaws.no_standby) return Lost("the standby is away");
  return cluster_.primary.checkpoints;
}

absl::StatusOr<std::string> ClusterStore::ReadTile(const std::string& log,
                                                   const merkle::TileId& tile) {
  const auto row = cluster_.primary.tiles.find({log, tile});
  if (row == cluster_.primary.tiles.end()) return absl::NotFoundError(log);
  return row->second;
}

absl::StatusOr<std::vector<std::string>> ClusterStore::ReadRegistry(uint64_t first,
                                                                    size_t max_entries) {
  const auto& all = cluster_.primary.registry;
  const size_t begin = std::min<size_t>(first, all.size());
  const size_t end = begin + std::min(max_entries, all.size() - begin);
  return std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(begin),
                                  all.begin() + static_cast<ptrdiff_t>(end));
}

}  // namespace dpledger::simulation
