// How one HTTP request says a call, and how its answer is said: the Connect protocol, unary by POST
// or GET and streaming, and gRPC-Web. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "http/message.h"
#include "server/desk/method.h"

namespace dpledger::server {

enum class Protocol { kConnectUnary, kConnectStream, kGrpcWeb };

struct Wire {
  Protocol protocol = Protocol::kConnectUnary;
  bool json = false;         // else protobuf's binary form
  std::string content_type;  // of the answer
  bool request_gzip =
      false;                 // of the body; in the enveloped protocols, of an envelope that says so
  bool answer_gzip = false;  // kConnectUnary alone: the client takes it
  absl::Time deadline = absl::InfiniteFuture();
  // What is wrong with the request, once it is known how to say that.
  absl::Status refused;
};

// How the request says its call; or the answer to one that says none. Takes the message of a GET
// into `request.body`.
std::variant<Wire, http::Response> ReadWire(const Method& method, http::Request& request);

// The message's bytes, inflated and without their envelope. INVALID_ARGUMENT: no envelope, or more
// than one. RESOURCE_EXHAUSTED (MESSAGE_TOO_LARGE): more than `max_bytes`.
absl::StatusOr<std::string> UnpackRequest(const Wire& wire, std::string body, size_t max_bytes);

absl::Status ParseMessage(const Wire& wire, const std::string& bytes, Message& message);
std::string SerializeMessage(const Wire& wire, const Message& message);

// Flag byte, length, bytes.
std::string Envelope(char flags, std::string_view bytes);
// The last envelope of an answer of one of the enveloped protocols.
std::string EndEnvelope(const Wire& wire, const absl::Status& status);

// The whole answer of a unary call: `response` if the status is OK; null otherwise.
http::Response UnaryResponse(const Wire& wire, const absl::Status& status, const Message* response);

}  // namespace dpledger::server
