// `dpledger admin access`: who used the server for what.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/access.pb.h"
#include "dpledger/v1/command.pb.h"

namespace dpledger::cli {
namespace {

constexpr uint64_t kPageSize = 1'000;

struct AccessFlags {
  connection::ServerAccess server;
  v1::ListAccessRequest request;  // of its texts those that one flag says
  std::string month;
  bool refused = false, known_callers = false;
  uint64_t last = 100;
};

absl::Status Show(const AccessFlags& flags, Output& out) {
  v1::ListAccessRequest request = flags.request;
  request.set_refused(flags.refused);
  request.set_known_callers(flags.known_callers);
  request.set_first_month(flags.month);
  request.set_last_month(flags.month);
  ServerCalls server(flags.server);
  v1::AccessRead shown;
  do {
    const auto wanted = flags.last - static_cast<uint64_t>(shown.access_size());
    request.set_page_size(static_cast<uint32_t>(std::min<uint64_t>(wanted, kPageSize)));
    ASSIGN_OR_RETURN(v1::ListAccessResponse page, server.Ask(request));
    for (v1::Access& access : *page.mutable_access()) *shown.add_access() = std::move(access);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() &&
           static_cast<uint64_t>(shown.access_size()) < flags.last);
  if (!request.page_token().empty())
    out.Note(absl::StrCat("there may be more before these ", flags.last, ": --last"));
  return out.Answer(shown);
}

}  // namespace

void AddAccessCommand(flags::App& admin, Command& chosen) {
  auto [command, flags] = AddCommand(
      admin, "access",
      "Shows who used the server for what: administration, refusals, and reads added up by minute; "
      "of one ledger, who read or exported it. Appends are not here: each entry of a ledger names "
      "its caller. Lists of many ledgers name none of them.",
      "  dpledger admin access adult --server 127.0.0.1:7070\n"
      "  dpledger admin access adult --server 127.0.0.1:7070 --permission export\n"
      "  dpledger admin access --server 127.0.0.1:7070 --refused --month 2026-11",
      Show, chosen);
  AddRequiredServer(command, flags.server);
  AddLedgerName(command, "ledger", *flags.request.mutable_resource(),
                "only what was done with this ledger");
  command.add_option("--month", flags.month, "YYYY-MM, in UTC; all months if not given")
      ->type_name("MONTH")
      ->check([](const std::string& text) {
        absl::Time unused;
        return text.size() == 7 && absl::ParseTime("%Y-%m", text, &unused, nullptr)
                   ? std::string()
                   : absl::StrCat("must be YYYY-MM, got ", text);
      });
  command.add_option("--caller", *flags.request.mutable_caller(),
                     "only this caller, as token:alice");
  command.add_option(
      "--permission", *flags.request.mutable_permission(),
      "only what needed this one: list, ask, read_entries, export, verify, administer");
  command.add_option("--last", flags.last, "so many at most, the newest")
      ->check(flags::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--refused", flags.refused, "only what was refused");
  command.add_flag("--known-callers", flags.known_callers,
                   "only callers that the server knows: no refused sign-ins");
}

}  // namespace dpledger::cli
