#include "tests/simulation/simulation.h"

#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/keys.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/clients.h"
#include "tests/simulation/forger.h"
#include "tests/simulation/model.h"
#include "tests/simulation/scarce_memory.h"
#include "tests/simulation/shared_store.h"
#include "tests/simulation/signers.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/trace.h"

namespace dpledger::simulation {
namespace {

class Simulation {
 public:
  Simulation(uint64_t seed, const Flaws& flaws, bool trace)
      : chance_(seed),
        flaws_(flaws),
        trace_(trace),
        disk_(chance_, {flaws.no_sync, flaws.no_request_rows}),
        model_(RegistryKey()),
        clients_(chance_, trace_, model_, /*servers=*/1),
        signers_(chance_, trace_, model_, clock_) {
    DisarmMemory();
  }
  ~Simulation() { DisarmMemory(); }

  Outcome Run() {
    clients_.AddLedger();
    const uint64_t steps = 40 + chance_.Below(60);
    // Some runs end in damage that is not made good; the others keep all that they acknowledged.
    const bool damage = chance_.OneIn(4);
    if (chance_.OneIn(3)) signers_.TakeTheSameName();
    while (trace_.outcome.steps < steps && trace_.Fine()) {
      ++trace_.outcome.steps;
      Guarded([&] { Act(); });
    }
    if (trace_.Fine()) Settle();
    if (trace_.Fine() && damage) Damage();
    return trace_.outcome;
  }

 private:
  // Runs a part of the server's life; restarts the server if it ends there.
  void Guarded(const std::function<void()>& part) {
    bool power_lost = false;
    try {
      if (store_ == nullptr) Start();
      if (store_ != nullptr && trace_.Fine()) part();
      if (store_ == nullptr || store_->Healthy()) return;
      trace_.Note("stopped after an error");
    } catch (const ProcessDied&) {
      power_lost = disk_.power_was_cut();
      trace_.Note(power_lost ? "power cut" : "killed");
    } catch (const std::bad_alloc&) {
      trace_.Note("out of memory");
    }
    ++trace_.outcome.faults;
    End(power_lost);
  }

  void End(bool power_lost) {
    clients_.Connect(0, nullptr);
    for (size_t i = 0; i < 2; ++i) signers_.Connect(i, nullptr);
    shared_.reset();
    store_.reset();
    disk_.Restart(power_lost);
  }

  void Start() {
    ++trace_.outcome.lives;
    auto store = embedded::OpenSteppedStore(disk_.Open(), clock_, Keys());
    if (!store.ok()) return DidNotStart("store", store.status());
    store_ = *std::move(store);
    SharedStore::Options options;
    options.fenced = !flaws_.no_fence;
    options.between = [this] { Interleave(); };
    shared_ = std::make_unique<SharedStore>(*store_, lease_, clock_, std::move(options));
    clients_.Connect(0, store_.get());
    for (size_t i = 0; i < 2; ++i) signers_.Connect(i, shared_.get());
    trace_.Note(absl::StrCat("started, life ", trace_.outcome.lives));
    // Nothing of the last life was taken back.
    trace_.Hold(model_.Witness(store_->checkpoints()));
    if (!disk_.armed() && store_->Healthy()) trace_.Hold(model_.CheckLedgers(*store_, damaged_));
  }

  void DidNotStart(const std::string& what, const absl::Status& status) {
    trace_.Note(absl::StrCat(what, " does not start: ", status.ToString()));
    if (absl::IsDataLoss(status) && damaged_) {
      ++trace_.outcome.refusals;
    } else if (!absl::IsUnavailable(status)) {  // an armed fault struck
      trace_.Broken(absl::StrCat(what, " does not start: ", status.ToString()));
    }
    End(/*power_lost=*/false);
  }

  // Between two calls of a notary that signs.
  void Interleave() {
    if (!signers_.is_signing() || interleaved_) return;
    interleaved_ = true;
    switch (chance_.Below(10)) {
      case 0:
        signers_.Sign(1 - signers_.signer());
        break;
      case 1:
        MoveClock();
        break;
      case 2:
        clients_.Append();
        break;
      case 3:
        Commit();
        break;
      default:
        break;
    }
    interleaved_ = false;
  }

