// The desk: every call comes over it, whatever door it came through. It has the table of methods,
// admits calls while the server is open, asks whether the caller may, runs the handler on its pool,
// and writes the log line.
//
// A door finds the method by its path, and implements UnaryCall or StreamDoor:
//
//   const Method* method = desk.Find("/dpledger.v1.LedgerService/GetLedger");
//   unary:          fill call.context (desk.Identify), then desk.Serve(*method, call); the desk
//   calls Parse once
//                   and Answer once.
//   server stream:  parse the request, then desk.Open(*method, context, door, request), keep what
//                   it gives, and start it.
//   bidirectional:  the same with a null request; OpenStream::Received for every message.
//
// Nothing of a door may be left when the desk is destroyed.
//
// Thread safe.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/desk/authorizer.h"
#include "server/desk/call_gate.h"
#include "server/desk/call_names.h"
#include "server/desk/call_observer.h"
#include "server/desk/damage.h"
#include "server/desk/health.h"
#include "server/desk/identifier.h"
#include "server/desk/method.h"
#include "server/desk/quotas.h"
#include "server/desk/services.h"
#include "server/desk/stream.h"
#include "server/desk/turns.h"
#include "server/desk/usage.h"
#include "server/desk/worker_pool.h"
#include "server/log.h"

namespace dpledger::server {

struct DeskOptions {
  size_t append_window = 32;  // unacknowledged batches of one Append stream
  size_t query_threads = 2;   // of accounting alone, so that it cannot starve appends
  size_t max_queued_queries = 64;
  QuotaOptions quotas;
  // The address that a call came from, for log lines and shares of hosts. Not set: the connection,
  // as the credentials have it.
  std::function<std::string(const Credentials&)> address_of;
};

// A unary call under way, as its door has it. The door keeps it until the answer is sent: then the
// call is over, and its destructor says so.
class UnaryCall {
 public:
  virtual ~UnaryCall();
  UnaryCall() = default;
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;

  virtual const CallContext& context() const = 0;
  // Fills `request` from what the caller sent. NotAMessage (events/wire_errors.h) for bytes that
  // are not one.
  virtual absl::Status Parse(Message& request) = 0;
  // Sends the answer: `response` if the status is OK; null otherwise. Serialises it before it
  // returns, and may delete the call.
  virtual void Answer(const absl::Status& status, const Message* response) = 0;

 protected:
  // What the call holds of the quotas. A door that deletes the call before the answer is sent keeps
  // this until then.
  std::shared_ptr<const void> ReleasePermit() { return std::move(permit_); }

 private:
  friend class Desk;
  std::unique_ptr<Quotas::Permit> permit_;
  CallGate* gate_ = nullptr;  // that counts the call
  absl::Time start_;
  CallNames names_;  // of its request; known where the log wants every call
};

class Desk;

// A stream under way, as its door has it: hands everything on to the service's Stream, and asks for
// every message whether the caller may send it.
class OpenStream {
 public:
  // Once, when the door is ready to be called. If the server closes, the stream ends at once.
  void Start();
  // A message of a bidirectional stream, or why its bytes are not one.
  void Received(absl::StatusOr<MessagePointer> message);
  void EndOfInput() { stream_->OnEndOfInput(); }
  void WriteDone(bool ok) { stream_->OnWriteDone(ok); }
  void Cancel() { stream_->OnCancel(); }
  // Last, after StreamDoor::Finish: the desk may be gone after it.
  void Done();

 private:
  friend class Desk;
  OpenStream(Desk* desk, const Method* method, const CallContext* context, StreamDoor* door,
             MessagePointer request, std::unique_ptr<Quotas::Permit> permit)
      : desk_(*desk),
        permit_(std::move(permit)),
        method_(*method),
        context_(*context),
        door_(this, door),
        stream_(method->open(*context, &door_, std::move(request))) {}

  // Before the transport: tells the observer of messages and of the end, and notes why a service
  // refuses a stream to its caller.
  class NotingDoor : public StreamDoor {
   public:
    NotingDoor(OpenStream* stream, StreamDoor* door) : open_(*stream), door_(*door) {}
    void StartRead() override { door_.StartRead(); }
    void StartWrite(const Message& message) override;
    void Finish(const absl::Status& status) override;

   private:
    OpenStream& open_;
    StreamDoor& door_;
    const absl::Time start_ = absl::Now();
  };

