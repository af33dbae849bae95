// Takes a recorder's ledger home, as a bundle that others can check. Thread safe.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/channel.h"

namespace dpledger::client {

// The calls over the channel by which a ledger is read; each has a deadline of a minute.
std::function<absl::Status(const google::protobuf::Message&, google::protobuf::Message&)> CallsOver(
    const std::shared_ptr<grpc::Channel>& channel);

// Writes the bundle of a ledger, `ledger` its full name, into the new file `path`, which gets its
// name when it is whole. Each call over the channel has a deadline of a minute. Errors of the
// calls and of the disk; ABORTED if another process is writing the same file.
absl::Status ExportLedger(const std::shared_ptr<grpc::Channel>& channel, const std::string& ledger,
                          const std::string& path);

}  // namespace dpledger::client
