#include "server/desk/desk.h"

#include <time.h>

#include <atomic>
#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "server/desk/table.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

// Calls that wait for the disk or read it; a few, so that one slow read does not stop the others.
constexpr size_t kStoreThreads = 4;
constexpr size_t kMaxQueuedStoreCalls = 1024;
// Proofs, and calls that wait for a signature; apart, so that nobody else waits with them.
constexpr size_t kAuditThreads = 4;
// Lists and watches look through all ledgers; they get what others leave of the processors.
constexpr size_t kListThreads = 2;
// Of one caller, or of one host where nobody is asked: watches, and the messages of strangers.
constexpr size_t kMostStreams = 128;
constexpr size_t kMostStrangers = 16;

// This project's code throws nothing, but memory can run out anywhere, and one call must not bring
// the server down. `function` gives a status or a StatusOr.
template <typename Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

// The same error, but as one of this field.
absl::Status AboutField(const std::string& field, const absl::Status& status) {
  ErrorReason reason = ReasonOf(status);
  reason.metadata["field"] = field;
  return WithReason(absl::Status(status.code(), absl::StrCat(field, ": ", status.message())),
                    reason);
}

// Of this thread.
absl::Duration ProcessorTime() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return absl::DurationFromTimespec(now);
}

// Questions do not count: what a trainer has copied wrongly is DATA_LOSS to them, and no damage.
bool ReadsWhatWasSigned(const Method& method) {
  return method.permission == Permission::kReadEntries || method.permission == Permission::kVerify;
}

absl::Status ShuttingDown() { return absl::UnavailableError("the server is shutting down"); }

std::unordered_map<std::string_view, const Method*> ByPath(const std::vector<Method>& methods) {
  std::unordered_map<std::string_view, const Method*> by_path;
  for (const Method& method : methods) by_path.emplace(method.path, &method);
  return by_path;
}

}  // namespace

UnaryCall::~UnaryCall() {
  if (gate_ != nullptr) gate_->Leave();
}

Desk::Desk(const DeskOptions& options, const Services& services, Identifier* identifier,
           Authorizer* authorizer, const Log* log)
    : log_(*log),
      usage_(log),
      damage_(log),
      identifier_(identifier),
      address_of_(options.address_of),
      authorizer_(authorizer != nullptr ? *authorizer : allow_all_),
      health_(ServedServices()),
      quotas_(options.quotas, Clock::System()),
      waiting_(QuotaOptions{.bytes = options.quotas.bytes / 4}, Clock::System()),
      pools_{{WorkerPool({"store", kStoreThreads, kMaxQueuedStoreCalls}),
              WorkerPool({"lists", kListThreads, kMaxQueuedStoreCalls, /*background=*/true}),
              WorkerPool({"accounting", options.query_threads, options.max_queued_queries,
                          /*background=*/true}),
              WorkerPool({"audit", kAuditThreads, kMaxQueuedStoreCalls})}},
      methods_(MethodTable(services, options.append_window, &health_, PoolOf(Pool::kList))),
      by_path_(ByPath(methods_)) {}

const Method* Desk::Find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

WorkerPool* Desk::PoolOf(Pool pool) {
  return pool == Pool::kInline ? nullptr : &pools_[static_cast<size_t>(pool) - 1];
}

std::vector<std::pair<const char*, size_t>> Desk::Waiting() const {
  std::vector<std::pair<const char*, size_t>> waiting;
  for (const WorkerPool& pool : pools_) waiting.emplace_back(pool.name().c_str(), pool.waiting());
  return waiting;
}

void Desk::Identify(const Credentials& credentials, CallContext& context) {
  context.peer = address_of_ ? address_of_(credentials) : credentials.peer;
  context.party = credentials.peer;
  if (identifier_ == nullptr) return;
  context.asked = true;
  absl::StatusOr<Caller> caller = Guarded([&] { return identifier_->Identify(credentials); });
  if (caller.ok()) {
    context.caller = *std::move(caller);
    if (context.caller.kind != identity::CallerKind::kAnonymous)
      context.party = context.caller.name;
  } else {
    context.identified = std::move(caller).status();
  }
  if (!context.identified.ok()) usage_.Stranger(context);
}

absl::Status Desk::GuardRecord(const Caller& caller, const Demand& demand) {
  if (!IsOfServer(demand.resource.name)) return absl::OkStatus();
  switch (demand.permission) {
    case Permission::kList:
    case Permission::kVerify:
      return absl::OkStatus();
    case Permission::kReadEntries:
    case Permission::kExport:
    case Permission::kAsk:
      return authorizer_.Decide(caller, Permission::kAdminister, Resource());
    default:
      return WithReason(absl::PermissionDeniedError(absl::StrCat(
                            demand.resource.name.substr(0, demand.resource.name.find('/', 9)),
                            " is the server's own: nobody else writes there")),
                        {"RESERVED_PROJECT", {}});
  }
}

