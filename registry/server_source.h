// A registry as its server shows it, over gRPC. Each call has a deadline; a server that cannot be
// reached is UNAVAILABLE. Not thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "connection/server_access.h"
#include "registry/registry_source.h"

namespace dpledger::registry {

class ServerSource : public RegistrySource {
 public:
  // Every call must be answered within `patience`. If `server` cannot be dialled at all
  // (client::Connect), every call says why.
  ServerSource(const connection::ServerAccess& server, absl::Duration patience);
  ~ServerSource() override;

  absl::StatusOr<std::string> Read(const std::string& path) override;
  absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string& ledger,
                                                        uint64_t old_size,
                                                        uint64_t new_size) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace dpledger::registry
