#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/clients.h"
#include "tests/simulation/cluster_store.h"
#include "tests/simulation/forger.h"
#include "tests/simulation/model.h"
#include "tests/simulation/signers.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/trace.h"

namespace dpledger::simulation {
namespace {

constexpr size_t kServers = 2;

class ClusterSimulation {
 public:
  ClusterSimulation(uint64_t seed, const ClusterFlaws& flaws, bool trace)
      : chance_(seed),
        trace_(trace),
        model_(RegistryKey()),
        clients_(chance_, trace_, model_, kServers),
        signers_(chance_, trace_, model_, clock_) {
    cluster_.flaws = flaws;
  }

  Outcome Run() {
    clients_.AddLedger();
    const uint64_t steps = 60 + chance_.Below(80);
    while (trace_.outcome.steps < steps && trace_.Fine()) {
      ++trace_.outcome.steps;
      Act(chance_.Below(kServers));
    }
    if (trace_.Fine()) Settle();
    if (trace_.Fine() && chance_.OneIn(2)) ForgeHead();
    return trace_.outcome;
  }

 private:
  void Start(size_t i) {
    if (servers_[i] != nullptr) return;
    ++trace_.outcome.lives;
    servers_[i] = std::make_unique<ClusterStore>(cluster_, clock_, [this, i] { Interleave(i); });
    clients_.Connect(i, servers_[i].get());
    signers_.Connect(i, servers_[i].get());
    trace_.Note(absl::StrCat("server ", i, " started"));
  }

  void End(size_t i) {
    trace_.Note(absl::StrCat("server ", i, " killed"));
    clients_.Connect(i, nullptr);
    signers_.Connect(i, nullptr);
    servers_[i].reset();
    ++trace_.outcome.faults;
  }

  // The other server's turn, in the middle of a transaction or a signing round of server `i`.
  void Interleave(size_t i) {
    if (interleaved_ || servers_[1 - i] == nullptr) return;
    interleaved_ = true;
    switch (chance_.Below(8)) {
      case 0:
        trace_.Note("meanwhile");
        servers_[1 - i]->Step();
        break;
      case 1:
        Sign(1 - i);
        break;
      case 2:
        MoveClock();
        break;
      default:
        break;
    }
    interleaved_ = false;
  }

  void Sign(size_t i) {
    const absl::Status opened = signers_.Open(i);
    if (opened.ok()) {
      signers_.Sign(i);
    } else if (!absl::IsUnavailable(opened)) {
      trace_.Broken(absl::StrCat("notary does not start: ", opened.ToString()));
    }
  }

  void MoveClock() {
    const int64_t seconds[] = {1, 30, 61, 3600};
    clock_.Move(absl::Seconds(seconds[chance_.Below(4)]));
  }

  // What is on its way to the primary is not known to have arrived.
  void Failover() {
    trace_.Note(absl::StrCat("failover, the standby ", cluster_.standby_away ? "behind" : "equal"));
    ++trace_.outcome.faults;
    cluster_.Failover();
    Start(0);  // it may have been killed just now
    trace_.Hold(model_.CheckLedgers(*servers_[0], false));
    trace_.Hold(model_.Witness(servers_[0]->checkpoints()));
  }

  void Act(size_t i) {
    for (size_t server = 0; server < kServers; ++server) Start(server);
    if (clients_.has_controls() && chance_.OneIn(3)) return clients_.FinishControls();
    const uint64_t choice = chance_.Below(100);
    if (choice < 34) {
      clients_.Append();
    } else if (choice < 56) {
      trace_.Note(absl::StrCat("server ", i, " commits ", servers_[i]->Step()));
    } else if (choice < 63) {
      clients_.Repeat();
    } else if (choice < 66) {
      clients_.AddLedger();
    } else if (choice < 69) {
      clients_.SealOne();
    } else if (choice < 82) {
      Sign(i);
    } else if (choice < 85) {
      MoveClock();
    } else if (choice < 87) {
      End(i);
    } else if (choice < 90) {
      trace_.Note("a connection will be lost before a commit");
      ++cluster_.lost_before;
    } else if (choice < 93) {
      trace_.Note("a connection will be lost after a commit");
      ++cluster_.lost_after;
    } else if (choice < 95) {
      trace_.Note("the standby is away");
      cluster_.standby_away = true;
    } else if (choice < 97) {
      trace_.Note("the standby is back");
      cluster_.StandbyComesBack();
    } else {
      Failover();
    }
  }

