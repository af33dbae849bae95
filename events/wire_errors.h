// This project's errors as callers of its calls get them: google.rpc.Status, which every door and
// the accounting library send in their own form.
#pragma once

#include <google/protobuf/descriptor.h>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace dpledger::events {

// Keeps the code and message. The details are a google.rpc.ErrorInfo: domain "dpledger", the
// reason (or, without one, the code's name) and the metadata of base/status.h; and a
// google.rpc.RetryInfo behind it if the error says when to try again. Cuts long texts:
// gRPC sends them in trailers of limited size, and a client that cannot take the trailers loses the
// code too. Precondition: !status.ok().
google::rpc::Status WithErrorInfo(const absl::Status& status);

// INVALID_ARGUMENT (MALFORMED_MESSAGE): a request that is not a message of this type.
absl::Status NotAMessage(const google::protobuf::Descriptor& type);

}  // namespace dpledger::events
