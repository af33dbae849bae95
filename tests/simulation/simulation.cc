#include "tests/simulation/simulation.h"

#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/stepped_store.h"
#include "ledger_store/evidence/notary.h"
#include "merkle/proof.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/model.h"
#include "tests/simulation/shared_store.h"
#include "tests/simulation/simulated_disk.h"

namespace dpledger::simulation {
namespace {

constexpr char kOrigin[] = "registry.example";
constexpr uint64_t kMaxLedgers = 4;
constexpr uint64_t kWriters = 3;

// Made once: to make a key takes as long as to sign.
std::shared_ptr<const merkle::Ed25519PrivateKey> KeyOf(char byte) {
  return std::make_shared<merkle::Ed25519PrivateKey>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, byte)));
}
const std::shared_ptr<const merkle::Ed25519PrivateKey>& SigningKey() {
  static const auto& key = *new auto(KeyOf('s'));
  return key;
}
const std::shared_ptr<const merkle::Ed25519PrivateKey>& WitnessKey() {
  static const auto& key = *new auto(KeyOf('w'));
  return key;
}

merkle::VerifierKey RegistryKey() {
  static const auto& key = *new merkle::VerifierKey{kOrigin, merkle::SignatureType::kEd25519,
                                                    SigningKey()->public_key()};
  return key;
}

// A batch that a client will send until it is answered.
struct Pending {
  v1::AppendBatchRequest request;
  uint64_t sent_in_life = 0;  // the server's life in which it was sent last; 0: never
};

struct Writer {
  std::string name;
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

// Whether the same request may succeed later: the server could do nothing for it.
bool ForNow(const absl::Status& status) {
  return absl::IsUnavailable(status) || ReasonOf(status).reason == kOutOfMemory;
}

// A request that makes or seals a ledger, sent until it is answered.
using Control = std::function<absl::Status(LedgerStore&)>;

class Simulation {
 public:
  Simulation(uint64_t seed, const Flaws& flaws, bool trace)
      : chance_(seed),
        flaws_(flaws),
        trace_(trace),
        disk_(chance_, {flaws.no_sync, flaws.no_request_rows}),
        model_(RegistryKey()) {}

  Outcome Run() {
    AddLedger();
    const uint64_t steps = 40 + chance_.Below(60);
    // Some runs end in damage that is not made good; the others keep all that they acknowledged.
    const bool damage = chance_.OneIn(4);
    same_holder_ = chance_.OneIn(3);
    while (outcome_.steps < steps && Fine()) {
      ++outcome_.steps;
      Guarded([&] { Act(); });
    }
    if (Fine()) Settle();
    if (Fine() && damage) Damage();
    outcome_.trace_hash = trace_hash_;
    return outcome_;
  }

