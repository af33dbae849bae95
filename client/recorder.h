// Writes the rounds of one training run into a ledger, on a server or in a folder of this machine,
// so that no noise is released before its event is durable.
//
//   auto recorder = PrivacyRecorder::Open(options);
//   auto round = (*recorder)->RecordRound(scheme, queries);  // as each step begins
//   if ((*recorder)->AwaitReleasable(*round).ok()) release(noised_sum);
//   (*recorder)->Close();                                    // at the end of the run
//
// Invariants:
//  1. Each recorded round is one append request; it is in the spool's file before it is sent, so
//     that a killed process sends the same one again.
//  2. FAIL_CLOSED: what was released is in the ledger. SPOOL: it is in the ledger or synced in the
//     spool, and in the ledger after draining.
//  3. Each opening is an incarnation of the writer: an OPENED entry comes first, and the server
//     refuses what an earlier incarnation still sends. Round numbers grow over every restart.
//  4. Nothing that depends on the data is written; times are whole minutes.
//  5. Nothing is sent to a server that has lost or rewritten what it acknowledged here: DATA_LOSS,
//     and nothing more is recorded or released. Checked at Open and after every lost connection.
//  6. SPOOL: nothing is sent before it is synced, so that after a loss of power the spool knows
//     every round and entry of this writer that the server may hold, and goes on without asking it.
//     FAIL_CLOSED does not sync: after a loss of power Open asks the server, and what only the
//     spool knew was not acknowledged, so not released. What was sent and not acknowledged may be
//     in the ledger, which then says too much.
// Thread safe. A recorder that is destroyed without Close keeps what is not delivered in its spool
// for the next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "client/event_recorder.h"
#include "client/internal/delivery.h"
#include "client/internal/group_sync.h"
#include "client/run_state.h"
#include "client/spool.h"
#include "connection/log_keys.h"
#include "connection/server_access.h"
#include "connection/servers.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "grpcpp/channel.h"

namespace dpledger::client {

// What has no word here is as dpledger::RecorderOptions says (include/dpledger/client.h).
struct RecorderOptions {
  connection::ServerAccess server;
  // Instead of the way to `server`, which is not looked at then: to ledgers in a folder
  // (local/local_ledgers.h). Called once by Open, before the spool is looked at; its error ends
  // Open.
  std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()> connect;
  std::string ledger;
  std::string writer = "trainer";
  v1::Declaration declaration;  // its spool_policy is set from `policy`
  bool plan_varies = false;
  // What this recorder keeps for the next process and has from the one before; null: nothing.
  std::shared_ptr<RunState> state;
  // Without one: called once by Open, before the opening entry is written. True if the sampler goes
  // on in the middle of its last epoch, with the very same partition. Otherwise the first sample of
  // an epoch scheme is of a new epoch. Its error ends Open.
  std::function<absl::StatusOr<bool>(const RunPosition&)> carries_epochs;
  bool automatic_grants = false, new_dataset = false;
  v1::SpoolPolicy policy = v1::FAIL_CLOSED;
  std::string spool_folder;
  uint64_t spool_bound_bytes = 256 << 20;

  absl::Duration open_timeout = absl::Seconds(30), release_timeout = absl::Minutes(5),
                 full_spool_timeout = absl::Minutes(5), close_timeout = absl::Minutes(1);
  // From here on 1 ms or more.
  absl::Duration first_backoff = absl::Milliseconds(100), longest_backoff = absl::Seconds(5),
                 stall_timeout = absl::Seconds(20);
  Clock* clock = Clock::System();
};

class PrivacyRecorder : public EventRecorder {
 public:
  struct DrainStatus {
    uint64_t undelivered_batches = 0;
    // Why the server was lost or what it refused; OK after an acknowledgement.
    absl::Status last_error;
  };

  // Opens the spool and the ledger, delivers what an earlier process left. OPENED is appended with
  // what is recorded first, or before a grant; under SPOOL, and where epochs are carried on, at
  // once.
  // INVALID_ARGUMENT for a bad option; FAILED_PRECONDITION if the ledger has another declaration or
  // is sealed, if the writer has closed, or if another process holds the spool; DATA_LOSS if spool
  // or server lost what they had; UNAVAILABLE or DEADLINE_EXCEEDED if the server cannot be reached
  // in time. Under SPOOL an unreachable server is no error once this spool has seen the ledger with
  // this declaration.
  static absl::StatusOr<std::unique_ptr<PrivacyRecorder>> Open(RecorderOptions options);
  ~PrivacyRecorder() override;

