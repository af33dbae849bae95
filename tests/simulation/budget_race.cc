#include "tests/simulation/budget_race.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/filter/filter.h"
#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/history.h"
#include "events/event_values.h"
#include "ledger_store/embedded/embedded_store.h"
#include "questions/declaration_values.h"
#include "server/questions/subject_source.h"
#include "server/services/grants.h"
#include "tests/ledger_store/requests.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/cluster_store.h"
#include "tests/simulation/forger.h"
#include "tests/simulation/model.h"
#include "tests/simulation/race_gate.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/trace.h"
#include "tests/simulation/trainers.h"

namespace dpledger::simulation {
namespace {

constexpr char kBudget[] = "projects/p/ledgers/budget";

// What the plain accountant says of so many rounds together.
double SpentBy(const v1::Filter& filter, v1::Event round, uint64_t count) {
  round.mutable_rounds()->set_count(count);
  accountant::History history;
  history.Add("w", events::ValueOf(round).value());
  return accountant::filter::Spent(
             questions::FilterFromProto(filter).value(),
             accountant::Resolve(history, accountant::Adjacency::kAddOrRemoveOne).value(), {})
      .value();
}

// A filter that takes so many rounds of a kind, and not one more: a Gaussian's costs by
// arithmetic, a sampled one's by the accountant.
struct Terms {
  v1::Filter filter;
  v1::Event round;

  Terms(uint64_t fits, Chance& chance) {
    const double noises[] = {1.1, 4, 32}, noise = noises[chance.Below(3)];
    const double rho = 1 / (2 * noise * noise), all = static_cast<double>(fits);
    v1::RoundsEvent& rounds = *round.mutable_rounds();
    rounds.set_count(1);
    rounds.add_queries()->set_l2_norm_bound(1);
    rounds.mutable_queries(0)->set_noise_stddev(noise);
    rounds.mutable_scheme()->mutable_full_batch();
    const uint64_t kind = chance.Below(4);
    if (kind == 0) filter.mutable_zcdp()->set_rho(all * rho);
    if (kind == 1) filter.mutable_gdp()->set_mu(std::sqrt(all) / noise);
    if (kind == 2) {
      filter.mutable_rdp()->set_order(8);
      filter.mutable_rdp()->set_epsilon(all * 8 * rho);
    }
    if (kind < 3) return;
    rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
    v1::MixtureFilter& mixture = *filter.mutable_mixture();
    mixture.set_delta(1e-6);
    for (const double order : {2, 4, 8, 16, 32}) mixture.add_orders(order);
    mixture.set_epsilon(1);
    mixture.set_epsilon((SpentBy(filter, round, fits) + SpentBy(filter, round, fits + 1)) / 2);
  }
};

uint64_t RoundsOf(const v1::BudgetGrant& grant) {
  uint64_t rounds = 0;
  for (const v1::Event& event : grant.plan()) rounds += event.rounds().count();
  return rounds;
}

// A life of a server.
struct Server {
  std::unique_ptr<LedgerStore> store;
  std::function<size_t()> step;  // of the store
  std::unique_ptr<server::SubjectSource> source;
  std::unique_ptr<RaceGate> gate;
  std::unique_ptr<server::Grants> grants;
};

class BudgetRace {
 public:
  BudgetRace(uint64_t seed, const RaceFlaws& flaws, bool trace, const RaceSize& size)
      : chance_(seed),
        flaws_(flaws),
        size_(size),
        fits_(size.fits()),
        most_steps_(200 * size.trainers * size.rounds),
        under_budget_(seed % 8 < 6),
        embedded_(seed % 4 == 3),
        trace_(trace),
        terms_(fits_, chance_),
        disk_(chance_, {}),
        servers_(embedded_ ? 1 : 3) {
    cluster_.flaws = flaws.cluster;
  }

  Outcome Run() {
    StartAll();
    if (under_budget_) MakeBudget();
    // Some have their fill, and leave a rest; others are refused meanwhile.
    for (uint64_t i = 0; i < size_.trainers; i += 2) {
      const uint64_t fewer = chance_.Below(size_.rounds);
      Enter(size_.rounds - fewer);
      Enter(size_.rounds + fewer);
    }
    while (trace_.Fine() && !Done() && trace_.outcome.steps < most_steps_) {
      ++trace_.outcome.steps;
      StartAll();
      Audit();
      most_taken_ = Taken();
      Act();
      if (servers_[0] != nullptr && !servers_[0]->store->Healthy()) End(0, /*power_lost=*/false);
    }
    if (trace_.Fine()) Settle();
    // What was set aside for one while another was refused, and given back.
    if (trace_.Fine() && under_budget_) Enter(fits_);
    if (trace_.Fine()) Settle();
    if (trace_.Fine()) Check();
    return trace_.outcome;
  }

 private:
  void StartAll() {
    for (size_t i = 0; i < servers_.size(); ++i) Start(i);
  }