  Desk& desk_;
  const std::unique_ptr<Quotas::Permit> permit_;  // null: not counted
  const Method& method_;
  const CallContext& context_;
  NotingDoor door_;
  const std::shared_ptr<Stream> stream_;
};

class Desk {
 public:
  // The services and `log` must outlive the desk, and so must `identifier` and `authorizer`. Null:
  // every caller is anonymous; everybody may do everything.
  Desk(const DeskOptions& options, const Services& services, Identifier* identifier,
       Authorizer* authorizer, const Log* log);
  // Who uses the server for what; before any door opens. `record` must outlive the desk.
  void Record(AccessRecord* record) { usage_.Record(record); }

  // Null if there is no such method.
  const Method* Find(std::string_view path) const;
  const std::vector<Method>& methods() const { return methods_; }
  Health& health() { return health_; }
  const Quotas& quotas() const { return quotas_; }
  const Damage& damage() const { return damage_; }
  Damage& damage() { return damage_; }

  // Fills in who calls and from where. A door does it before Serve or Open.
  void Identify(const Credentials& credentials, CallContext& context);
  // Calls that wait for a thread, by the name of the threads.
  std::vector<std::pair<const char*, size_t>> Waiting() const;
  // Before any door opens; `observer` must outlive the desk.
  void Observe(CallObserver* observer) { observer_ = observer; }

  // For a call whose caller nobody knows, while its message is on its way: so many of one host at
  // once. RESOURCE_EXHAUSTED.
  absl::StatusOr<std::unique_ptr<Quotas::Permit>> AdmitStranger(const CallContext& context);

  // For a known caller's call whose message is to be read: what has not come yet takes memory too.
  Turns& turns_to_send() { return turns_to_send_; }
  // For a request that is here, while its call waits for the end of its input: a quarter of the
  // bytes is for those, so that they take none from calls that run. RESOURCE_EXHAUSTED.
  absl::StatusOr<std::unique_ptr<Quotas::Permit>> AdmitWaiting(const CallContext& context,
                                                               size_t bytes);

  // Answers the call, before it returns or later on another thread.
  void Serve(const Method& method, UnaryCall& call);

  // Opens a stream: a server stream with its request, or a bidirectional one with null. An error is
  // the stream's status; nothing was opened then. `context` and `door` must be there until
  // OpenStream::Done.
  absl::StatusOr<std::unique_ptr<OpenStream>> Open(const Method& method, const CallContext& context,
                                                   StreamDoor* door, MessagePointer request);

  // Ends the streams of callers for whom `why` is not OK, with that status, after answering what
  // they have taken.
  void EndStreams(const std::function<absl::Status(const Caller&)>& why);

  // No new call is admitted. Append streams end after acknowledging
  // what they have read. Other calls run until `deadline`. Returns when no call is left, or at the
  // deadline: the doors then cancel the rest.
  void Close(absl::Time deadline);

 private:
  friend class OpenStream;
  struct Under {
    std::shared_ptr<Stream> stream;
    Caller caller;
  };

  // What the message demands, if the caller may send it. Logs it if not, and records it.
  absl::StatusOr<std::vector<Demand>> Authorize(const Method& method, const CallContext& call,
                                                const Message& message);
  // What a stream holds; null for those that bring entries, which the store bounds.
  absl::StatusOr<std::unique_ptr<Quotas::Permit>> AdmitStream(const Method& method,
                                                              const CallContext& context);
  // Nobody writes to the access record, and administrators alone read it.
  absl::Status GuardRecord(const Caller& caller, const Demand& demand);
  absl::Status Admit(const Method& method, UnaryCall& call);
  // Null: the door's own thread.
  WorkerPool* PoolOf(Pool pool);
  // Parses, authorises and answers; on the method's pool.
  void Run(const Method& method, UnaryCall& call);
  void Finish(const Method& method, UnaryCall& call, const absl::StatusOr<MessagePointer>& answer);

  const Log& log_;
  Usage usage_;
  Damage damage_;
  Identifier* const identifier_;
  const std::function<std::string(const Credentials&)> address_of_;
  AllowAll allow_all_;
  Authorizer& authorizer_;
  CallObserver* observer_ = nullptr;  // may be null
  CallGate gate_;
  Health health_;
  Quotas quotas_;
  Quotas waiting_;
  Turns turns_to_send_{32};
  std::array<WorkerPool, 4> pools_;  // in the order of Pool, after kInline
  const std::vector<Method> methods_;
  const std::unordered_map<std::string_view, const Method*> by_path_;

  absl::Mutex mutex_;
  std::unordered_map<const Stream*, Under> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
