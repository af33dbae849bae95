#include "cli/server_calls.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::cli {
namespace {

// Longer than a server's own bound on a question, so that its answer, and not this, is what the
// user sees.
constexpr absl::Duration kDeadline = absl::Minutes(5);

constexpr auto kConnectPatience = std::chrono::seconds(1);

// For ten seconds.
constexpr absl::Duration kRetryEvery = absl::Milliseconds(50);
constexpr int kMostTries = 200;

}  // namespace

ServerCalls::ServerCalls(const connection::ServerAccess& server)
    : ServerCalls("", local::Reading(), connection::Connect(server)) {
  if (!channel_.ok()) return;
  const connection::ServerAccess known = *connection::Complete(server);  // Connect has checked it
  address_ = known.address;
  log_keys_ = *connection::LogKeys::Parse(known.log_key);
}

ServerCalls::ServerCalls(const WritePlace& place)
    : ServerCalls(place.folder.empty() ? ServerCalls(place.server)
                                       : ServerCalls("", local::Reading(), OpenToWrite(place))) {}

ServerCalls::ServerCalls(const LedgerPlace& place, bool costs)
    : ServerCalls(place.AtRest() ? AtRest(place, costs) : ServerCalls(place.server)) {}

ServerCalls::ServerCalls(std::string address, absl::StatusOr<local::Reading> place,
                         absl::StatusOr<std::shared_ptr<grpc::Channel>> channel)
    : place_(std::move(place)), address_(std::move(address)), channel_(std::move(channel)) {}

ServerCalls ServerCalls::AtRest(const LedgerPlace& place, bool costs) {
  absl::StatusOr<local::Reading> opened = OpenAtRest(place, costs);
  if (!opened.ok()) return ServerCalls("", opened.status(), opened.status());
  std::shared_ptr<grpc::Channel> channel = opened->channel;
  return ServerCalls("", std::move(opened), std::move(channel));
}

absl::StatusOr<std::string> ServerCalls::NameOr(const std::string& name,
                                                const std::string& flag) const {
  if (!name.empty()) return name;
  RETURN_IF_ERROR(place_.status());
  if (place_->ledgers.size() == 1) return place_->ledgers.front();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": must name one of the ", place_->ledgers.size(),
                   " ledgers here: ", absl::StrJoin(place_->ledgers, ", ")));
}

void ServerCalls::Assume(v1::AnswerDetails& details) const {
  if (!place_.ok()) return;
  for (const std::string& one : place_->assumptions) details.add_assumptions(one);
}

absl::Status ServerCalls::Watch(
    const v1::WatchLedgersRequest& request,
    const std::function<absl::Status(const v1::WatchLedgersResponse&)>& take) {
  RETURN_IF_ERROR(channel_.status());
  (*channel_)->WaitForConnected(std::chrono::system_clock::now() + kConnectPatience);
  grpc::ClientContext context;  // without a deadline: it does not end by itself
  const auto reader = v1::LedgerService::NewStub(*channel_)->WatchLedgers(&context, request);
  v1::WatchLedgersResponse next;
  absl::Status taken;
  while (taken.ok() && reader->Read(&next)) taken = take(next);
  if (!taken.ok()) context.TryCancel();
  const absl::Status ended = connection::FromGrpc(reader->Finish());
  return taken.ok() ? WithAddress(ended) : taken;
}

absl::Status ServerCalls::operator()(const google::protobuf::Message& request,
                                     google::protobuf::Message& answer) const {
  RETURN_IF_ERROR(channel_.status());
  absl::Status status = CallOnce(request, answer);
  // What it spends of a filter is being worked out.
  for (int tries = 0; tries < kMostTries && ReasonOf(status).reason == "FILTER_NOT_READY";
       ++tries) {
    absl::SleepFor(kRetryEvery);
    status = CallOnce(request, answer);
  }
  return status;
}

absl::Status ServerCalls::CallOnce(const google::protobuf::Message& request,
                                   google::protobuf::Message& answer) const {
  // Whether it worked shows in the call itself, with the reason if not.
  if (!address_.empty()) {
    (*channel_)->WaitForConnected(std::chrono::system_clock::now() + kConnectPatience);
  }
  return WithAddress(connection::Call(*channel_, request, answer, absl::Now() + kDeadline));
}

absl::Status ServerCalls::WithAddress(const absl::Status& status) const {
  if (!absl::IsUnavailable(status)) return status;
  return WithReason(
      absl::UnavailableError(absl::StrCat("server ", address_, ": ", status.message())),
      ReasonOf(status));
}

absl::StatusOr<v1::Ledger> ServerCalls::Get(const std::string& name,
                                            const std::string& first_writer) {
  v1::GetLedgerRequest request;
  request.set_name(name);
  request.set_first_writer(first_writer);
  return Ask(request);
}

absl::StatusOr<v1::Receipt> ServerCalls::Append(const v1::AppendBatchRequest& request) {
  v1::AppendBatchRequest sent = request;
  const merkle::Hash hash = log_keys_.empty() ? merkle::Hash{} : log_keys_.AskFor(sent);
  ASSIGN_OR_RETURN(const v1::AppendBatchResponse response, Ask(sent));
  RETURN_IF_ERROR(log_keys_.Check(hash, response.receipt()));
  return response.receipt();
}

}  // namespace dpledger::cli
