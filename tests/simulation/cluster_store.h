// Several servers on one database that commits transactions: what ledger_store/postgres promises,
// without SQL. The tables are maps; what is real is the staging of requests, and the heads that
// each server keeps in memory.
//
//  1. A transaction reads, works, and commits with a compare-and-set of the heads that it read. In
//     between others may commit. A commit that conflicts is tried again.
//  2. A connection may be lost before a commit, or after it: then the server does not know, and
//     tries again.
//  3. A commit is on the standby before it is answered, unless the standby is away: then it is
//     answered as unknown. A failover keeps what the standby has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ledger/stored_head.h"
#include "ledger_store/postgres/head_cache.h"
#include "ledger_store/staging/operation.h"
#include "ledger_store/staging/staged_group.h"
#include "ledger_store/store.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/shared_store.h"
#include "tests/simulation/simulation.h"

namespace dpledger::simulation {

// A ledger's row and those of its writers.
struct HeadRows {
  uint64_t size = 0;
  merkle::Hash root = {};
  v1::StoredHead head;
  std::map<std::string, v1::WriterStatus> writers;

  bool IsAt(const LedgerHead& other) const {
    return other.tree.size() == size && other.tree.Root() == root;
  }
};

// Copies share the value until one of them changes it: each transaction copies all tables.
template <typename Value>
class CopiedLate {
 public:
  const Value& operator*() const { return *value_; }
  const Value* operator->() const { return value_.get(); }
  Value& Own() {
    if (value_.use_count() > 1) value_ = std::make_shared<Value>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<Value> value_ = std::make_shared<Value>();
};

// What one transaction leaves to the next.
struct Tables {
  std::map<std::string, HeadRows> heads;
  std::map<std::string, CopiedLate<std::vector<std::string>>> entries;
  std::map<std::string, CopiedLate<std::map<std::string, v1::StoredRequest>>> requests;
  std::map<std::string, v1::StoredCheckpoint> checkpoints;
  std::map<std::pair<std::string, merkle::TileId>, std::string> tiles;
  std::vector<std::string> registry;
  std::string holder;
  uint64_t epoch = 0, beat = 0;
  bool released = true;
};

// The primary and its standby.
struct Cluster {
  Tables primary;
  Tables standby;
  bool standby_away = false;
  uint64_t lost_before = 0, lost_after = 0;  // connections to lose, before and after a commit
  ClusterFlaws flaws;

  void Failover() {
    primary = standby;
    standby_away = false;
  }
  void StandbyComesBack() {
    standby = primary;
    standby_away = false;
  }
};

// A server's view of it. What waits is committed by Step.
class ClusterStore : public LedgerStore, public CheckpointStore {
 public:
  // All arguments must outlive this. `between` is called where others get their turn.
  ClusterStore(Cluster& cluster, SimulatedClock& clock, std::function<void()> between)
      : cluster_(cluster), clock_(clock), between_(std::move(between)) {}

  using LedgerReader::Get;
  using LedgerReader::List;
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override;
  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override;
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override;
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override;
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override;
  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override;
  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override;
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) override;
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) override;
  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller) override;
  CheckpointStore& checkpoints() override { return *this; }
  void Guard(AppendGate* gate) override { gate_ = gate; }
  absl::Status PutHistory(const std::string&, const v1::StoredHistory&) override { return {}; }
  absl::Status Health() const override { return absl::OkStatus(); }

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override;
  absl::Status Publish(const Publication& publication) override;
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

  // Commits what waits, as one group; how many there were.
  size_t Step();

 private:
  // The head in the tables; NOT_FOUND, DATA_LOSS.
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Load(const Tables& tables,
                                                         const std::string& name) const;
  HeadKeys Keys() const;
  absl::StatusOr<v1::Receipt> Submit(Operation operation);
  absl::StatusOr<v1::Ledger> SubmitAndGet(Operation operation, const std::string& name);
  absl::Status CommitGroup(std::vector<Operation>& group,
                           std::vector<absl::StatusOr<v1::Receipt>>& answers);
  // Runs `work` on the primary's tables, which returns whether they are as it read them.
  absl::Status Transact(const std::function<absl::StatusOr<bool>(Tables&)>& work);

  Cluster& cluster_;
  SimulatedClock& clock_;
  const std::function<void()> between_;
  AppendGate* gate_ = nullptr;
  postgres::HeadCache heads_;
  std::vector<Operation> waiting_;
  struct Beat {
    uint64_t epoch = ~uint64_t{0}, beat = 0;
    absl::Time seen;
  } other_;
};

}  // namespace dpledger::simulation