  void Start(size_t i) {
    if (servers_[i] != nullptr) return;
    const bool again = ++trace_.outcome.lives > servers_.size();
    auto server = std::make_unique<Server>();
    if (embedded_) {
      auto opened = embedded::OpenSteppedStore(disk_.Open(), clock_, ServerKeys()).value();
      server->step = [store = opened.get()] { return store->Step(); };
      server->store = std::move(opened);
    } else {
      auto opened = std::make_unique<ClusterStore>(cluster_, clock_, [this, i] { Interleave(i); });
      server->step = [store = opened.get()] { return store->Step(); };
      server->store = std::move(opened);
    }
    server->source = std::make_unique<server::SubjectSource>(server->store.get(), size_t{64} << 20);
    server->gate = std::make_unique<RaceGate>(chance_, flaws_.gates_forget && again);
    server->gate->Start(server->source.get());
    server->store->Guard(server->gate.get());
    server->grants = std::make_unique<server::Grants>(server->store.get(), server->source.get());
    servers_[i] = std::move(server);
    trace_.Note(absl::StrCat("server ", i, " started"));
  }

  void End(size_t i, bool power_lost) {
    trace_.Note(absl::StrCat("server ", i, power_lost ? " loses its power" : " is killed"));
    ++trace_.outcome.faults;
    servers_[i].reset();
    if (embedded_) {
      disk_.Disarm();
      disk_.Restart(power_lost);
      ReadAnew();
    }
    for (Trainer& trainer : trainers_) {
      if (trainer.server != i) continue;
      trainer.Disconnect();
      trainer.server = chance_.Below(servers_.size());
    }
  }

  v1::CreateLedgerRequest Declared(const std::string& name) const {
    v1::CreateLedgerRequest request = CreateRequest(name);
    request.mutable_declaration()->set_parameters(v1::ADAPTIVE);
    request.mutable_declaration()->set_spool_policy(v1::FAIL_CLOSED);
    *request.mutable_declaration()->mutable_filter() = terms_.filter;
    return request;
  }

  void MakeBudget() {
    v1::CreateLedgerRequest request = Declared(kBudget);
    request.mutable_declaration()->set_kind(v1::BUDGET);
    trace_.Hold(servers_[0]->store->Create(request, CallerOf("")).status());
    seen_[kBudget];
  }

  void Enter(uint64_t wanted) {
    const std::string number = absl::StrCat(trainers_.size());
    Trainer::Plan plan;
    plan.create = Declared(absl::StrCat("projects/p/ledgers/run", under_budget_ ? number : ""));
    if (under_budget_) plan.create.mutable_declaration()->set_budget(kBudget);
    plan.writer = "w" + number;
    plan.round = terms_.round;
    plan.wanted = wanted;
    plan.gives_back = !flaws_.keeps_rest;
    seen_[plan.create.name()];
    trainers_.emplace_back(chance_, trace_, plan, [this](uint64_t more) { OnRefused(more); });
    trainers_.back().server = chance_.Below(servers_.size());
  }

  bool Done() const {
    return std::all_of(trainers_.begin(), trainers_.end(),
                       [](const Trainer& trainer) { return trainer.done(); });
  }

  void Step(size_t i) { trace_.Note(absl::StrCat("server ", i, " commits ", servers_[i]->step())); }

  void Act(Trainer& trainer) {
    trainer.Act(*servers_[trainer.server]->store, *servers_[trainer.server]->grants);
  }

  // The turn of the others, in the middle of a transaction of server `i`.
  void Interleave(size_t i) {
    if (interleaved_ || trainers_.empty() || chance_.Below(3) > 0) return;
    interleaved_ = true;
    Trainer& trainer = trainers_[chance_.Below(trainers_.size())];
    const size_t other = (i + 1 + chance_.Below(servers_.size() - 1)) % servers_.size();
    if (trainer.server != i) {
      Act(trainer);
    } else {
      Step(other);
    }
    Audit();
    interleaved_ = false;
  }

  void Act() {
    const uint64_t choice = chance_.Below(100);
    const size_t server = chance_.Below(servers_.size());
    Trainer& trainer = trainers_[chance_.Below(trainers_.size())];
    if (choice < 60) {
      Act(trainer);
    } else if (choice < 84) {
      Step(server);
    } else if (choice < 88) {
      trainer.Die();
    } else if (choice < 90) {
      End(server, embedded_ && chance_.OneIn(2));
    } else if (choice < 91) {
      clock_.Move(absl::Seconds(static_cast<int64_t>(chance_.Below(100))));
    } else if (embedded_) {
      if (choice == 99) disk_.Arm(chance_.OneIn(2) ? Fault::kWriteError : Fault::kNoSpace, 0);
    } else if (choice < 93) {
      cluster_.lost_before += 1 + chance_.Below(3);
    } else if (choice < 95) {
      cluster_.lost_after += 1 + chance_.Below(3);
    } else if (choice < 96) {
      cluster_.standby_away = true;
    } else if (choice < 99) {
      cluster_.StandbyComesBack();
    } else {
      Failover();
    }
  }

  void Failover() {
    trace_.Note(absl::StrCat("failover, the standby ", cluster_.standby_away ? "behind" : "equal"));
    ++trace_.outcome.faults;
    cluster_.Failover();
    ReadAnew();
  }

