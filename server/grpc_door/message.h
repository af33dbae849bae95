// Parses and serialises messages. The door takes raw bytes and parses them itself, because gRPC
// answers bytes that do not parse with UNIMPLEMENTED on a unary call and with a silent end of the
// input on a stream.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"

namespace dpledger::server {

// INVALID_ARGUMENT (reason MALFORMED_MESSAGE) for bytes that are not a `Message`, or that nest
// deeper than protobuf's limit of 100 levels.
template <typename Message>
absl::StatusOr<Message> Parse(grpc::ByteBuffer buffer) {
  Message message;
  if (grpc::SerializationTraits<Message>::Deserialize(&buffer, &message).ok()) return message;
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the request's bytes are not a ", Message::descriptor()->full_name(),
                        ": malformed, text that is not UTF-8, or nested deeper than 100 levels")),
                    {"MALFORMED_MESSAGE", {}});
}

// The same, and RESOURCE_EXHAUSTED (OUT_OF_MEMORY) if there is no memory for it.
template <typename Message>
absl::StatusOr<Message> ParseIfRoom(grpc::ByteBuffer buffer) {
  try {
    return Parse<Message>(std::move(buffer));
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

template <typename Message>
grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  // Fails only for messages above 2 GiB; answers are far smaller.
  grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own_buffer);
  return buffer;
}

}  // namespace dpledger::server
