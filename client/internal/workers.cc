#include "client/internal/workers.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "hwy/cache_control.h"

namespace dpledger::client::internal {
namespace {

// Pauses of some 40 ns on Intel's processors, fewer on others.
constexpr int kSpins = 500;

template <typename Condition>
bool Spin(const Condition& condition) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (condition()) return true;
    hwy::Pause();
  }
  return condition();
}

}  // namespace

struct Workers::Team {
  void Try(size_t share) {
    try {
      (*work)(share);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  }

  // Each thread takes part in each work, so none is ever behind by more than one.
  void Serve(size_t share) {
    std::fesetround(FE_TONEAREST);
    for (uint64_t done = 0;; ++done) {
      const auto handed_out = [&] { return works.load() != done; };
      if (!Spin(handed_out)) {
        std::unique_lock lock(mutex);
        works_changed.wait(lock, handed_out);
      }
      if (stop) return;
      Try(share);
      if (running.fetch_sub(1) == 1) {
        const std::lock_guard lock(mutex);
        others_finished.notify_one();
      }
    }
  }

  void Run(absl::FunctionRef<void(size_t)> function) {
    {
      const std::lock_guard lock(mutex);
      work = &function;
      running.store(threads.size());
      works.fetch_add(1);
    }
    works_changed.notify_all();
    Try(0);
    const auto finished = [&] { return running.load() == 0; };
    if (!Spin(finished)) {
      std::unique_lock lock(mutex);
      others_finished.wait(lock, finished);
    }
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      works.fetch_add(1);
    }
    works_changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::thread> threads;
  // Written under the mutex, read also by those that spin.
  std::mutex mutex;
  std::condition_variable works_changed;
  std::condition_variable others_finished;
  std::atomic<uint64_t> works = 0;  // how many were handed out
  std::atomic<size_t> running = 0;  // threads that have not finished the last one
  bool stop = false;
  const absl::FunctionRef<void(size_t)>* work = nullptr;
  std::exception_ptr thrown;  // by the last work
};

absl::StatusOr<std::unique_ptr<Workers>> Workers::Create(size_t threads) {
  RETURN_IF_ERROR(rules::WholeIn(1, kMaxThreads, "threads", threads));
  std::unique_ptr<Workers> workers(new Workers(threads));
  Team* const team = workers->team_.get();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // new threads inherit it
  const absl::Cleanup restore = [&] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  try {
    for (size_t share = 1; share < threads; ++share) {
      team->threads.emplace_back(&Team::Serve, team, share);
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start ", threads, " threads: ", error.what()));
  }
  return workers;
}

Workers::Workers(size_t threads)
    : threads_(threads), process_(getpid()), team_(std::make_unique<Team>()) {}

Workers::~Workers() {
  if (getpid() == process_) {
    team_->Stop();
  } else {
    // Destroying what threads wait for that do not exist here would wait for them.
    team_.release();
  }
}

void Workers::Run(absl::FunctionRef<void(size_t share)> work) {
  if (threads_ > 1 && getpid() == process_) return team_->Run(work);
  for (size_t share = 0; share < threads_; ++share) work(share);
}

Range ShareOf(size_t size, size_t share, size_t shares, size_t grain) {
  const size_t grains = (size + grain - 1) / grain;
  const size_t each = grains / shares, more = grains % shares;
  const size_t begin = share * each + std::min(share, more);
  const size_t end = begin + each + (share < more ? 1 : 0);
  return {std::min(begin * grain, size), std::min(end * grain, size)};
}

}  // namespace dpledger::client::internal
