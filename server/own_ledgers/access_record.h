// Who used the server for what: a ledger for each month, projects/access-record/ledgers/YYYY-MM,
// whose notes are messages of access.proto as JSON. It is stored, signed and exported like every
// other ledger; only the server writes to it.
//
//  1. Administration is recorded before it is done, and is not done if it cannot be recorded.
//  2. Refusals are recorded one by one, within a second. Those of one caller beyond 60 in a minute
//     are a count of that caller's, and so are those of all whom nobody knows together.
//  3. Reads that were served are added up by caller, permission and resource, and recorded when
//     their minute is over. What one caller's notes take is bounded, those of entries apart; its
//     reads beyond that are one count of that caller's.
//  4. What the store has not taken waits for it, up to a bound in which the caller with the most
//     notes gives way; how many of whose were lost is recorded and logged.
//  5. So no caller can hide what another one does, and what it adds in a minute is bounded.
// What is waiting when a process is killed is lost: at most a minute of reads and a second of
// refusals.
//
// Each start of a server is a writer of its own, so that several servers share a ledger.
//
// Thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rare_log.h"
#include "dpledger/v1/access.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"

namespace dpledger::server {

class AccessRecord {
 public:
  // `store`, `clock` and `log` must outlive the object.
  AccessRecord(LedgerStore* store, Clock* clock, const Log* log);
  // Records what waits.
  ~AccessRecord();
  AccessRecord(const AccessRecord&) = delete;
  AccessRecord& operator=(const AccessRecord&) = delete;

  // Once a second from now on: records what waits.
  void Start();
  // Once, after the last call: records what waits, and closes the writer.
  void Stop();

  // Do not wait.
  // `entries`: how many of the resource's were handed out.
  void Reads(const std::string& caller, std::string_view permission, const std::string& resource,
             uint64_t entries);
  // Without `identified`, `caller` is whom a token was made for that has ended: the note names
  // them, and counts among those of nobody, so that whoever holds it hides nothing of them.
  void Refused(const std::string& caller, bool identified, const std::string& peer,
               v1::Access::Refused refused);

  // Waits until it is stored. UNAVAILABLE (ACCESS_NOT_RECORDED): it must not be done.
  absl::Status Administers(const std::string& caller, const std::string& peer,
                           const std::string& method, const std::string& about);

  // Records what is due. Public for tests; one thread at a time, and not after Start.
  absl::Status Flush();

 private:
  struct Read {
    uint64_t count = 0;
    uint64_t entries = 0;
  };
  // What one caller, or all whom nobody knows (""), did in this minute.
  struct Minute {
    std::map<std::pair<std::string, std::string>, Read> reads;  // by permission and resource
    size_t entry_bytes = 0, other_bytes = 0;  // of notes of reads of entries, and of others
    uint64_t refused = 0;
  };

  Minute& MinuteOf(const std::string& caller) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::Access New(const std::string& caller, const std::string& peer, absl::Time time) const;
  // The minute that is over, or all.
  void CollectMinute(bool all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False if too much waits, and most of it is the same caller's (`share`): it is counted as lost.
  bool Add(const v1::Access& access, const std::string& share)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the last note of the caller that has the most, which it counts as lost.
  void DropOfHeaviest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddWhatWasLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(std::vector<std::string> notes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  // This month's ledger, with this start's writer in it.
  absl::Status Open(const std::string& ledger) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status CloseWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status WriteWaiting(bool all);
  void Run();

  LedgerStore& store_;
  Clock& clock_;
  RareLog failed_;
  const std::string writer_;

  absl::Mutex mutex_;
  absl::Time minute_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::map<std::string, Minute> callers_ ABSL_GUARDED_BY(mutex_);  // in that minute
  struct Waiting {
    std::string caller;
    std::string note;
  };
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> waiting_of_ ABSL_GUARDED_BY(mutex_);  // how many, by caller
  std::map<std::string, uint64_t> lost_ ABSL_GUARDED_BY(mutex_);      // the same, beyond the bound
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  absl::Mutex writing_;  // before mutex_ where both are held
  std::string ledger_ ABSL_GUARDED_BY(writing_);
  uint64_t written_ ABSL_GUARDED_BY(writing_) = 0;  // entries of the writer in it
  uint64_t requests_ ABSL_GUARDED_BY(writing_) = 0;
  std::optional<v1::AppendBatchRequest> unanswered_ ABSL_GUARDED_BY(writing_);
  std::thread thread_;
};

}  // namespace dpledger::server
