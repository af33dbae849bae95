#include "tests/simulation/clients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tests/ledger_store/requests.h"
#include "tests/simulation/scarce_memory.h"

namespace dpledger::simulation {
namespace {

constexpr uint64_t kWriters = 3;

}  // namespace

LedgerStore* Clients::AnyServer() {
  LedgerStore* const store = servers_[chance_.Below(servers_.size())];
  if (store != nullptr) return store;
  const auto runs = std::find_if(servers_.begin(), servers_.end(),
                                 [](const LedgerStore* other) { return other != nullptr; });
  return runs == servers_.end() ? nullptr : *runs;
}

void Clients::Connect(size_t server, LedgerStore* store) {
  servers_[server] = store;
  for (SimulatedLedger& ledger : ledgers_) {
    for (Writer& writer : ledger.writers) {
      if (writer.server != server) continue;
      if (store == nullptr && servers_.size() > 1) writer.server = chance_.Below(servers_.size());
      BeginAgain(writer);
    }
  }
}

void Clients::BeginAgain(Writer& writer) {
  writer.line = std::make_shared<AppendLine>();
  for (const auto& pending : writer.pending) pending->sent = false;
}

void Clients::AddLedger() {
  if (ledgers_.size() == kMaxLedgers) return;
  SimulatedLedger& ledger = ledgers_.emplace_back();
  ledger.name = absl::StrCat("projects/p/ledgers/", ledgers_.size());
  for (uint64_t i = 0; i < kWriters; ++i) {
    ledger.writers.push_back({.name = absl::StrCat("w", i),
                              .server = chance_.Below(servers_.size()),
                              .line = std::make_shared<AppendLine>()});
  }
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
      return Made(request.name(), store.Fork(request, point, CallerOf("")).status());
    });
  } else {
    controls_.push_back([this, name](LedgerStore& store) {
      return Made(name, store.Create(CreateRequest(name), CallerOf("")).status());
    });
  }
}

absl::Status Clients::Made(const std::string& name, const absl::Status& status) {
  const PlentyOfMemory plenty;
  if (status.ok()) model_.Created(name);
  return status;
}

void Clients::SealOne() {
  SimulatedLedger& ledger = AnyLedger();
  if (ledger.sealed || ledgers_.size() < kMaxLedgers) return;
  ledger.sealed = true;
  v1::SealLedgerRequest request = SealRequest(ledger.name);
  model_.Asked(ledger.name, "seal", 1);
  for (const Writer& writer : ledger.writers) {
    if (writer.next_request > 0) request.add_missing_writers(writer.name);
  }
  controls_.push_back([request](LedgerStore& store) {
    const absl::Status status = store.Seal(request, CallerOf("")).status();
    // Writers named missing that have written nothing.
    return absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
  });
}

// One after the other, as each may need the one before.
void Clients::FinishControls() {
  while (!controls_.empty()) {
    LedgerStore* const store = AnyServer();
    if (store == nullptr) return;
    const absl::Status status = CallAndRunShort([&] { return controls_.front()(*store); });
    trace_.Note(absl::StrCat("control: ", status.ToString()));
    if (ForNow(status)) return;
    if (!status.ok() && !damaged_ && ReasonOf(status).reason != "WRITERS_OPEN")
      trace_.Broken(absl::StrCat("a ledger is not made or sealed: ", status.ToString()));
    controls_.erase(controls_.begin());
  }
}

