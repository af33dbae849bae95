#include "server/grpc_door/message.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <new>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/out_of_memory.h"
#include "events/wire_errors.h"
#include "server/desk/desk.h"

namespace dpledger::server {

absl::Status ParseInto(const grpc::ByteBuffer& bytes, Message& message) {
  grpc::ByteBuffer copy = bytes;  // of references to the same bytes
  grpc::ProtoBufferReader reader(&copy);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return events::NotAMessage(*message.GetDescriptor());
}

absl::StatusOr<MessagePointer> ParseNew(const grpc::ByteBuffer& bytes, const Message& prototype) {
  try {
    MessagePointer message(prototype.New());
    if (absl::Status parsed = ParseInto(bytes, *message); !parsed.ok()) return parsed;
    return message;
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  // Fails only for messages above 2 GiB; answers are far smaller.
  grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(message, &buffer, &own_buffer);
  return buffer;
}

CallContext ContextOf(grpc::CallbackServerContext* context, Desk& desk) {
  CallContext call;
  // By what is left, as the system's clock has it: absl::Now() follows a jump of that seconds
  // later, and a deadline of the new time would have passed long ago.
  const auto deadline = context->deadline();
  call.deadline = deadline == std::chrono::system_clock::time_point::max()
                      ? absl::InfiniteFuture()
                      : absl::Now() + absl::FromChrono(deadline - std::chrono::system_clock::now());
  call.cancelled = [context] { return context->IsCancelled(); };
  const auto headers = context->client_metadata().equal_range("authorization");
  Credentials credentials = {.peer = context->peer()};
  for (auto header = headers.first; header != headers.second; ++header) {
    credentials.doubled = !credentials.authorization.empty();
    credentials.authorization = {header->second.data(), header->second.size()};
  }
  const auto forwarded = context->client_metadata().equal_range("x-forwarded-for");
  for (auto header = forwarded.first; header != forwarded.second; ++header)
    credentials.forwarded = {header->second.data(), header->second.size()};
  desk.Identify(credentials, call);
  return call;
}

}  // namespace dpledger::server