 private:
  bool Fine() const { return outcome_.status.ok(); }
  void Note(const std::string& what) {
    if (trace_)
      std::printf("%4llu %s\n", static_cast<unsigned long long>(outcome_.steps), what.c_str());
    for (const char c : what) {  // FNV-1a
      trace_hash_ = (trace_hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  void Hold(const absl::Status& promise) {
    if (promise.ok() || !Fine()) return;
    Note(absl::StrCat("BROKEN ", promise.message()));
    outcome_.status = promise;
  }
  void Broken(const std::string& what) { Hold(absl::InternalError(what)); }

  // Runs a part of the server's life; restarts the server if it ends there.
  void Guarded(const std::function<void()>& part) {
    bool power_lost = false;
    try {
      if (store_ == nullptr) Start();
      if (store_ != nullptr && Fine()) part();
      if (store_ == nullptr || store_->Healthy()) return;
      Note("stopped after an error");
      ++outcome_.faults;
    } catch (const ProcessDied&) {
      power_lost = disk_.power_was_cut();
      Note(power_lost ? "power cut" : "killed");
      ++outcome_.faults;
    } catch (const std::bad_alloc&) {
      Note("out of memory");
      ++outcome_.faults;
    }
    End(power_lost);
  }

  void End(bool power_lost) {
    for (auto& notary : notaries_) notary.reset();
    shared_.reset();
    store_.reset();
    disk_.Restart(power_lost);
    signing_ = false;
  }

  void Start() {
    ++outcome_.lives;
    auto store = embedded::OpenSteppedStore(disk_.Open(), clock_);
    if (!store.ok()) return DidNotStart("store", store.status());
    store_ = *std::move(store);
    for (SimulatedLedger& ledger : ledgers_) {
      for (Writer& writer : ledger.writers) writer.line = std::make_shared<AppendLine>();
    }
    SharedStore::Options options;
    options.fenced = !flaws_.no_fence;
    options.between = [this] { Interleave(); };
    shared_ = std::make_unique<SharedStore>(*store_, lease_, clock_, std::move(options));
    Note(absl::StrCat("started, life ", outcome_.lives));
    // Nothing of the last life was taken back.
    Hold(model_.Witness(store_->checkpoints()));
    if (!disk_.armed() && store_->Healthy()) Hold(model_.CheckLedgers(*store_, damaged_));
  }

  void DidNotStart(const std::string& what, const absl::Status& status) {
    Note(absl::StrCat(what, " does not start: ", status.ToString()));
    if (absl::IsDataLoss(status) && damaged_) {
      ++outcome_.refusals;
    } else if (!absl::IsUnavailable(status)) {  // an armed fault struck
      Broken(absl::StrCat(what, " does not start: ", status.ToString()));
    }
    End(/*power_lost=*/false);
  }

  NotaryOptions OptionsOf(size_t i) {
    NotaryOptions options;
    options.key = SigningKey();
    options.origin = kOrigin;
    options.checkpoint_file = second_place_;
    // Two processes that took the same name: then the registry's size alone keeps them apart.
    options.holder = absl::StrCat("notary-", same_holder_ ? 0 : i);
    options.max_entries = 5;  // so that long ledgers take several rounds
    options.max_ledgers = 2;
    options.clock = &clock_;
    options.cosigner = [this](const std::string& note, uint64_t size,
                              const ConsistencyProver& prove) { return Cosign(note, size, prove); };
    return options;
  }

  // The witness that signs: it compares by proofs, where the model compares by entries.
  std::vector<merkle::NoteSignature> Cosign(const std::string& text, uint64_t size,
                                            const ConsistencyProver& prove) {
    const merkle::Note note = *merkle::Note::Parse(text);
    const merkle::Checkpoint shown = *merkle::ParseCheckpoint(note.text);
    const auto [seen, is_new] = shown_.emplace(size, shown.root);
    if (!is_new && seen->second != shown.root)
      Broken(absl::StrCat("a witness is shown two registries of size ", size));
    // A signer that was overtaken shows what it has: an earlier one, which the witness refuses.
    if (size < cosigned_.size) return {};
    if (cosigned_.size > 0) {
      const auto proof = prove(cosigned_.size);
      if (absl::IsUnavailable(proof.status())) return {};
      const absl::Status grown =
          proof.ok()
              ? merkle::VerifyConsistency(cosigned_.size, cosigned_.root, size, shown.root, *proof)
              : proof.status();
      if (!grown.ok() && !damaged_)
        Broken(absl::StrCat("a witness is shown another history: ", grown.ToString()));
      if (!grown.ok()) return {};
    }
    cosigned_ = shown;
    if (chance_.OneIn(2)) return {};
    const auto seconds = static_cast<uint64_t>(absl::ToUnixSeconds(clock_.Now()));
    return {*merkle::CosignNote(note.text, "witness.example", seconds, *WitnessKey())};
  }

  // Between two calls of a notary that signs.
  void Interleave() {
    if (!signing_ || interleaved_) return;
    interleaved_ = true;
    switch (chance_.Below(10)) {
      case 0:
        Sign(1 - signer_);
        break;
      case 1:
        MoveClock();
        break;
      case 2:
        Append();
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
    if (!controls_.empty() && chance_.OneIn(3)) return FinishControls();
    const uint64_t choice = chance_.Below(100);
    if (choice < 34) {
      Append();
    } else if (choice < 54) {
      Commit();
    } else if (choice < 62) {
      Repeat();
    } else if (choice < 65) {
      if (ledgers_.size() < kMaxLedgers) AddLedger();
    } else if (choice < 68) {
      SealOne();
    } else if (choice < 71) {
      KeepHistory();
    } else if (choice < 85) {
      Sign(chance_.Below(2));
    } else if (choice < 89) {
      MoveClock();
    } else if (choice < 97) {
      Arm();
    } else {
      Note(choice == 97 ? "kill" : "cut power");
      ++outcome_.faults;
      End(/*power_lost=*/choice != 97);
    }
  }

  // ---- Clients ----
  SimulatedLedger& AnyLedger() { return ledgers_[chance_.Below(ledgers_.size())]; }

  void AddLedger() {
    SimulatedLedger& ledger = ledgers_.emplace_back();
    ledger.name = absl::StrCat("projects/p/ledgers/", ledgers_.size());
    for (uint64_t i = 0; i < kWriters; ++i)
      ledger.writers.push_back(
          {.name = absl::StrCat("w", i), .line = std::make_shared<AppendLine>()});
    const std::string name = ledger.name;
    model_.Asked(name, "create", 1);
    const SimulatedLedger& parent = AnyLedger();
    const auto& receipts = model_.ReceiptsOf(parent.name);
    if (parent.name != name && !receipts.empty()) {
      const v1::Receipt& receipt = receipts.rbegin()->second;
      LedgerPoint point{receipt.size(), {}};
      std::copy(receipt.root_hash().begin(), receipt.root_hash().end(), point.root.begin());
      v1::ForkLedgerRequest request;
      request.set_parent(parent.name);
      request.set_parent_size(point.size);
      request.set_name(name);
      request.set_request_id("create");
      controls_.push_back([this, request, point](LedgerStore& store) {
        return Made(request.name(), store.Fork(request, point).status());
      });
    } else {
      controls_.push_back([this, name](LedgerStore& store) {
        return Made(name, store.Create(CreateRequest(name)).status());
      });
    }
  }

  absl::Status Made(const std::string& name, const absl::Status& status) {
    if (status.ok()) model_.Created(name);
    return status;
  }

  void SealOne() {
    SimulatedLedger& ledger = AnyLedger();
    if (ledger.sealed || ledgers_.size() < kMaxLedgers) return;
    ledger.sealed = true;
    v1::SealLedgerRequest request = SealRequest(ledger.name);
    model_.Asked(ledger.name, "seal", 1);
    for (const Writer& writer : ledger.writers) {
      if (writer.next_request > 0) request.add_missing_writers(writer.name);
    }
    controls_.push_back([request](LedgerStore& store) {
      const absl::Status status = store.Seal(request).status();
      // Writers named missing that have written nothing.
      return absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
    });
  }

  // One after the other, as each may need the one before.
  void FinishControls() {
    while (!controls_.empty()) {
      const absl::Status status = controls_.front()(*store_);
      Note(absl::StrCat("control: ", status.ToString()));
      if (ForNow(status)) return;
      if (!status.ok() && !damaged_ && ReasonOf(status).reason != "WRITERS_OPEN")
        Broken(absl::StrCat("a ledger is not made or sealed: ", status.ToString()));
      controls_.erase(controls_.begin());
    }
  }

  void Append() {
    SimulatedLedger& ledger = AnyLedger();
    Writer& writer = ledger.writers[chance_.Below(kWriters)];
    if (writer.pending.size() < 4) {
      auto pending = std::make_shared<Pending>();
      const std::string id = absl::StrCat(writer.name, "-", writer.next_request++);
      pending->request = RoundBatch(ledger.name, writer.name, id, writer.next_round++);
      for (uint64_t i = chance_.Below(3); i > 0; --i) AddNote(pending->request, "a note");
      model_.Asked(ledger.name, id, static_cast<uint64_t>(pending->request.entries_size()));
      writer.pending.push_back(std::move(pending));
    }
    SendPending(ledger, writer);
  }

  // What was not sent in this life, in order.
  void SendPending(SimulatedLedger& ledger, Writer& writer) {
    if (writer.line->broken()) {  // begin again with all that was refused
      writer.line = std::make_shared<AppendLine>();
      for (const auto& pending : writer.pending) pending->sent_in_life = 0;
    }
    const std::vector<std::shared_ptr<Pending>> all = writer.pending;
    for (const auto& pending : all) {
      if (pending->sent_in_life == outcome_.lives) continue;
      pending->sent_in_life = outcome_.lives;
      Note(absl::StrCat("send ", ledger.name, " ", pending->request.request_id()));
      store_->AppendAsync(pending->request, writer.line,
                          [this, &ledger, &writer, pending](absl::StatusOr<v1::Receipt> receipt) {
                            Answered(ledger, writer, *pending, receipt);
                          });
    }
  }

  void Answered(SimulatedLedger& ledger, Writer& writer, Pending& pending,
                const absl::StatusOr<v1::Receipt>& receipt) {
    const std::string id = pending.request.request_id();
    Note(absl::StrCat("answer ", ledger.name, " ", id, " ",
                      receipt.ok() ? receipt->ShortDebugString() : receipt.status().ToString()));
    const std::string reason = ReasonOf(receipt.status()).reason;
    if (receipt.ok()) {
      ++outcome_.acknowledged;
      Hold(model_.Acknowledged(ledger.name, id, *receipt));
      writer.answered.push_back(pending.request);
    } else if (reason == "LEDGER_SEALED") {
      Hold(model_.Refused(ledger.name, id));
    } else if (ForNow(receipt.status()) || reason == "EARLIER_BATCH_REFUSED" ||
               reason == "LEDGER_NOT_FOUND" || damaged_) {
      return;  // it will be sent again
    } else {
      return Broken(
          absl::StrCat(ledger.name, ": ", id, " is refused: ", receipt.status().ToString()));
    }
    std::erase_if(writer.pending,
                  [&](const auto& other) { return other->request.request_id() == id; });
  }

  // A request that was answered comes again, from a client that missed the answer; or another one
  // comes under its id.
  void Repeat() {
    SimulatedLedger& ledger = AnyLedger();
    Writer& writer = ledger.writers[chance_.Below(kWriters)];
    if (writer.answered.empty()) return;
    v1::AppendBatchRequest request = writer.answered[chance_.Below(writer.answered.size())];
    const std::string id = request.request_id();
    const bool other = chance_.OneIn(4);
    if (other) AddNote(request, "another one");
    store_->AppendAsync(std::move(request), [this, name = ledger.name, id,
                                             other](const absl::StatusOr<v1::Receipt>& receipt) {
      Note(absl::StrCat("again ", name, " ", id, " ", receipt.status().ToString()));
      if (ForNow(receipt.status()) || (damaged_ && !receipt.ok())) return;
      if (other) {
        if (ReasonOf(receipt.status()).reason != "REQUEST_ID_REUSED")
          Broken(absl::StrCat(name, ": ", id, " was taken for another request"));
      } else if (!receipt.ok()) {
        Broken(absl::StrCat(name, ": ", id,
                            " was acknowledged, and now: ", receipt.status().ToString()));
      } else {
        Hold(model_.Acknowledged(name, id, *receipt));
      }
    });
  }

  void Commit() { Note(absl::StrCat("commit ", store_->Step())); }

  // Not synced, and nothing of worth.
  void KeepHistory() {
    v1::StoredHistory history;
    history.set_version(1);
    history.set_size(chance_.Below(100));
    const absl::Status kept = store_->PutHistory(AnyLedger().name, history);
    Note(absl::StrCat("history ", kept.ToString()));
  }

  // ---- The evidence ----
  // When it is first wanted: most lives are short, and it verifies many signatures.
  void OpenNotary(size_t i) {
    if (notaries_[i] != nullptr) return;
    auto notary = Notary::Open(OptionsOf(i), *shared_);
    if (!notary.ok()) return DidNotStart("notary", notary.status());
    notaries_[i] = *std::move(notary);
  }

  void Sign(size_t i) {
    if (!signing_) {
      OpenNotary(i);
      if (store_ != nullptr && chance_.OneIn(2)) OpenNotary(1 - i);
    }
    if (store_ == nullptr || notaries_[i] == nullptr) return;
    const bool nested = std::exchange(signing_, true);
    const size_t outer = std::exchange(signer_, i);
    const absl::StatusOr<SigningRound> round = notaries_[i]->Sign();
    signer_ = outer;
    signing_ = nested;
    Note(absl::StrCat(
        "signer ", i, ": ",
        round.ok() ? absl::StrCat(round->ledgers, " ledgers") : round.status().ToString()));
    if (round.ok()) ++outcome_.rounds_signed;
    if (absl::IsDataLoss(round.status()) && damaged_) ++outcome_.refusals;
    if (!round.ok() && !absl::IsUnavailable(round.status()) && !absl::IsAborted(round.status()) &&
        !(damaged_ && absl::IsDataLoss(round.status()))) {
      Broken(absl::StrCat("signer ", i, ": ", round.status().ToString()));
    }
    Hold(model_.Witness(store_->checkpoints()));
  }

  void MoveClock() {
    const int64_t seconds[] = {1, 30, 59, 61, 3600, -61, -7200, 86400};
    const int64_t by = seconds[chance_.Below(8)];
    Note(absl::StrCat("clock ", by));
    clock_.Move(absl::Seconds(by));
  }

  void Arm() {
    const auto fault = static_cast<Fault>(chance_.Below(6));
    const uint64_t calls = chance_.OneIn(2) ? chance_.Below(4) : chance_.Below(60);
    Note(absl::StrCat("arm ", static_cast<int>(fault), " after ", calls));
    disk_.Arm(fault, calls);
  }

  // ---- The end ----
  // Nothing fails any more: everything that was asked is answered, and all of it is there.
  void Settle() {
    disk_.Disarm();
    interleaved_ = true;  // nothing more is asked
    ++outcome_.steps;
    // Of a line of four batches to a sealed ledger, each round refuses one.
    for (int round = 0; round < 8 && (round < 2 || AnyPending()) && Fine(); ++round) {
      Guarded([&] {
        FinishControls();
        for (SimulatedLedger& ledger : ledgers_) {
          for (Writer& writer : ledger.writers) SendPending(ledger, writer);
        }
        Commit();
        for (size_t i = 0; i < 2 && store_ != nullptr; ++i) {
          clock_.Move(absl::Minutes(2));  // leases run out
          Sign(i);
        }
      });
      if (round == 0 && Fine()) End(/*power_lost=*/true);
    }
    interleaved_ = false;
    if (!Fine()) return;
    if (store_ == nullptr) return Broken("the server does not start again");
    for (const SimulatedLedger& ledger : ledgers_) {
      for (const Writer& writer : ledger.writers) {
        if (!writer.pending.empty())
          Broken(absl::StrCat(ledger.name, ": ", writer.pending[0]->request.request_id(),
                              " is never answered"));
      }
    }
    Hold(model_.CheckLedgers(*store_, false));
    Hold(model_.Witness(store_->checkpoints()));
    Hold(model_.CheckRegistered());
  }

  bool AnyPending() const {
    for (const SimulatedLedger& ledger : ledgers_) {
      for (const Writer& writer : ledger.writers) {
        if (!writer.pending.empty()) return true;
      }
    }
    return false;
  }

  // What a disk must not do. It is refused, or clients and witnesses can tell.
  void Damage() {
    ++outcome_.faults;
    damaged_ = true;
    switch (chance_.Below(3)) {
      case 0:
        return LoseLog();
      case 1:
        Note(absl::StrCat("bit flipped in ", disk_.FlipBit().size(), " bytes of key"));
        break;
      default:
        Append();
        Commit();
        Note(absl::StrCat("changed a row of ",
                          disk_.ChangeRow(static_cast<char>(embedded::Table::kBatch)).size(),
                          " bytes of key"));
        break;
    }
    End(/*power_lost=*/false);
    for (int round = 0; round < 3 && Fine(); ++round) {
      Guarded([&] {
        Append();
        Repeat();
        Commit();
        clock_.Move(absl::Minutes(2));
        Sign(chance_.Below(2));
      });
    }
    if (!Fine()) return;
    Hold(model_.CheckRegistered());
  }

  // The newest file of the log is gone, with all that was acknowledged since it began. If some of
  // it was signed, the second place tells.
  void LoseLog() {
    const uint64_t signed_before = model_.witnessed();
    disk_.BeginLog();
    Guarded([&] {
      for (uint64_t i = 1 + chance_.Below(3); i > 0; --i) Append();
      Commit();
      if (chance_.OneIn(2)) Sign(0);
    });
    const bool lost_signed = model_.witnessed() > signed_before;
    End(/*power_lost=*/false);
    if (!disk_.LoseNewestLog()) return;
    Note(lost_signed ? "lost a log with signatures" : "lost a log");
    const TempFolder folder;
    second_place_ = folder.path() + "/checkpoint";
    if (!CheckpointFile(second_place_).Write(model_.note()).ok()) return Broken("no second place");
    auto store = embedded::OpenSteppedStore(disk_.Open(), clock_);
    if (!store.ok())
      return Broken(absl::StrCat("store does not start: ", store.status().ToString()));
    Lease lease;
    SharedStore shared(**store, lease, clock_, {.between = [] {}});
    const auto notary = Notary::Open(OptionsOf(0), shared);
    if (lost_signed && !absl::IsDataLoss(notary.status()))
      return Broken(absl::StrCat("lost signatures go unnoticed: ", notary.status().ToString()));
    if (!lost_signed && !notary.ok())
      return Broken(absl::StrCat("a store that lost nothing signed is refused: ",
                                 notary.status().ToString()));
    if (lost_signed) ++outcome_.refusals;
  }

  Chance chance_;
  const Flaws flaws_;
  const bool trace_;
  SimulatedDisk disk_;
  SimulatedClock clock_;
  Lease lease_;
  Model model_;
  Outcome outcome_;
  uint64_t trace_hash_ = 0xcbf29ce484222325;

  std::deque<SimulatedLedger> ledgers_;  // their places stay: answers refer to them
  std::vector<Control> controls_;

  bool same_holder_ = false;
  bool damaged_ = false;
  bool signing_ = false;
  bool interleaved_ = false;
  size_t signer_ = 0;
  merkle::Checkpoint cosigned_;
  std::map<uint64_t, merkle::Hash> shown_;  // to the witness that cosigns, by size
  std::string second_place_;

  // A life of the server.
  std::unique_ptr<embedded::SteppedStore> store_;
  std::unique_ptr<SharedStore> shared_;
  std::unique_ptr<Notary> notaries_[2];
};

}  // namespace

Outcome Simulate(uint64_t seed, const Flaws& flaws, bool trace) {
  return Simulation(seed, flaws, trace).Run();
}

}  // namespace dpledger::simulation