  void Act() {
    if (clients_.has_controls() && chance_.OneIn(3)) return clients_.FinishControls();
    const uint64_t choice = chance_.Below(100);
    if (choice < 34) {
      clients_.Append();
    } else if (choice < 54) {
      Commit();
    } else if (choice < 62) {
      clients_.Repeat();
    } else if (choice < 65) {
      clients_.AddLedger();
    } else if (choice < 68) {
      clients_.SealOne();
    } else if (choice < 71) {
      clients_.KeepHistory();
    } else if (choice < 85) {
      Sign(chance_.Below(2));
    } else if (choice < 89) {
      MoveClock();
    } else if (choice < 97) {
      Arm();
    } else {
      trace_.Note(choice == 97 ? "kill" : "cut power");
      ++trace_.outcome.faults;
      End(/*power_lost=*/choice != 97);
    }
  }

  void Commit() {
    const uint64_t before = TimesMemoryRanOut();
    size_t committed = 0;
    {
      const ScarceMemory scarce;
      committed = store_->Step();
    }
    trace_.Note(absl::StrCat("commit ", committed));
    trace_.outcome.faults += TimesMemoryRanOut() - before;
  }

  void Sign(size_t i) {
    for (const size_t signer : {i, 1 - i}) {
      if (store_ == nullptr || (signer != i && chance_.OneIn(2))) continue;
      if (const absl::Status opened = signers_.Open(signer); !opened.ok())
        DidNotStart("notary", opened);
    }
    if (store_ != nullptr) signers_.Sign(i);
  }

  void MoveClock() {
    const int64_t seconds[] = {1, 30, 59, 61, 3600, -61, -7200, 86400};
    const int64_t by = seconds[chance_.Below(8)];
    trace_.Note(absl::StrCat("clock ", by));
    clock_.Move(absl::Seconds(by));
  }

  void Arm() {
    const uint64_t kind = chance_.Below(kFaults + 1);
    const uint64_t calls = chance_.OneIn(2) ? chance_.Below(4) : chance_.Below(60);
    trace_.Note(absl::StrCat("arm ", kind, " after ", calls));
    if (kind == kFaults) return ArmMemory(1 + 7 * calls);
    disk_.Arm(static_cast<Fault>(kind), calls);
  }

  // ---- The end ----
  // Nothing fails any more: everything that was asked is answered, and all of it is there.
  void Settle() {
    disk_.Disarm();
    DisarmMemory();
    interleaved_ = true;  // nothing more is asked
    ++trace_.outcome.steps;
    // Of a line of four batches to a sealed ledger, each round refuses one.
    for (int round = 0; round < 8 && (round < 2 || clients_.AnyPending()) && trace_.Fine();
         ++round) {
      Guarded([&] {
        clients_.FinishControls();
        clients_.SendAll();
        Commit();
        for (size_t i = 0; i < 2 && store_ != nullptr; ++i) {
          clock_.Move(absl::Minutes(2));  // leases run out
          Sign(i);
        }
      });
      if (round == 0 && trace_.Fine()) End(/*power_lost=*/true);
    }
    interleaved_ = false;
    if (!trace_.Fine()) return;
    if (store_ == nullptr) return trace_.Broken("the server does not start again");
    trace_.Hold(clients_.CheckAnswered());
    trace_.Hold(model_.CheckLedgers(*store_, false));
    trace_.Hold(model_.Witness(store_->checkpoints()));
    trace_.Hold(model_.CheckRegistered());
  }

  // What a disk must not do. It is refused, or clients and witnesses can tell.
  void Damage() {
    ++trace_.outcome.faults;
    damaged_ = true;
    clients_.ExpectDamage();
    signers_.ExpectDamage();
    switch (chance_.Below(4)) {
      case 0:
        return LoseLog();
      case 3:
        return ForgeHead();
      case 1:
        trace_.Note(absl::StrCat("bit flipped in ", disk_.FlipBit().size(), " bytes of key"));
        break;
      default:
        clients_.Append();
        Commit();
        trace_.Note(absl::StrCat("changed a row of ",
                                 disk_.ChangeRow(static_cast<char>(embedded::Table::kBatch)).size(),
                                 " bytes of key"));
        break;
    }
    End(/*power_lost=*/false);
    for (int round = 0; round < 3 && trace_.Fine(); ++round) {
      Guarded([&] {
        clients_.Append();
        clients_.Repeat();
        Commit();
        clock_.Move(absl::Minutes(2));
        Sign(chance_.Below(2));
      });
    }
    if (trace_.Fine()) trace_.Hold(model_.CheckRegistered());
  }

  HeadKeys Keys() const { return flaws_.no_keys ? HeadKeys() : ServerKeys(); }