  // OK means that the event is in the spool's file, and on its way. Waits for neither the disk's
  // sync nor the network; in a full spool, for room. INVALID_ARGUMENT names the bad field;
  // RESOURCE_EXHAUSTED when the spool stays full; FAILED_PRECONDITION after Close, when another
  // recorder writes under this writer's name, and for a first round that does not carry on the run
  // (OTHER_CONFIGURATION); any refusal of the server; the disk's error.
  using EventRecorder::RecordRound;
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme& scheme, v1::SampleSource source,
                                       std::vector<v1::SumQuery> queries) override;
  absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) override;

  // As dpledger::Recorder does, of `rounds` and `mechanism` events. Waits for the server, until the
  // open timeout.
  absl::Status RequestGrant(const std::vector<v1::Event>& plan);

  // FAILED_PRECONDITION if `number` was not recorded here, or (FAIL_CLOSED, reason FILTER_CROSSED)
  // if it, or one before it that nobody awaited, would have crossed the ledger's filter: that one
  // is not in the ledger, and others may still be recorded; any refusal of the server; SPOOL: the
  // disk's error. DEADLINE_EXCEEDED when the server did not acknowledge it (SPOOL: the disk not
  // sync it) in time; it may be awaited again.
  absl::Status AwaitReleasable(uint64_t number) override;

  // Waits until the server has all that was recorded before, whatever the policy: what is asked of
  // it then covers this recorder's own rounds. DEADLINE_EXCEEDED after release_timeout, saying how
  // many batches are missing; any refusal of the server.
  absl::Status AwaitDelivered();

  // Appends WRITER_CLOSED with the number of entries and waits until everything is delivered. After
  // an error it may be called again; after OK this writer's part of the ledger is complete, and it
  // can never be opened again. Of a writer without an entry there is nothing to close; one that an
  // earlier process, or another recorder, has written is closed though nothing was recorded here.
  absl::Status Close();
  // Close, and the end of the ledger itself. FAILED_PRECONDITION while another writer has not
  // closed.
  absl::Status Seal();

  DrainStatus drain_status() const;
  const std::string& ledger() const { return options_.ledger; }  // full name
  const std::string& writer() const { return options_.writer; }
  // For questions about the ledger.
  connection::Servers& servers() const { return *servers_; }
  // The token of this opening, and of the one that the spool carries on (empty: none).
  const std::string& incarnation() const { return incarnation_; }
  const std::string& previous_incarnation() const { return previous_incarnation_; }
  // The last epoch of the incarnation before, with as many rounds as spool or ledger have, if it is
  // carried on: EpochSamplerOptions::recorded.
  const std::optional<EpochPosition>& carried_epoch() const { return kept_.epoch; }
  KeptRun* kept() override { return kept_.state != nullptr ? &kept_ : nullptr; }

 private:
  explicit PrivacyRecorder(RecorderOptions options);

  absl::Status Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Once: the first entry of this opening.
  absl::Status AppendOpened() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The ledger, made if there is none and `may_make`, else NOT_FOUND. Of its writers, who may be
  // many, it holds this one, if the ledger has it. FAILED_PRECONDITION if it exists with another
  // declaration (the message says what differs) or is sealed.
  absl::StatusOr<v1::Ledger> OpenLedger(bool may_make, absl::Time deadline);
  // Delivers what an earlier process left, and brings spool and ledger to one state.
  absl::Status Reconcile(absl::Time deadline);
  absl::Status AppendBatch(std::vector<v1::NewEntry> entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // INVALID_ARGUMENT naming what is wrong with the event; FAILED_PRECONDITION if its adjacency can
  // never answer for it.
  absl::Status CheckEvent(const v1::Event& event) const;
  // Makes a call that may be made twice, each time for so long, until a server answers it, the
  // deadline, or until this is destroyed.
  using Stub = v1::LedgerService::Stub;
  static constexpr absl::Duration kOneChange = absl::Seconds(5);
  absl::Status Change(absl::Time deadline, absl::Duration each,
                      absl::FunctionRef<absl::Status(Stub&, absl::Time until)> call);
  absl::Status Grant(v1::GrantChange change, const std::vector<v1::Event>& plan,
                     absl::Time deadline);
  // What automatic grants left unspent, once the writer has closed. While others write it is
  // refused; what stays granted here is given back when the ledger is sealed.
  void GiveBackRest(absl::Time deadline);
  // Asks for a sixteenth more of rounds, or events, like the refused batch: a run of T rounds asks
  // O(log T) times. Where that does not fit, for less, down to one more.
  absl::Status RaiseGrant(const v1::AppendBatchRequest& refused);
  // Calls `append`, which leaves mutex_ free, until the spool has room for what it appends.
  absl::Status WaitForRoom(absl::Duration timeout, absl::FunctionRef<absl::Status()> append);
  // Appends the events of the next number, which a ledger must take after those before.
  absl::StatusOr<uint64_t> AppendNumbered(
      absl::FunctionRef<std::vector<v1::Event>(uint64_t number)> events);
  // SPOOL goes on without a server that has seen the ledger before, FAIL_CLOSED does not.
  bool MayGoOnAfter(const absl::Status& error) const;
  // OK while rounds can be recorded.
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RecorderOptions options_;
  connection::LogKeys log_keys_;
  // Set by Open, and not changed afterwards (kept_: until OPENED is appended).
  std::string incarnation_, previous_incarnation_;
  KeptRun kept_;
  v1::EpochProgress known_epoch_;  // of the server, when it was asked
  uint64_t entries_before_ = 0;    // of the writer, as the spool counts them, before this opening
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<connection::Servers> servers_;
  std::atomic<bool> stopping_ = false;  // a thread of delivery_ reads it
  std::unique_ptr<internal::Delivery> delivery_;
  std::unique_ptr<internal::GroupSync> sync_;  // SPOOL only

  mutable absl::Mutex mutex_;
  // The last round of an earlier process, until the first one here was seen to carry it on.
  std::optional<v1::AppendBatchRequest> resumed_from_ ABSL_GUARDED_BY(mutex_);
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // without an entry that could say so
  // Numbers what is recorded, one batch each. The first number of this process and its batch.
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_position_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::client