  // Nothing fails any more: everybody comes to an end.
  void Settle() {
    disk_.Disarm();
    cluster_.lost_before = cluster_.lost_after = 0;
    cluster_.StandbyComesBack();
    for (uint64_t round = 0; trace_.Fine() && !Done(); ++round) {
      if (round == most_steps_) return trace_.Broken("a trainer does not come to an end");
      most_taken_ = Taken();
      StartAll();
      for (Trainer& trainer : trainers_) Act(trainer);
      for (size_t i = 0; i < servers_.size(); ++i) Step(i);
      Audit();
    }
  }

  // ---- What holds, by the entries alone ----
  // Of a ledger, as far as it was read.
  struct Seen {
    uint64_t entries = 0, rounds = 0, granted = 0;
  };

  // What was not acknowledged may be gone.
  void ReadAnew() {
    for (auto& [ledger, seen] : seen_) seen = Seen();
    set_aside_.clear();
  }

  // Of the filter, in rounds: what is set aside, or spent.
  uint64_t Taken() const {
    uint64_t taken = 0;
    for (const auto& [ledger, rounds] : set_aside_) taken += rounds;
    if (!under_budget_) taken = seen_.begin()->second.rounds;
    return taken;
  }

  void ReadOn(const std::string& ledger, Seen& seen) {
    const auto read = servers_[0]->store->Read(ledger, seen.entries, most_steps_, 1 << 30);
    if (!read.ok()) return;  // it is not made yet
    for (const std::string& bytes : *read) {
      v1::LedgerEntry entry;
      if (!entry.ParseFromString(bytes)) return trace_.Broken("an entry does not parse");
      if (entry.event().has_sum_query()) ++seen.rounds;
      if (entry.has_granted()) seen.granted = RoundsOf(entry.granted());
      if (entry.has_grant()) set_aside_[entry.grant().ledger()] = RoundsOf(entry.grant());
      ++seen.entries;
    }
  }

  // At every moment.
  void Audit() {
    for (auto& [ledger, seen] : seen_) ReadOn(ledger, seen);
    most_taken_ = std::max(most_taken_, Taken());
    if (Taken() > fits_) {
      trace_.Broken(absl::StrCat(Taken(), " rounds are taken of ", fits_));
    }
    for (const auto& [ledger, seen] : seen_) {
      if (!under_budget_ || ledger == kBudget) continue;
      const uint64_t granted = set_aside_[ledger];
      if (seen.granted != granted || seen.rounds > granted) {
        trace_.Broken(absl::StrCat(ledger, " holds ", seen.rounds, " rounds and says that it was ",
                                   "granted ", seen.granted, "; its budget says ", granted));
      }
    }
  }

  // Since this step began, others may have given something back.
  void OnRefused(uint64_t more) {
    ++trace_.outcome.refusals;
    Audit();
    if (most_taken_ + more > fits_) return;
    trace_.Broken(absl::StrCat(most_taken_, " rounds of ", fits_, " are taken, and ", more,
                               " more are refused"));
  }

  void Check() {
    std::map<std::string, std::set<std::string>> stored;
    uint64_t rounds = 0, told = 0;
    for (const auto& [ledger, seen] : seen_) {
      const auto entries = servers_[0]->store->Read(ledger, 0, most_steps_, 1 << 30);
      for (const std::string& bytes : *entries) {
        v1::LedgerEntry entry;
        if (!entry.ParseFromString(bytes) || !entry.event().has_sum_query()) continue;
        stored[ledger].insert(entry.request_id());
        ++rounds;
      }
    }
    for (const Trainer& trainer : trainers_) {
      const std::set<std::string>& of_ledger = stored[trainer.ledger()];
      told += trainer.told().size();
      if (!std::includes(of_ledger.begin(), of_ledger.end(), trainer.told().begin(),
                         trainer.told().end())) {
        trace_.Broken(absl::StrCat(trainer.ledger(), ": acknowledged rounds are lost"));
      }
    }
    if (told != fits_ || rounds != fits_) {
      trace_.Broken(absl::StrCat(told, " rounds are acknowledged and ", rounds,
                                 " are stored, where ", fits_, " fit"));
    }
  }

  Chance chance_;
  const RaceFlaws flaws_;
  const RaceSize size_;
  const uint64_t fits_, most_steps_;
  const bool under_budget_, embedded_;
  Trace trace_;
  const Terms terms_;
  SimulatedClock clock_;
  Cluster cluster_;
  SimulatedDisk disk_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::deque<Trainer> trainers_;
  bool interleaved_ = false;
  std::map<std::string, Seen> seen_;
  std::map<std::string, uint64_t> set_aside_;
  uint64_t most_taken_ = 0;
};

}  // namespace

Outcome SimulateRace(uint64_t seed, const RaceFlaws& flaws, bool trace, const RaceSize& size) {
  return BudgetRace(seed, flaws, trace, size).Run();
}

}  // namespace dpledger::simulation
