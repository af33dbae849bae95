// The connections that are open: how many, how many from one address, who is behind each, and what
// each address has left of its allowance.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "front/allowance.h"
#include "front/closings.h"
#include "front/peer.h"

namespace dpledger::front {

struct PeerLimits {
  size_t connections = 256;
  size_t connections_per_host = 64;
  AllowanceOptions allowance;  // of a connection, and of all connections of a host together
};

// Thread safe.
class PeerTable {
 public:
  explicit PeerTable(const PeerLimits& limits) : limits_(limits) {}

  // Counts a connection of `host` until Leave, or says why it is turned away. A host whose
  // allowance is spent is so until some of it has come back. An empty host is nobody's: it counts
  // among all alone.
  std::optional<Closing> Enter(const std::string& host, absl::Time now);
  void Leave(const std::string& host);

  // Whether the allowance of `host` bore this cost.
  bool Take(const std::string& host, double cost, absl::Time now);

  // Connections by the name that their end of a socket pair bears.
  void Name(const std::string& name, std::shared_ptr<const Peer> peer);
  void Unname(const std::string& name);
  // Null: no connection of this name.
  std::shared_ptr<const Peer> Find(const std::string& name) const;

  size_t size() const;
  // Forgets hosts that are as good as new. Called now and then.
  void Sweep(absl::Time now);

 private:
  struct Host {
    size_t connections = 0;
    Allowance allowance;
  };

  Host& HostOf(const std::string& host, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PeerLimits limits_;
  mutable absl::Mutex mutex_;
  size_t connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const Peer>> named_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::front
