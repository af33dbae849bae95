// The recorder's ledger in a folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"

namespace dpledger::client::internal {

// "adult" of "projects/p/ledgers/adult".
std::string LastName(const std::string& ledger);

// The folder of a ledger for which neither a server nor a folder is named. Says so on stderr, once
// for each.
std::string DefaultPath(const std::string& ledger);

// Whether this library was built with them.
bool HasLocalLedgers();

// local::OpenLedgers; INVALID_ARGUMENT (path) where the library was built without local ledgers.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLocal(const std::string& folder);

// Ledgers that are only read (local::Reading).
struct AtRest {
  std::shared_ptr<grpc::Channel> channel;
  std::vector<std::string> ledgers;
  std::string dataset;
  std::vector<std::string> assumptions;
  bool in_bundles = false;
  absl::Duration timeout = absl::InfiniteDuration();  // of a question
};

// local::OpenToRead; the same where the library was built without local ledgers.
absl::StatusOr<AtRest> OpenAtRest(const std::vector<std::string>& paths);

}  // namespace dpledger::client::internal
