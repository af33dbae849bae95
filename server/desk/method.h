// One row of the desk's table: all that a door and the desk need to know of a method.
//
// Path, kind, message types and side effects are those of the .proto file. A row adds the
// permission, what it is asked for, the threads, and the handler.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call_context.h"
#include "server/desk/authorizer.h"

namespace dpledger::server {

class Stream;
class StreamDoor;

using google::protobuf::Message;
using MessagePointer = std::unique_ptr<Message>;

// A permission that a message needs, and for what.
struct Demand {
  Permission permission;
  Resource resource;
  std::string field = {};  // that asks for it; empty: the message as a whole
};

enum class CallKind { kUnary, kServerStream, kBidirectional };

// Where a unary handler runs.
enum class Pool {
  kInline,  // on the door's own thread: it must not wait
  kStore,   // may wait for the disk
  kList,    // looks through all ledgers
  kQuery,   // computes
  kAudit    // may wait for a signature
};

struct Method {
  // ---- Of the .proto file ----
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
  std::string path;                  // "/dpledger.v1.LedgerService/AppendBatch"
  CallKind kind = CallKind::kUnary;  // there is no method with a client stream alone
  const Message* request = nullptr;  // the empty message of its type; New() makes one to parse into
  const Message* response = nullptr;  // the same
  bool no_side_effects = false;       // option idempotency_level = NO_SIDE_EFFECTS

  // ---- Of the table ----
  // The first that each message needs; `demands` says what for, and which others. None: health and
  // reflection. They are answered while the server drains, and nobody waits for them to end.
  std::optional<Permission> permission;
  std::function<std::vector<Demand>(const Message& request)> demands;  // empty for those alone
  // Takes out of an answer what the caller may not see. May be empty.
  std::function<void(Message& response, const std::function<bool(const Demand&)>& allowed)> hide;
  Pool pool = Pool::kInline;  // unary alone
  // How many entries of a ledger an answer hands out, for the access record. Empty: none.
  std::function<uint64_t(const Message& request, const Message& response)> entries;

  // ---- Exactly one of these ----
  // A unary method. It may take the request apart.
  std::function<absl::StatusOr<MessagePointer>(Message& request, const CallContext& call)> answer;
  // A unary method that answers later, from any thread and once; kInline alone. The context is
  // there until the answer.
  using Done = std::function<void(absl::StatusOr<MessagePointer> response)>;
  std::function<void(MessagePointer request, const CallContext& call, Done done)> start;
  // A stream; `request` is null for a bidirectional one. The context and the door are there until
  // Stream::OnDone.
  std::function<std::shared_ptr<Stream>(const CallContext& call, StreamDoor* door,
                                        MessagePointer request)>
      open;
};

}  // namespace dpledger::server
