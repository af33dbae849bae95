// Trainers under a filter, each a writer of one ledger: it appends equal rounds one by one until it
// has had its fill or is refused, and closes. Under a budget it asks for more as it goes, in steps
// that grow, and gives back what is left. It does what client/ does, without threads or waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/services/grants.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/trace.h"

namespace dpledger::simulation {

class Trainer {
 public:
  struct Plan {
    v1::CreateLedgerRequest create;
    std::string writer;
    v1::Event round;  // once
    uint64_t wanted = 0;
    bool gives_back = true;
  };
  // Hears of each refusal for good: so many rounds more did not fit.
  using Refused = std::function<void(uint64_t more)>;

  // The references must outlive this.
  Trainer(Chance& chance, Trace& trace, Plan plan, Refused refused)
      : chance_(chance), trace_(trace), plan_(std::move(plan)), refused_(std::move(refused)) {}
  Trainer(const Trainer&) = delete;  // answers refer to it
  Trainer& operator=(const Trainer&) = delete;

  // The next thing, at its server, unless it waits for an answer.
  void Act(LedgerStore& store, server::Grants& grants);
  // The process ends, and another one goes on from its spool: what was not answered is sent again.
  void Die();
  // What it waits for does not come.
  void Disconnect() { in_flight_ = 0; }

  bool done() const { return stage_ == Stage::kDone; }
  const std::string& ledger() const { return plan_.create.name(); }
  // The request ids of rounds that it was told of.
  const std::set<std::string>& told() const { return told_; }

  size_t server = 0;  // that it is connected to

 private:
  enum class Stage { kMaking, kTraining, kClosing, kGivingBack, kDone };

  std::string NewId();
  void Make(LedgerStore& store);
  void Send(LedgerStore& store);
  void NextBatch();
  void Answered(const absl::StatusOr<v1::Receipt>& receipt);
  void Stored();
  // The round is not released: notes take the place of its events.
  void Withdraw();
  void AskFor(v1::GrantChange change, uint64_t rounds);
  void Ask(server::Grants& grants);
  void NotGranted();
  // Whether the same request is to be sent again: by what it was answered, or the answer is lost.
  bool IsOpen(const absl::Status& answer);

  Chance& chance_;
  Trace& trace_;
  const Plan plan_;
  const Refused refused_;
  Stage stage_ = Stage::kMaking;
  uint64_t ids_ = 0;
  // Its spool.
  std::optional<v1::AppendBatchRequest> batch_;
  uint64_t entries_ = 0;
  std::set<std::string> told_;
  bool was_refused_ = false;
  // Its memory.
  uint64_t in_flight_ = 0, sent_ = 0;  // which sending of the batch; 0: none
  std::optional<v1::GrantBudgetRequest> asked_;
  uint64_t more_ = 0;
  std::string asked_in_vain_;  // for this batch
};

}  // namespace dpledger::simulation
