// A mounted file system for tests that forgets unsynced bytes and names when its power is cut, and
// whose calls fail at the n-th time. For programs that know nothing of it: servers, RocksDB,
// PostgreSQL. fault_fs_tree.h says what a power cut keeps.
//
//   auto disk = FaultFs::Mount(folder.File("disk"), folder.File("mount"));
//   if (absl::IsUnavailable(disk.status())) GTEST_SKIP() << disk.status();
//   ... a program works in folder.File("mount") ...
//   (*disk)->Cut(Survival::kTorn, seed);    // every call fails with EIO from here on
//   ... the program is killed ...
//   (*disk)->Unmount();                     // folder.File("disk") is what the disk holds
//
// Invariants:
//  1. The backing folder changes only at a power cut and at an unmount without one, which writes
//  all.
//  2. Nothing stays mounted after the destructor or the death of the test's process, whoever still
//     works in it.
//  3. Reads and writes come to the file system one by one, past the kernel's page cache, unless
//     page_cache is asked for. Shared mappings (mmap MAP_SHARED) need it; private ones do not.
// Not thread safe. The programs in the mount may have any number of threads and users.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/fault/fault_fs_rules.h"

namespace dpledger::testing {

class FaultFs {
 public:
  struct Options {
    // Through the kernel's page cache, written through at once: reads may not reach the rules, nor
    // fail after a power cut.
    bool page_cache = false;
  };
  // Reads `backing` and shows it at `mountpoint`; both are made if they are not there. Owners and
  // modes are those of `backing`; as root, other users may come in. UNAVAILABLE, with the reason,
  // if this machine cannot mount it.
  static absl::StatusOr<std::unique_ptr<FaultFs>> Mount(const std::string& backing,
                                                        const std::string& mountpoint,
                                                        const Options& options);
  static absl::StatusOr<std::unique_ptr<FaultFs>> Mount(const std::string& backing,
                                                        const std::string& mountpoint) {
    return Mount(backing, mountpoint, {});
  }
  ~FaultFs();  // unmounts, whoever works in it
  FaultFs(const FaultFs&) = delete;
  FaultFs& operator=(const FaultFs&) = delete;

  const std::string& path() const { return mountpoint_; }

  // The backing folder becomes what the disk holds; the same seed after the same calls leaves the
  // same. Does nothing if the power is cut already (FaultRule::cut).
  absl::Status Cut(Survival survival, uint64_t seed);
  // INVALID_ARGUMENT if the rule cannot apply to any call.
  absl::Status Fail(const FaultRule& rule);
  absl::Status ClearFaults();
  // From now on fsync and its kin are acknowledged and do nothing, or are done again: the control
  // of a power-cut test.
  absl::Status IgnoreSync(bool ignored);
  // Calls since the mount, by name (fault_fs_rules.h).
  absl::StatusOr<std::map<std::string, uint64_t>> Counts();

  // FAILED_PRECONDITION if a program still has files open and the power is not cut: nothing is
  // done.
  absl::Status Unmount();

 private:
  FaultFs(std::string mountpoint, int control, pid_t pid);
  // The answer behind "ok", or INTERNAL.
  absl::StatusOr<std::string> Hear();
  absl::StatusOr<std::string> Ask(const std::string& command);
  // Ends the program, which writes the backing folder unless the power was cut.
  absl::Status End();

  const std::string mountpoint_;
  int control_;
  pid_t pid_;
  bool cut_ = false;
};

}  // namespace dpledger::testing
