// Carries a spool's batches to the server: one thread, one Append stream at a time,
// acknowledgements cumulative and in order. After a lost stream it waits (backoff) and goes on, at
// the next server if there are several, with the first batch that is not acknowledged. Before each
// stream it checks that the server still holds what it acknowledged (receipts.h).
//
// Invariants:
//  1. Batches are sent in the spool's order; what is acknowledged only grows, by the server's word.
//  2. A refusal for good (a bad event, a sealed ledger, a history that was lost or rewritten,
//     another recorder of this writer's name, ...) ends the delivery; every later Await returns it.
//  3. The spool hears of acknowledgements late, but before its room is needed and before this ends.
//  4. Nothing is sent to a server that was not checked on this side of its last lost stream.
//  5. Where nothing is released that was not acknowledged (Options::withdraws), a batch that would
//     cross the ledger's filter is no refusal for good: notes go out in the place of its events, so
//     that the writer can go on or close. AwaitReleasable says so.
// Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/internal/receipts.h"
#include "client/spool.h"
#include "connection/log_keys.h"
#include "connection/servers.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::client::internal {

class Delivery {
 public:
  struct Options {
    absl::Duration first_backoff;
    absl::Duration longest_backoff;
    // A stream without an acknowledgement for so long, while something waits for one, is given up
    // for one over a new connection, to the next server if there are several.
    absl::Duration stall_timeout;
    connection::LogKeys log_keys;  // that acknowledgements must be signed by; none: any will do
    bool withdraws = false;
    // Makes room for a batch that costs more than the ledger was granted of its budget, which is
    // sent again if it did; may be empty. Called by the thread that delivers.
    std::function<absl::Status(const v1::AppendBatchRequest& refused)> raise = nullptr;
  };

  struct Progress {
    uint64_t acknowledged = 0;  // batches before this position are durable on the server
    absl::Status last_error;    // why the last stream ended, until the next acknowledgement
  };

  // Starts to deliver what the spool holds to the ledger `ledger`. `spool` and `servers` outlive
  // this; `last_error` is how a server answered so far.
  Delivery(Spool* spool, connection::Servers* servers, const std::string& ledger,
           const Options& options, absl::Status last_error);
  // Stops without waiting for acknowledgements.
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // The spool holds batches up to `end` now.
  void Offer(uint64_t end);

  // Waits until the server was checked, and every batch before `end` is acknowledged. The refusal,
  // if there was one; DEADLINE_EXCEEDED with the last error of the connection.
  absl::Status Await(uint64_t end, absl::Time deadline);

  // Waits until more than `batches` are acknowledged, and the spool knows it. The refusal, if there
  // was one; DEADLINE_EXCEEDED with the last error of the connection.
  absl::Status AwaitDrain(uint64_t batches, absl::Time deadline);

  // The refusal, or OK.
  absl::Status Refusal() const;
  // Await for batches that are released together once the last of them may be. FILTER_CROSSED if
  // notes stand in the place of one of them: that are all in [first, end) which this has not been
  // asked about yet, and for ever the same for the same `end`.
  absl::Status AwaitReleasable(uint64_t first, uint64_t end, absl::Time deadline);
  Progress progress() const;
  // The largest that the server gave, here or to the spool.
  AcknowledgedTree receipt() const;

 private:
  class Stream;

  void Run();
  // What comes of a batch that was refused with that error, once more was asked for. OK: it is to
  // be sent again.
  absl::Status Raise(const absl::Status& refusal);
  // Checks the server and, if something waits to be sent, runs a stream: sends and takes
  // acknowledgements until it breaks, and says why it did. OK only if nothing waits.
  absl::Status CheckAndSend(const std::shared_ptr<grpc::Channel>& channel);
  // The next thing to do for `stream`; false when it is to be ended.
  bool Step(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // These let go of the mutex meanwhile.
  absl::Status SendNext(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the batch that the server refused with this status is taken back now.
  bool Withdraw(const absl::Status& refusal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // DEADLINE_EXCEEDED: "server: <what>; last error: ...".
  absl::Status Late(const std::string& what) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Acknowledgements came that the spool should hear of now.
  bool ShouldRecord() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordAcknowledgements() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Spool* const spool_;
  connection::Servers* const servers_;
  const std::string ledger_;
  const Options options_;
  ReceiptCheck check_;

  mutable absl::Mutex mutex_;
  absl::CondVar work_;      // for thread_: there is something to do
  absl::CondVar progress_;  // for those that wait: checked, acknowledged, recorded, refused
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t end_ ABSL_GUARDED_BY(mutex_);
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_);
  uint64_t recorded_ ABSL_GUARDED_BY(mutex_);  // of these, what the spool knows to be acknowledged
  int draining_ ABSL_GUARDED_BY(mutex_) = 0;   // how many wait for the spool to know
  AcknowledgedTree receipt_ ABSL_GUARDED_BY(mutex_);
  bool checked_ ABSL_GUARDED_BY(mutex_) = false;  // the server, at least once
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  struct Withdrawal {
    absl::Status why;
    uint64_t told = 0;  // the first `end` for which AwaitReleasable said it; 0: none yet
  };
  std::map<uint64_t, Withdrawal> withdrawn_ ABSL_GUARDED_BY(mutex_);  // by position

  uint64_t asked_for_ =
      0;  // one beyond the batch for which more was asked in vain; the thread's own
  std::thread thread_;
};

}  // namespace dpledger::client::internal
