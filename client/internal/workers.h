// Threads that share one caller's work: the caller hands out a function, all run it at once, and
// the caller goes on when all are done.
//
// 1. Between two pieces of work that follow each other within about 20 microseconds the threads
//    spin; after that they sleep until they are needed.
// 2. They block all signals, which so stay with the program's own threads, and round to nearest,
//    whatever mode the one had that created them.
// 3. A child that was forked has none of the threads: there the caller does all shares, one after
//    the other. A child forked while Run is running must not use the object.
//
// Thread safety: one Run at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace dpledger::client::internal {

class Workers {
 public:
  static constexpr size_t kMaxThreads = 256;

  // `threads` in [1, 256], the caller's own among them; INVALID_ARGUMENT names it otherwise.
  // RESOURCE_EXHAUSTED if the system starts no more.
  static absl::StatusOr<std::unique_ptr<Workers>> Create(size_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  size_t threads() const { return threads_; }

  // Calls work(share) once for each share below threads(), the caller's being 0. Returns when all
  // calls have returned; what they wrote is visible then. What one of them throws (the first of
  // several) comes out of Run, when all others have returned. `work` must not wait for another
  // share.
  void Run(absl::FunctionRef<void(size_t share)> work);

 private:
  struct Team;
  explicit Workers(size_t threads);

  const size_t threads_;
  const int64_t process_;
  std::unique_ptr<Team> team_;  // the other threads and what they share with the caller
};

// The range of [0, size) that share `share` of `shares` takes, in whole multiples of `grain` but at
// the end.
struct Range {
  size_t begin, end;
};
Range ShareOf(size_t size, size_t share, size_t shares, size_t grain = 1);

}  // namespace dpledger::client::internal
