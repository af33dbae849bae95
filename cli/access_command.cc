// `dpledger admin access`: who used the server for what.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/server_calls.h"
#include "dpledger/v1/access.pb.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"

namespace dpledger::cli {
namespace {

struct AccessFlags {
  connection::ServerAccess server;
  std::string month;
  std::string caller;
  bool refused = false;
};

std::string TimeText(const v1::Access& access) {
  const char* const format = access.reads_size() > 0 ? "%Y-%m-%dT%H:%MZ" : "%Y-%m-%dT%H:%M:%SZ";
  return absl::FormatTime(format, absl::FromUnixSeconds(access.time().seconds()),
                          absl::UTCTimeZone());
}

// Of what was refused: where it came from, what for and why.
std::string RefusalText(const v1::Access& access) {
  const v1::Access::Refused& refused = access.refused();
  std::string text = "refused";
  for (const std::string& part : {refused.permission(), refused.resource()}) {
    if (!part.empty()) absl::StrAppend(&text, " ", part);
  }
  absl::StrAppend(&text, ": ", refused.reason());
  if (refused.count() != 1) absl::StrAppend(&text, ", ", refused.count(), " times");
  return text;
}

void PrintText(const v1::Access& access, Output& out) {
  std::string who = access.caller().empty() ? "(unknown)" : access.caller();
  if (!access.peer().empty()) absl::StrAppend(&who, " at ", access.peer());
  const std::string start = absl::StrCat(TimeText(access), "  ", who, "  ");
  for (const auto& read : access.reads()) {
    out.Line(absl::StrCat(start, read.permission(), " ",
                          read.resource().empty() ? "(nothing named)" : read.resource(), "  ",
                          read.count(), read.count() == 1 ? " time" : " times"));
  }
  if (access.has_refused()) out.Line(absl::StrCat(start, RefusalText(access)));
  if (access.has_administers()) {
    out.Line(absl::StrCat(start, "administers: ", access.administers().method(), " ",
                          access.administers().about()));
  }
}

absl::Status Show(const AccessFlags& flags, Output& out) {
  const std::string month = flags.month.empty()
                                ? absl::FormatTime("%Y-%m", absl::Now(), absl::UTCTimeZone())
                                : flags.month;
  const std::string ledger = absl::StrCat("projects/access-record/ledgers/", month);
  ServerCalls server(flags.server);
  bundle::EntryStream entries(ledger, &server);
  v1::AccessRead shown;
  shown.set_ledger(ledger);
  while (true) {
    absl::StatusOr<std::string> bytes = entries.Next();
    if (absl::IsOutOfRange(bytes.status())) break;
    RETURN_IF_ERROR(bytes.status());
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(*bytes)) return absl::DataLossError("server: sent a bad entry");
    if (!entry.has_note()) continue;
    v1::Access access;
    RETURN_IF_ERROR(events::MessageFromJson(entry.note().text(), "a note of the record", access));
    if (!flags.caller.empty() && access.caller() != flags.caller) continue;
    if (flags.refused && !access.has_refused()) continue;
    if (out.json()) {
      *shown.add_access() = std::move(access);
    } else {
      PrintText(access, out);
    }
  }
  if (!out.json()) return absl::OkStatus();
  out.Answer("", shown);
  return absl::OkStatus();
}

}  // namespace

void AddAccessCommand(flags::App& admin, Command& chosen) {
  auto flags = std::make_shared<AccessFlags>();
  flags::App* command = AddCommand(
      admin, "access",
      "Shows who used the server for what in a month: administration, refusals, and reads added up "
      "by minute. Appends are not here: each entry of a ledger names its caller.",
      "  dpledger admin access --server 127.0.0.1:7070 --refused\n"
      "  dpledger admin access --server 127.0.0.1:7070 --month 2026-11 --caller token:alice");
  AddRequiredServer(*command, flags->server);
  command->add_option("--month", flags->month, "YYYY-MM, in UTC; this month if not given")
      ->type_name("MONTH")
      ->check([](const std::string& text) {
        absl::Time unused;
        return text.size() == 7 && absl::ParseTime("%Y-%m", text, &unused, nullptr)
                   ? std::string()
                   : absl::StrCat("must be YYYY-MM, got ", text);
      });
  command->add_option("--caller", flags->caller, "only this caller, as token:alice");
  command->add_flag("--refused", flags->refused, "only what was refused");
  command->callback(
      [flags, &chosen] { chosen = [flags](Output& out) { return Show(*flags, out); }; });
}

}  // namespace dpledger::cli