  std::map<std::string, std::string> Descriptions() {
    std::map<std::string, std::string> descriptions;
    const std::vector<v1::Ledger> ledgers = store_->List("projects/-", "", 1000, {}).value();
    for (const v1::Ledger& ledger : ledgers)
      descriptions[ledger.name()] = ledger.SerializeAsString();
    return descriptions;
  }

  // Somebody changes what is stored of a ledger, or puts back what was. It is refused, or changes
  // nothing.
  void ForgeHead() {
    const Rows before = disk_.rows();
    std::map<std::string, std::string> descriptions;
    Guarded([&] {
      clients_.Append();
      Commit();
      descriptions = Descriptions();
    });
    if (descriptions.empty()) return;
    std::vector<std::string> heads, firsts, changed;
    for (const auto& [key, value] : disk_.rows()) {
      const auto table = static_cast<embedded::Table>(key.front());
      if (table == embedded::Table::kHead) {
        heads.push_back(key);
        const auto older = before.find(key);
        if (older != before.end() && older->second != value) changed.push_back(key);
      }
      if (table == embedded::Table::kBatch && key.ends_with(std::string(8, '\0')))
        firsts.push_back(key);
    }
    const uint64_t kind = chance_.Below(4);
    if (kind == 0 && !changed.empty()) {
      const std::string& key = changed[chance_.Below(changed.size())];
      trace_.Note("an older head is put back");
      disk_.Replace(key, before.at(key));
    } else if (kind == 1) {
      const std::string& key = firsts[chance_.Below(firsts.size())];
      trace_.Note("another declaration");
      disk_.Replace(key, WithOtherDeclaration(disk_.rows().at(key)));
    } else {
      const std::string& key = heads[chance_.Below(heads.size())];
      trace_.Note("a head is forged");
      embedded::HeadRow row;
      if (!row.ParseFrom(disk_.rows().at(key))) return trace_.Broken("no head");
      Forge(chance_, row.writer, row.head);
      disk_.Replace(key, row.Serialize());
    }
    End(/*power_lost=*/false);
    Guarded([&] {
      if (Descriptions() != descriptions) trace_.Broken("a forged head is believed");
    });
  }

  // The newest file of the log is gone, with all that was acknowledged since it began. If some of
  // it was signed, the second place tells.
  void LoseLog() {
    const uint64_t signed_before = model_.witnessed();
    disk_.BeginLog();
    Guarded([&] {
      for (uint64_t i = 1 + chance_.Below(3); i > 0; --i) clients_.Append();
      Commit();
      if (chance_.OneIn(2)) Sign(0);
    });
    const bool lost_signed = model_.witnessed() > signed_before;
    End(/*power_lost=*/false);
    if (!disk_.LoseNewestLog()) return;
    trace_.Note(lost_signed ? "lost a log with signatures" : "lost a log");
    const TempFolder folder;
    const std::string second_place = folder.path() + "/checkpoint";
    if (!CheckpointFile(second_place).Write(model_.note()).ok())
      return trace_.Broken("no second place");
    auto store = embedded::OpenSteppedStore(disk_.Open(), clock_, Keys());
    if (!store.ok())
      return trace_.Broken(absl::StrCat("store does not start: ", store.status().ToString()));
    Lease lease;
    SharedStore shared(**store, lease, clock_, {.between = [] {}});
    const auto notary = Notary::Open(signers_.OptionsOf(0, second_place), shared);
    if (lost_signed && !absl::IsDataLoss(notary.status())) {
      return trace_.Broken(
          absl::StrCat("lost signatures go unnoticed: ", notary.status().ToString()));
    }
    if (!lost_signed && !notary.ok()) {
      return trace_.Broken(absl::StrCat("a store that lost nothing signed is refused: ",
                                        notary.status().ToString()));
    }
    if (lost_signed) ++trace_.outcome.refusals;
  }

  Chance chance_;
  const Flaws flaws_;
  Trace trace_;
  SimulatedDisk disk_;
  SimulatedClock clock_;
  Lease lease_;
  Model model_;
  Clients clients_;
  Signers signers_;

  bool damaged_ = false;
  bool interleaved_ = false;

  // A life of the server.
  std::unique_ptr<embedded::SteppedStore> store_;
  std::unique_ptr<SharedStore> shared_;
};

}  // namespace

Outcome Simulate(uint64_t seed, const Flaws& flaws, bool trace) {
  return Simulation(seed, flaws, trace).Run();
}

}  // namespace dpledger::simulation