  // Nothing fails any more: everything that was asked is answered, and all of it is there.
  void Settle() {
    cluster_.lost_before = cluster_.lost_after = 0;
    interleaved_ = true;
    if (cluster_.standby_away && chance_.OneIn(2)) Failover();
    cluster_.StandbyComesBack();
    for (int round = 0; round < 8 && (round < 2 || clients_.AnyPending()) && trace_.Fine();
         ++round) {
      for (size_t i = 0; i < kServers; ++i) {
        if (round == 0) End(i);
        Start(i);
      }
      clients_.FinishControls();
      clients_.SendAll();
      for (size_t i = 0; i < kServers; ++i) {
        servers_[i]->Step();
        clock_.Move(absl::Minutes(2));
        Sign(i);
      }
    }
    if (!trace_.Fine()) return;
    trace_.Hold(clients_.CheckAnswered());
    trace_.Hold(model_.CheckLedgers(*servers_[0], false));
    trace_.Hold(model_.Witness(servers_[0]->checkpoints()));
    trace_.Hold(model_.CheckRegistered());
  }

  // Somebody who writes to the database changes what is stored of a ledger, or puts back what was.
  // It is refused, or changes nothing, for a server that runs and for one that starts.
  void ForgeHead() {
    const Tables before = cluster_.primary;
    for (int i = 0; i < 3; ++i) clients_.Append();
    for (const auto& server : servers_) server->Step();
    std::map<std::string, std::string> descriptions;
    const std::vector<v1::Ledger> ledgers = servers_[0]->List("projects/-", "", 1000).value();
    for (const v1::Ledger& ledger : ledgers)
      descriptions[ledger.name()] = ledger.SerializeAsString();
    auto forged = cluster_.primary.heads.begin();
    std::advance(forged, static_cast<ptrdiff_t>(chance_.Below(cluster_.primary.heads.size())));
    HeadRows& rows = forged->second;
    auto writer = rows.writers.begin();
    std::advance(writer, static_cast<ptrdiff_t>(chance_.Below(rows.writers.size())));
    const auto older = before.heads.find(forged->first);
    const uint64_t kind = chance_.Below(6);
    trace_.Note(absl::StrCat("forged: ", forged->first, " by ", kind));
    ++trace_.outcome.faults;
    if (kind == 0 && older != before.heads.end()) {
      rows = older->second;
    } else if (kind == 1 && older != before.heads.end() &&
               older->second.writers.contains(writer->first)) {
      writer->second = older->second.writers.at(writer->first);
    } else if (kind == 2) {
      std::string& first = cluster_.primary.entries[forged->first].Own().front();
      first = WithOtherDeclaration(first);
    } else {
      Forge(chance_, writer->second, rows.head);
    }
    for (size_t i = 0; i < kServers; ++i) {
      if (i == 1) {
        End(i);
        Start(i);
      }
      for (const auto& [name, description] : descriptions) {
        const auto ledger = servers_[i]->Get(name);
        if (ledger.ok() ? ledger->SerializeAsString() != description
                        : !absl::IsDataLoss(ledger.status()))
          trace_.Broken(absl::StrCat("a forged head is believed: ", ledger.status().ToString()));
        if (!ledger.ok()) ++trace_.outcome.refusals;
      }
    }
  }

  Chance chance_;
  Trace trace_;
  SimulatedClock clock_;
  Cluster cluster_;
  Model model_;
  Clients clients_;
  Signers signers_;
  bool interleaved_ = false;
  std::unique_ptr<ClusterStore> servers_[kServers];
};

}  // namespace

Outcome SimulateCluster(uint64_t seed, const ClusterFlaws& flaws, bool trace) {
  return ClusterSimulation(seed, flaws, trace).Run();
}

}  // namespace dpledger::simulation
