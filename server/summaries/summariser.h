// Keeps the summaries of all ledgers up to date, in the background: computes those that are missing
// or old, by the same code that answers callers, and stores them.
//
//  1. A stored summary is taken only if it is authentic and fits its ledger; any other one is
//  dropped,
//     said in the log, and made anew from the entries.
//  2. It yields: its thread has a low priority, and while this server appends it takes at most a
//  few
//     percent of one processor.
//     A run whose late events may have overspent its budget goes before all others, without a rest.
//  3. A ledger is asked about once it has been quiet, or has waited, for a moment: one that grows
//  all
//     the time costs a share of its own questions.
// Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ledger_store/store.h"
#include "merkle/authenticator.h"
#include "server/log.h"
#include "server/summaries/ledger_index.h"
#include "server/summaries/summarise.h"

namespace dpledger::server {

class Summariser {
 public:
  // `delta`: of every summary. `on` false: none are computed. `last_group`: when this server last
  // made something durable. `key` is for kSummaryPurpose; null: nothing is read or stored. The
  // others must outlive the object; `log` may be null.
  Summariser(double delta, bool on, LedgerStore* store, LedgerIndex* index, AskEpsilon ask,
             std::function<absl::Time()> last_group,
             std::shared_ptr<const merkle::Authenticator> key, const Log* log);
  ~Summariser() { Stop(); }

  void Start();
  void Stop();

  double delta() const { return delta_; }
  bool on() const { return on_; }
  // Stop was called: a question under way may be given up.
  bool stopping();

  // Reads all stored summaries into the index, which has the ledgers, and notes what to compute.
  absl::Status Load();
  // These ledgers were made or went on.
  void OnChanged(const std::vector<std::string>& ledgers);
  // What a caller was answered. Does not wait.
  void OnAnswer(const v1::ComputeEpsilonRequest& request,
                const v1::ComputeEpsilonResponse& response);

 private:
  // What is known of a ledger that waits.
  struct Waiting {
    absl::Time due;
    // A caller's answer that covers it perhaps; null: it is to be computed.
    std::shared_ptr<const v1::ComputeEpsilonResponse> answer;
  };
  using Due = std::pair<std::string, std::shared_ptr<const v1::ComputeEpsilonResponse>>;

  void Run();
  void Note(const std::string& ledger, absl::Time due,
            std::shared_ptr<const v1::ComputeEpsilonResponse> answer = nullptr);
  // Of a run under a budget, in which events came late that its summary does not have: until it is
  // counted nobody knows whether the budget is overspent.
  bool IsUrgent(const std::string& ledger) const;
  std::vector<std::string> TakeUrgent();
  // What is due, at most one group of it, once something is.
  std::vector<Due> TakeDue();
  // Into the index and `rows`.
  void Compute(const Due& due, std::vector<SummaryRow>& rows);
  // What another server on the same database has computed already.
  void TakeStored(const std::vector<Due>& due);
  void TakeRow(const SummaryRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(taking_);
  void LogDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(taking_);
  // Pauses for what was just used.
  void Yield(absl::Duration used);

  const double delta_;
  const bool on_;
  LedgerStore& store_;
  LedgerIndex& index_;
  const AskEpsilon ask_;
  const std::function<absl::Time()> last_group_;
  const std::shared_ptr<const merkle::Authenticator> key_;
  const Log* const log_;
  bool complained_ = false;  // that rows cannot be written; the thread's own

  absl::Mutex taking_;  // held while stored rows are taken
  uint64_t dropped_ ABSL_GUARDED_BY(taking_) = 0;
  std::string first_dropped_ ABSL_GUARDED_BY(taking_);

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, std::string>> by_due_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> urgent_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace dpledger::server
