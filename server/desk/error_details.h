// This project's errors as google.rpc.Status, which every door sends in its own form.
#pragma once

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace dpledger::server {

// Keeps the code and message. The details are a google.rpc.ErrorInfo: domain "dpledger", the
// reason (or, without one, the code's name) and the metadata of base/status.h; and a
// google.rpc.RetryInfo behind it if the error says when to try again. Cuts long texts:
// gRPC sends them in trailers of limited size, and a client that cannot take the trailers loses the
// code too. Precondition: !status.ok().
google::rpc::Status WithErrorInfo(const absl::Status& status);

}  // namespace dpledger::server
