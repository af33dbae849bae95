// The clients of simulated servers: each writer sends its batches in order, to one server, and
// sends again what was not answered when that server is gone. They make, seal and fork ledgers, and
// ask again what was answered.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/store.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/model.h"
#include "tests/simulation/trace.h"

namespace dpledger::simulation {

inline constexpr uint64_t kMaxLedgers = 4;

class Clients {
 public:
  // All arguments must outlive this.
  Clients(Chance& chance, Trace& trace, Model& model, size_t servers)
      : chance_(chance), trace_(trace), model_(model), servers_(servers) {}

  // The server has a new life, or none (null): its writers turn to another one, or wait for it.
  void Connect(size_t server, LedgerStore* store);
  // From now on an answer may be DATA_LOSS, and what was acknowledged may be refused.
  void ExpectDamage() { damaged_ = true; }

  void AddLedger();
  void SealOne();
  void FinishControls();
  bool has_controls() const { return !controls_.empty(); }
  // A new batch of some writer, with all that it has not sent.
  void Append();
  void Repeat();
  void KeepHistory();

  void SendAll();
  bool AnyPending() const;
  // Everything was answered.
  absl::Status CheckAnswered() const;
  size_t ledgers() const { return ledgers_.size(); }

 private:
  // A batch that a client will send until it is answered.
  struct Pending {
    v1::AppendBatchRequest request;
    bool sent = false;  // to the server, in its present life
  };
  struct Writer {
    std::string name;
    size_t server = 0;
    uint64_t next_round = 1;
    uint64_t next_request = 0;
    std::vector<std::shared_ptr<Pending>> pending;  // in order
    std::shared_ptr<AppendLine> line;
    std::vector<v1::AppendBatchRequest> answered;
  };
  struct SimulatedLedger {
    std::string name;
    bool sealed = false;  // or asked to be
    std::vector<Writer> writers;
  };
  // A request that makes or seals a ledger, sent until it is answered.
  using Control = std::function<absl::Status(LedgerStore&)>;

  SimulatedLedger& AnyLedger() { return ledgers_[chance_.Below(ledgers_.size())]; }
  // Null if none of them runs.
  LedgerStore* AnyServer();
  absl::Status Made(const std::string& name, const absl::Status& status);
  void BeginAgain(Writer& writer);
  void SendPending(SimulatedLedger& ledger, Writer& writer);
  void Answered(SimulatedLedger& ledger, Writer& writer, Pending& pending,
                const absl::StatusOr<v1::Receipt>& receipt);

  Chance& chance_;
  Trace& trace_;
  Model& model_;
  std::vector<LedgerStore*> servers_;
  std::deque<SimulatedLedger> ledgers_;  // their places stay: answers refer to them
  std::vector<Control> controls_;
  bool damaged_ = false;
};

}  // namespace dpledger::simulation
