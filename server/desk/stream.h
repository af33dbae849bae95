// A stream of messages under way: the transport's side (StreamDoor) and the service's (Stream).
//
//  1. The service starts each operation: one read at a time, one write at a time, then Finish. The
//     door tells when it is over: OnRead or OnEndOfInput, OnWriteDone. After Finish the service
//     starts nothing.
//  2. The door calls OnDone last, once, after Finish; the door may be gone after it.
//  3. A door may call back from within StartRead, StartWrite and Finish.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/desk/method.h"

namespace dpledger::server {

// The transport's side. Called by one thread at a time.
class StreamDoor {
 public:
  virtual ~StreamDoor() = default;
  // Bidirectional streams alone.
  virtual void StartRead() = 0;
  // Serialises `message` before it returns.
  virtual void StartWrite(const Message& message) = 0;
  // Sends what was written, then the status. OnDone follows, perhaps before this returns.
  virtual void Finish(const absl::Status& status) = 0;
};

// The service's side. Doors call it from any thread, at once for different operations.
class Stream {
 public:
  virtual ~Stream() = default;

  // Once, before everything else but End; not at all if the server closes already.
  virtual void Start() = 0;
  // A message; or why it was refused: its bytes are not one, or its caller may not send it.
  virtual void OnRead(absl::StatusOr<MessagePointer> message) = 0;
  // The caller sends no more, or has gone.
  virtual void OnEndOfInput() = 0;
  virtual void OnWriteDone(bool ok) = 0;
  // The caller has gone, or the transport gives the stream up.
  virtual void OnCancel() = 0;
  // The server ends the stream: it takes nothing more, answers what it has taken, and finishes with
  // `why`. At any time, more than once, from any thread. Not for streams without a permission
  // (Method::permission): nobody waits for those.
  virtual void End(const absl::Status& why) = 0;
};

}  // namespace dpledger::server
