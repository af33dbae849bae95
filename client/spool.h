// What a writer has written and the server has not acknowledged, kept on the trainer's disk: whole
// append requests with their request ids, in order, so that a trainer that is killed sends the very
// same requests again.
//
// Invariants:
//  1. A batch survives the process when Append returns OK, and the machine when a later Sync does.
//     It stays until it is acknowledged.
//  2. Batches keep their boundaries, order and request ids over any number of restarts.
//  3. A tail that a crash tore is cut at Open; no Sync had returned OK for it, or none was needed
//     (Options::synced). Any other damage is DATA_LOSS.
//  4. One process at a time: the folder holds a lock file for each spool.
//  5. After an error from the disk nothing more is accepted until the spool is opened again.
// Positions count the batches of the spool's whole life, from 0. Format: docs/formats.md,
// section 4. Thread safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/internal/spool_format.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::client {

class Spool {
 public:
  struct Options {
    std::string folder;  // made if missing
    std::string ledger;  // full name
    std::string writer;
    uint64_t bound_bytes = 256 << 20;  // the file never grows beyond this
    // False: its user does not call Sync, and needs nothing of it after a loss of power, which may
    // then leave holes in it: the tail from the first of them is cut.
    bool synced = true;
  };

  struct State : internal::SpoolTotals {
    uint64_t acknowledged = 0;          // position of the first batch that is not acknowledged
    uint64_t end = 0;                   // position after the last batch
    uint64_t acknowledged_entries = 0;  // of all that were written
    // What the rules of writers (events/writer_rules.h) make of all its batches: its incarnation,
    // last round and epoch are this spool's.
    v1::WriterStatus status;
  };

  // Opens or makes the spool of (ledger, writer). INVALID_ARGUMENT; FAILED_PRECONDITION if another
  // process has it, or a later version wrote it; DATA_LOSS with file and offset if its content is
  // damaged.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Writes `batch`; returns its position. INVALID_ARGUMENT if it is not of this ledger and writer;
  // RESOURCE_EXHAUSTED if the file would pass its bound, with the reason SPOOL_FULL if it has room
  // once more is acknowledged: these leave the spool as it was. Otherwise the disk's error, which
  // is final.
  absl::StatusOr<uint64_t> Append(const v1::AppendBatchRequest& batch);

  // Makes every batch that was appended before durable. Others may use the spool meanwhile. The
  // disk's error, which is final.
  absl::Status Sync();

  // The batch at `position`. OUT_OF_RANGE unless acknowledged <= position < end.
  absl::StatusOr<v1::AppendBatchRequest> Read(uint64_t position);

  // The batch of the last round that was ever appended, as long as the file is not lost; without
  // entries if there was none.
  v1::AppendBatchRequest LastRound() const;

  // Every batch before `position` is durable on the server, which gave this receipt. Not synced:
  // what a crash forgets is sent again, which changes nothing, and an older receipt is still true.
  // DATA_LOSS if the receipt is of another tree than the kept one of the same size.
  absl::Status Acknowledge(uint64_t position, const internal::AcknowledgedTree& receipt = {});

  // The ledger exists on the server with the wanted declaration, where this writer has `entries`
  // entries and rounds below `next_round`; raises the spool's own numbers to these, durably.
  // FAILED_PRECONDITION while a batch is not acknowledged.
  absl::Status Confirm(uint64_t entries, uint64_t next_round);

  State state() const;
  const std::string& path() const { return path_; }

 private:
  struct Pending {
    uint64_t offset;  // of the payload in the file
    uint32_t size;
    uint32_t entries;
    bool has_round;
  };

  Spool(Options options, std::string path, int lock_fd);

  // Room for a record of `size` bytes, or RESOURCE_EXHAUSTED.
  absl::Status MakeRoom(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the file, or makes it.
  absl::Status Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadRecord(const internal::Record& record, size_t offset)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddPending(const v1::AppendBatchRequest& batch, uint64_t offset, std::string payload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LastRoundIsAcknowledged() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the file: what a new one would not hold.
  uint64_t ClearedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropPending(uint64_t position) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a new file with the header and what is pending, and puts it in the old one's place.
  absl::Status Rewrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Reopen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a batch makes of the writer's status.
  void TakeStatus(const v1::AppendBatchRequest& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(std::string_view record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::string> ReadBytes(uint64_t offset, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Fail(absl::Status error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::string path_;
  const int lock_fd_;
  const pid_t process_;  // that holds the lock
  mutable absl::Mutex mutex_;
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;
  uint64_t size_ ABSL_GUARDED_BY(mutex_) = 0;  // of the file
  internal::Digest chain_ ABSL_GUARDED_BY(mutex_) = {};
  State state_ ABSL_GUARDED_BY(mutex_);
  uint64_t status_position_ ABSL_GUARDED_BY(mutex_) = 0;  // batches before it are in state_.status
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of their records
  std::string last_round_ ABSL_GUARDED_BY(mutex_);      // a serialised batch
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);        // the disk's first error
};

}  // namespace dpledger::client
