// ε of all ledgers of a data set together, for lists: computed in the background, by the same code
// that answers callers, and remembered for the very set of ledgers that its caller may see.
//
//  1. Whoever sees fewer of a data set's ledgers gets the total of these, and cannot tell it from
//  one
//     of all.
//  2. Remembers at most kMostTotals.
// Thread safe.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/summary.pb.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

inline constexpr size_t kMostTotals = 4096;
// About a second's work: longer queues are those after a start, which no caller waits for.
inline constexpr size_t kMostAwaited = 10'000;
// Why there is no ε yet.
inline constexpr char kUnderWay[] = "UNDER_WAY";

class DatasetTotals {
 public:
  // ε of these ledgers together; gives up once `cancelled`.
  using Ask = std::function<absl::StatusOr<v1::ComputeEpsilonResponse>(
      const std::vector<std::string>& ledgers, double delta, std::function<bool()> cancelled)>;

  DatasetTotals(double delta, Ask ask) : delta_(delta), ask_(std::move(ask)) {}
  ~DatasetTotals() { Stop(); }
  void Stop();

  // Sets δ and ε, or why there is none, of each data set: of the ledgers at its place in `sets`,
  // none of which is empty. Waits until `deadline` for what is not known, unless kMostAwaited
  // ledgers are to be asked about before; without it, a total of fewer entries is better than none.
  void Fill(const std::vector<LedgerRows>& sets, absl::Time deadline,
            std::vector<v1::DatasetSummary>& into);

 private:
  struct Total {
    std::string key;             // of the set's ledgers
    std::string state;           // of their sizes: what `summary` is of; empty: nothing is known
    v1::DatasetSummary summary;  // δ, ε, its regime and refusal alone
    std::string wanted;          // the state that is asked for, or under way
  };
  struct Task {
    std::string key;
    std::string state;
    std::vector<std::string> ledgers;
  };

  Total& TotalOf(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  const double delta_;
  const Ask ask_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Total> recent_ ABSL_GUARDED_BY(mutex_);  // the latest first
  std::map<std::string, std::list<Total>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // from the first task on
};

}  // namespace dpledger::server