void Clients::Append() {
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

// What was not sent to this life of the server, in order.
void Clients::SendPending(SimulatedLedger& ledger, Writer& writer) {
  LedgerStore* const store = servers_[writer.server];
  if (store == nullptr) return;
  if (writer.line->broken()) BeginAgain(writer);  // with all that was refused
  const std::vector<std::shared_ptr<Pending>> all = writer.pending;
  for (const auto& pending : all) {
    if (pending->sent) continue;
    pending->sent = true;
    trace_.Note(absl::StrCat("send ", ledger.name, " ", pending->request.request_id()));
    LedgerStore::AppendCallback done = [this, &ledger, &writer,
                                        pending](const absl::StatusOr<v1::Receipt>& receipt) {
      const PlentyOfMemory plenty;
      Answered(ledger, writer, *pending, receipt);
    };
    v1::AppendBatchRequest request = pending->request;
    const ScarceMemory scarce;
    store->AppendAsync(std::move(request), CallerOf(writer.name), writer.line, std::move(done));
  }
}

void Clients::Answered(SimulatedLedger& ledger, Writer& writer, Pending& pending,
                       const absl::StatusOr<v1::Receipt>& receipt) {
  const std::string id = pending.request.request_id();
  trace_.Note(
      absl::StrCat("answer ", ledger.name, " ", id, " ",
                   receipt.ok() ? receipt->ShortDebugString() : receipt.status().ToString()));
  const std::string reason = ReasonOf(receipt.status()).reason;
  if (receipt.ok()) {
    ++trace_.outcome.acknowledged;
    trace_.Hold(model_.Acknowledged(ledger.name, id, *receipt));
    writer.answered.push_back(pending.request);
  } else if (reason == "LEDGER_SEALED") {
    trace_.Hold(model_.Refused(ledger.name, id));
  } else if (ForNow(receipt.status()) || reason == "EARLIER_BATCH_REFUSED" ||
             reason == "LEDGER_NOT_FOUND" || damaged_) {
    return;  // it will be sent again
  } else {
    return trace_.Broken(
        absl::StrCat(ledger.name, ": ", id, " is refused: ", receipt.status().ToString()));
  }
  std::erase_if(writer.pending,
                [&](const auto& other) { return other->request.request_id() == id; });
}

// A request that was answered comes again, from a client that missed the answer; or another one
// comes under its id; or it comes from somebody else.
void Clients::Repeat() {
  SimulatedLedger& ledger = AnyLedger();
  Writer& writer = ledger.writers[chance_.Below(kWriters)];
  LedgerStore* const store = AnyServer();
  if (writer.answered.empty() || store == nullptr) return;
  v1::AppendBatchRequest request = writer.answered[chance_.Below(writer.answered.size())];
  const std::string id = request.request_id();
  const bool other = chance_.OneIn(4);
  const bool stranger = other && request.entries_size() % 2 == 0;
  if (other && !stranger) AddNote(request, "another one");
  const char* const refusal = stranger ? "WRITER_OF_ANOTHER_CALLER" : "REQUEST_ID_REUSED";
  LedgerStore::AppendCallback done = [this, name = ledger.name, id, other,
                                      refusal](const absl::StatusOr<v1::Receipt>& receipt) {
    const PlentyOfMemory plenty;
    trace_.Note(absl::StrCat("again ", name, " ", id, " ", receipt.status().ToString()));
    if (ForNow(receipt.status()) || (damaged_ && !receipt.ok())) return;
    if (other) {
      if (ReasonOf(receipt.status()).reason != refusal)
        trace_.Broken(absl::StrCat(name, ": ", id, " was taken for another request"));
    } else if (!receipt.ok()) {
      trace_.Broken(absl::StrCat(name, ": ", id,
                                 " was acknowledged, and now: ", receipt.status().ToString()));
    } else {
      trace_.Hold(model_.Acknowledged(name, id, *receipt));
    }
  };
  const ScarceMemory scarce;
  store->AppendAsync(std::move(request), stranger ? "token:stranger" : CallerOf(writer.name),
                     nullptr, std::move(done));
}

// Not synced, and nothing of worth.
void Clients::KeepHistory() {
  LedgerStore* const store = AnyServer();
  if (store == nullptr) return;
  v1::StoredHistory history;
  history.set_version(1);
  history.set_size(chance_.Below(100));
  const std::string name = AnyLedger().name;
  const absl::Status kept = CallAndRunShort([&] { return store->PutHistory(name, history); });
  trace_.Note(absl::StrCat("history ", kept.ToString()));
}

void Clients::SendAll() {
  for (SimulatedLedger& ledger : ledgers_) {
    for (Writer& writer : ledger.writers) SendPending(ledger, writer);
  }
}

bool Clients::AnyPending() const { return !CheckAnswered().ok(); }

absl::Status Clients::CheckAnswered() const {
  for (const SimulatedLedger& ledger : ledgers_) {
    for (const Writer& writer : ledger.writers) {
      if (!writer.pending.empty()) {
        return absl::InternalError(absl::StrCat(
            ledger.name, ": ", writer.pending[0]->request.request_id(), " is never answered"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace dpledger::simulation