absl::StatusOr<std::vector<Demand>> Desk::Authorize(const Method& method, const CallContext& call,
                                                    const Message& message) {
  if (!method.permission.has_value()) return std::vector<Demand>();
  std::vector<Demand> demands = method.demands(message);
  for (const Demand& demand : demands) {
    absl::Status decided = authorizer_.Decide(call.caller, demand.permission, demand.resource);
    if (decided.ok()) decided = GuardRecord(call.caller, demand);
    if (decided.ok()) continue;
    usage_.Denied(method, call, message, demand);
    return demand.field.empty() ? decided : AboutField(demand.field, decided);
  }
  RETURN_IF_ERROR(usage_.Allowed(method, call, message));
  return demands;
}

void Desk::Serve(const Method& method, UnaryCall& call) {
  call.start_ = absl::Now();
  if (observer_ != nullptr) observer_->OnStarted(method);
  absl::Status accepted;
  if (method.permission.has_value()) {
    call.gate_ = &gate_;
    accepted = gate_.Enter();
    if (accepted.ok()) accepted = call.context().identified;
    if (accepted.ok()) accepted = Admit(method, call);
  }
  WorkerPool* const pool = PoolOf(method.pool);
  if (accepted.ok() && pool == nullptr) {
    Run(method, call);
    return;
  }
  if (accepted.ok()) {
    accepted = pool->Submit(call.context().party, [this, &method, &call] { Run(method, call); });
  }
  if (!accepted.ok()) Finish(method, call, std::move(accepted));
}

absl::Status Desk::Admit(const Method& method, UnaryCall& call) {
  return Guarded([&]() -> absl::Status {
    const CallContext& context = call.context();
    const bool question = method.pool == Pool::kQuery || method.pool == Pool::kList;
    ASSIGN_OR_RETURN(call.permit_, quotas_.Admit(context.party, question, context.request_bytes));
    return absl::OkStatus();
  });
}

void Desk::Run(const Method& method, UnaryCall& call) {
  const CallContext& context = call.context();
  MessagePointer request;
  std::vector<Demand> demands;
  absl::Status ready = Guarded([&]() -> absl::Status {
    if (context.cancelled && context.cancelled()) {
      return absl::CancelledError("the caller has gone");
    }
    request.reset(method.request->New());
    RETURN_IF_ERROR(call.Parse(*request));
    if (log_.Wants(LogLevel::kDebug)) call.names_ = NamesOf(method, *request);
    ASSIGN_OR_RETURN(demands, Authorize(method, context, *request));
    return absl::OkStatus();
  });
  if (!ready.ok()) {
    Finish(method, call, std::move(ready));
    return;
  }
  if (method.answer) {
    Finish(method, call, Guarded([&]() -> absl::StatusOr<MessagePointer> {
             const absl::Duration began = ProcessorTime();
             absl::StatusOr<MessagePointer> answer = method.answer(*request, context);
             if (call.permit_ != nullptr) call.permit_->Charge(ProcessorTime() - began);
             usage_.Refused(context, answer.status());
             if (absl::IsDataLoss(answer.status()) && ReadsWhatWasSigned(method))
               damage_.Note(NamesOf(method, *request).ledger, answer.status());
             if (!answer.ok()) return answer;
             usage_.Served(context, demands,
                           method.entries ? method.entries(*request, **answer) : 0);
             if (method.hide) {
               method.hide(**answer, [&](const Demand& demand) {
                 return authorizer_.Decide(context.caller, demand.permission, demand.resource).ok();
               });
             }
             if (method.no_side_effects && call.permit_ != nullptr)
               RETURN_IF_ERROR(call.permit_->Hold((*answer)->ByteSizeLong()));
             return answer;
           }));
    return;
  }
  // The handler may have handed the request on before it fails: only the first answer counts.
  const auto answered = std::make_shared<std::atomic<bool>>(false);
  const Method::Done done = [this, &method, &call,
                             answered](const absl::StatusOr<MessagePointer>& answer) {
    if (answered->exchange(true)) return;
    usage_.Refused(call.context(), answer.status());
    Finish(method, call, answer);
  };
  absl::Status started = Guarded([&] {
    method.start(std::move(request), context, done);
    return absl::OkStatus();
  });
  if (!started.ok()) done(std::move(started));
}

void Desk::Finish(const Method& method, UnaryCall& call,
                  const absl::StatusOr<MessagePointer>& answer) {
  if (log_.Wants(LogLevel::kDebug)) {
    const CallContext& context = call.context();
    log_.Write(LogLevel::kDebug, "call",
               {{"method", method.descriptor->name()},
                {"code", absl::StatusCodeToString(answer.status().code())},
                {"milliseconds", absl::ToDoubleMilliseconds(absl::Now() - call.start_)},
                {"caller", context.caller.name},
                {"peer", context.peer},
                {"ledger", call.names_.ledger},
                {"request_id", call.names_.request_id}});
  }
  if (observer_ != nullptr) {
    observer_->OnHandled(method, answer.status(), answer.ok() ? answer->get() : nullptr,
                         absl::Now() - call.start_);
  }
  if (call.permit_ != nullptr) call.permit_->Answered();
  call.Answer(answer.status(), answer.ok() ? answer->get() : nullptr);
}

