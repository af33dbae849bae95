// Two hosts and a cable between them, in network namespaces: this process becomes the near host,
// and programs are run on the far one. The cable can be pulled, or lose what goes one way without
// either host noticing.
//
//   auto cable = NetworkPair::Make();
//   if (absl::IsUnavailable(cable.status())) GTEST_SKIP() << cable.status();
//
// Invariants:
//  1. Nothing outside the two namespaces changes, and both are gone when the process is, however it
//     ends.
//  2. The near host is only the thread that called Make, and threads and programs that it starts
//  from then on.
// Not thread safe.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::testing {

class NetworkPair {
 public:
  static constexpr char kNear[] = "10.77.0.1";
  static constexpr char kFar[] = "10.77.0.2";

  enum class Cut {
    kPulled,      // both ends see it
    kToNearLost,  // what the far host sends arrives nowhere
    kToFarLost,   // the other way
  };

  // UNAVAILABLE, with the reason, if this machine does not allow it.
  static absl::StatusOr<std::unique_ptr<NetworkPair>> Make();
  ~NetworkPair();
  NetworkPair(const NetworkPair&) = delete;
  NetworkPair& operator=(const NetworkPair&) = delete;

  void Break(Cut cut);
  void Mend(Cut cut);
  // The words before a command that run it on the far host, as the same process.
  std::vector<std::string> OnFar() const;

 private:
  explicit NetworkPair(pid_t holder) : holder_(holder) {}
  absl::Status Connect();

  pid_t holder_;  // keeps the far namespace
};

}  // namespace dpledger::testing
