// Parses and serialises messages, and takes from gRPC's context what the desk wants to know. The
// door takes raw bytes and parses them itself, because gRPC answers bytes that do not parse with
// UNIMPLEMENTED on a unary call and with a silent end of the input on a stream.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/call_context.h"
#include "server/desk/desk.h"
#include "server/desk/method.h"

namespace dpledger::server {

// NotAMessage (events/wire_errors.h) for bytes that are not a message of its type, or that nest
// deeper than protobuf's limit of 100 levels.
absl::Status ParseInto(const grpc::ByteBuffer& bytes, Message& message);
// A new message of the type of `prototype`.
absl::StatusOr<MessagePointer> ParseNew(const grpc::ByteBuffer& bytes, const Message& prototype);

grpc::ByteBuffer Serialize(const Message& message);

// With who calls, as `desk` knows it. Valid as long as `context`.
CallContext ContextOf(grpc::CallbackServerContext* context, Desk& desk);

}  // namespace dpledger::server