absl::StatusOr<std::unique_ptr<OpenStream>> Desk::Open(const Method& method,
                                                       const CallContext& context, StreamDoor* door,
                                                       MessagePointer request) {
  if (observer_ != nullptr) observer_->OnStarted(method);
  auto opened = Guarded([&]() -> absl::StatusOr<std::unique_ptr<OpenStream>> {
    if (method.permission.has_value()) RETURN_IF_ERROR(context.identified);
    ASSIGN_OR_RETURN(std::unique_ptr<Quotas::Permit> permit, AdmitStream(method, context));
    std::vector<Demand> demands;
    if (request != nullptr) {
      ASSIGN_OR_RETURN(demands, Authorize(method, context, *request));
    }
    usage_.Served(context, demands, 0);
    return std::unique_ptr<OpenStream>(
        new OpenStream(this, &method, &context, door, std::move(request), std::move(permit)));
  });
  if (!opened.ok() && observer_ != nullptr) {
    observer_->OnHandled(method, opened.status(), nullptr, absl::ZeroDuration());
  }
  return opened;
}

absl::StatusOr<std::unique_ptr<Quotas::Permit>> Desk::AdmitStream(const Method& method,
                                                                  const CallContext& context) {
  if (!method.permission.has_value()) {
    // Callers are not asked for a name: of one host, whatever connection it takes.
    return quotas_.AdmitStream(absl::StrCat("host ", NetworkOf(context.peer)), kMostStreams);
  }
  if (method.kind != CallKind::kServerStream) return nullptr;
  return quotas_.AdmitStream(context.party, kMostStreams);
}

absl::StatusOr<std::unique_ptr<Quotas::Permit>> Desk::AdmitStranger(const CallContext& context) {
  return quotas_.AdmitStream(absl::StrCat("stranger ", NetworkOf(context.peer)), kMostStrangers);
}

absl::StatusOr<std::unique_ptr<Quotas::Permit>> Desk::AdmitWaiting(const CallContext& context,
                                                                   size_t bytes) {
  return waiting_.Admit(context.party, /*question=*/false, bytes);
}

void OpenStream::Start() {
  if (!method_.permission.has_value()) {
    stream_->Start();
    return;
  }
  {
    absl::MutexLock lock(&desk_.mutex_);
    desk_.open_[stream_.get()] = {stream_, context_.caller};
  }
  // After it is among the open ones: a gate that closes meanwhile is noticed here, or by Close.
  if (desk_.gate_.Enter().ok()) {
    stream_->Start();
  } else {
    stream_->End(ShuttingDown());
  }
}

void OpenStream::Received(absl::StatusOr<MessagePointer> message) {
  if (desk_.observer_ != nullptr) desk_.observer_->OnReceived(method_);
  if (message.ok()) {
    absl::Status allowed =
        Guarded([&] { return desk_.Authorize(method_, context_, **message).status(); });
    if (!allowed.ok()) message = std::move(allowed);
  }
  stream_->OnRead(std::move(message));
}

void OpenStream::NotingDoor::StartWrite(const Message& message) {
  if (open_.desk_.observer_ != nullptr) open_.desk_.observer_->OnSent(open_.method_);
  door_.StartWrite(message);
}

void OpenStream::NotingDoor::Finish(const absl::Status& status) {
  if (open_.desk_.observer_ != nullptr) {
    open_.desk_.observer_->OnHandled(open_.method_, status, nullptr, absl::Now() - start_);
  }
  // What the desk refused itself has the reason of a right, and was logged then.
  if (!ReasonOf(status).metadata.contains("permission")) {
    open_.desk_.usage_.Refused(open_.context_, status);
  }
  door_.Finish(status);  // last: this may be gone after it
}

void OpenStream::Done() {
  if (!method_.permission.has_value()) return;
  Desk& desk = desk_;
  {
    absl::MutexLock lock(&desk.mutex_);
    desk.open_.erase(stream_.get());
  }
  desk.gate_.Leave();
}

void Desk::EndStreams(const std::function<absl::Status(const Caller&)>& why) {
  std::vector<std::pair<std::shared_ptr<Stream>, absl::Status>> ended;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [unused, open] : open_) {
      if (absl::Status status = why(open.caller); !status.ok())
        ended.emplace_back(open.stream, std::move(status));
    }
  }
  // Without the lock: a stream that ends takes it to leave the open ones.
  for (const auto& [stream, status] : ended) stream->End(status);
}

void Desk::Close(absl::Time deadline) {
  health_.SetServing(false);
  gate_.Close();
  EndStreams([](const Caller&) { return ShuttingDown(); });
  gate_.AwaitEmpty(deadline);
}

}  // namespace dpledger::server
