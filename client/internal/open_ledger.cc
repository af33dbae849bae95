#include "client/internal/open_ledger.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "client/internal/refusals.h"
#include "connection/connection.h"
#include "google/protobuf/util/message_differencer.h"

namespace dpledger::client::internal {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);

absl::StatusOr<v1::Ledger> Get(v1::LedgerService::StubInterface& stub, const std::string& name,
                               const std::string& writer, absl::Time deadline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::GetLedgerRequest request;
  request.set_name(name);
  request.set_first_writer(writer);
  v1::Ledger ledger;
  RETURN_IF_ERROR(connection::FromGrpc(stub.GetLedger(&context, request, &ledger)));
  return ledger;
}

absl::StatusOr<v1::Ledger> Create(v1::LedgerService::StubInterface& stub,
                                  const v1::CreateLedgerRequest& request, absl::Time deadline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::Ledger ledger;
  RETURN_IF_ERROR(connection::FromGrpc(stub.CreateLedger(&context, request, &ledger)));
  return ledger;
}

absl::StatusOr<v1::Ledger> GetOrCreate(v1::LedgerService::StubInterface& stub,
                                       const v1::CreateLedgerRequest& request,
                                       const std::string& writer, bool may_make,
                                       absl::Time deadline) {
  absl::StatusOr<v1::Ledger> ledger = Get(stub, request.name(), writer, deadline);
  if (!may_make || !absl::IsNotFound(ledger.status())) return ledger;
  ledger = Create(stub, request, deadline);
  // Another writer of the same ledger was faster; what it declared is compared like any other.
  if (absl::IsAlreadyExists(ledger.status())) return Get(stub, request.name(), writer, deadline);
  return ledger;
}

v1::Declaration Normalised(v1::Declaration declaration) {
  if (declaration.spool_policy() == v1::SPOOL_POLICY_UNSPECIFIED) {
    declaration.set_spool_policy(v1::FAIL_CLOSED);
  }
  return declaration;
}

// A filter that is left out under a budget is the budget's.
absl::Status CheckSame(const v1::Ledger& ledger, v1::Declaration declaration) {
  const v1::Declaration& made = ledger.declaration();
  if (!declaration.budget().empty() && !declaration.has_filter() && made.has_filter()) {
    *declaration.mutable_filter() = made.filter();
  }
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Normalised(made), Normalised(std::move(declaration)))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "declaration: ledger ", ledger.name(), " was made with another one (its value -> yours): ",
      absl::StrReplaceAll(absl::StripSuffix(differences, "\n"), {{"\n", "; "}})));
}

}  // namespace

absl::StatusOr<v1::Ledger> OpenLedger(connection::Servers& servers, const WantedLedger& wanted,
                                      const std::string& writer, absl::Time deadline,
                                      Backoff backoff) {
  v1::CreateLedgerRequest request;
  request.set_name(wanted.name);
  *request.mutable_declaration() = wanted.declaration;
  request.set_new_dataset(wanted.new_dataset);
  request.set_request_id(NewRequestId());
  absl::StatusOr<v1::Ledger> ledger;
  while (true) {
    const std::shared_ptr<grpc::Channel> channel = servers.channel();
    ledger = GetOrCreate(*v1::LedgerService::NewStub(channel), request, writer, wanted.may_make,
                         std::min(deadline, absl::Now() + kCallTimeout));
    if (ledger.ok()) break;
    if (IsRefusal(ledger.status())) return ledger;
    const absl::Status ended = servers.MoveOn(channel, ledger.status());
    const absl::Duration wait = backoff.Next();
    if (absl::Now() + wait >= deadline) return ended;
    absl::SleepFor(wait);
  }
  RETURN_IF_ERROR(CheckSame(*ledger, wanted.declaration));
  if (ledger->state() == v1::SEALED) {
    return absl::FailedPreconditionError(absl::StrCat("ledger: ", wanted.name, " is sealed"));
  }
  return ledger;
}

std::string NewRequestId() {
  char bytes[16];
  // Fails only for a request over 256 bytes or a kernel without the call.
  if (::getentropy(bytes, sizeof(bytes)) != 0) std::abort();
  return HexEncode(std::string_view(bytes, sizeof(bytes)));
}

}  // namespace dpledger::client::internal
