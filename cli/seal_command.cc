#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/ledger_flags.h"
#include "cli/server_calls.h"
#include "events/seal_rules.h"
#include "events/writer_rules.h"

namespace dpledger::cli {
namespace {

using Names = std::vector<std::string>;

struct SealFlags : LedgerFlags {
  Names missing_writers;
  bool open_writers_are_missing = false;
  bool yes = false;
  std::string request_id;
};

bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The first 20, and how many more there are.
std::string Listed(const Names& names) {
  constexpr size_t kNamed = 20;
  const auto end = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kNamed));
  const size_t more = static_cast<size_t>(names.end() - end);
  return absl::StrCat(absl::StrJoin(names.begin(), end, ", "),
                      more == 0 ? "" : absl::StrCat(", and ", more, " more"));
}

// The writers that have not closed. This program's own is left out: it is closed with the ledger.
absl::StatusOr<Names> OpenWriters(const std::string& ledger, ServerCalls& server) {
  Names open;
  std::string first;
  while (true) {
    ASSIGN_OR_RETURN(const v1::Ledger page, server.Get(ledger, first));
    for (const v1::WriterStatus& writer : page.writers()) {
      const std::string& name = writer.writer();
      // A page begins with the last writer of the one before.
      if (!writer.closed() && name != first && name != kOwnWriter) open.push_back(name);
    }
    if (page.writers_size() == 0 || page.writers().rbegin()->writer() == first) return open;
    first = page.writers().rbegin()->writer();
  }
}

// Says that this program has nothing more to deliver: it does not run between its commands.
absl::Status CloseOwnWriter(const v1::WriterStatus& writer, const v1::SealLedgerRequest& seal,
                            ServerCalls& server) {
  v1::AppendBatchRequest request;
  request.set_ledger(seal.name());
  request.set_writer(writer.writer());
  request.set_request_id(absl::StrCat(seal.request_id(), ".close"));
  request.add_entries()->mutable_writer_closed()->set_entry_count(writer.entry_count() + 1);
  return server.Append(request).status();
}

// Asks a person on stderr, and reads a line of stdin; a stdin that is no terminal is asked nothing.
absl::Status Confirm(const std::string& question, const std::string& refusal) {
  if (isatty(STDIN_FILENO) == 1) {
    std::fprintf(stderr, "%s [y/N] ", question.c_str());
    std::fflush(stderr);
    std::string answer;
    std::getline(std::cin, answer);
    answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
    if (answer == "y" || answer == "yes") return absl::OkStatus();
  }
  return WithReason(absl::FailedPreconditionError(refusal), {"NOT_CONFIRMED", {}});
}

// What these have not delivered stays out for good: that is a person's to say, or a script's that
// says so.
absl::Status ConfirmMissing(const Names& missing, bool yes) {
  if (yes || missing.empty()) return absl::OkStatus();
  const std::string listed = Listed(missing);
  const bool one = missing.size() == 1;
  return Confirm(absl::StrCat(missing.size(), one ? " writer has" : " writers have",
                              " not closed: ", listed, ". Seal without ", one ? "it?" : "them?"),
                 absl::StrCat("missing_writers: these have not closed and may hold undelivered "
                              "events: ",
                              listed,
                              "; nothing was sealed. Without a terminal --yes seals without "
                              "them"));
}

absl::Status CheckNamed(const Names& open, const Names& named) {
  Names others;
  for (const std::string& name : open) {
    if (!Contains(named, name)) others.push_back(name);
  }
  if (others.empty()) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "missing_writers: these have not closed either, and are not named: ", Listed(others),
          "; name each with --missing-writer, or all with --open-writers-are-missing")),
      {"WRITERS_OPEN", {}});
}

void SayMissing(const Names& missing, v1::SealLedgerRequest& request) {
  if (missing.size() > events::kMostNamedMissing) {
    request.set_open_writers_are_missing(true);
  } else {
    *request.mutable_missing_writers() = {missing.begin(), missing.end()};
  }
}

absl::Status Seal(const SealFlags& flags, Output& out) {
  ServerCalls server(flags.place);
  v1::SealLedgerRequest request;
  request.set_name(flags.name);
  request.set_request_id(RequestId(flags.request_id));
  request.set_open_writers_are_missing(flags.open_writers_are_missing);

  ASSIGN_OR_RETURN(const v1::Ledger before, server.Get(flags.name, kOwnWriter));
  ASSIGN_OR_RETURN(Names missing, OpenWriters(flags.name, server));
  if (!flags.missing_writers.empty()) {
    RETURN_IF_ERROR(CheckNamed(missing, flags.missing_writers));
    missing = flags.missing_writers;
  }
  // A ledger that is sealed already: the same request again gets its answer, any other one is
  // refused.
  const bool open = before.state() == v1::OPEN;
  if (open) RETURN_IF_ERROR(ConfirmMissing(missing, flags.yes));

  const v1::WriterStatus* own = nullptr;
  if (before.writers_size() > 0 && before.writers(0).writer() == kOwnWriter &&
      !before.writers(0).closed() && !Contains(missing, kOwnWriter)) {
    own = &before.writers(0);
  }
  if (own != nullptr) {
    const absl::Status closed = open ? CloseOwnWriter(*own, request, server) : absl::OkStatus();
    // Another caller's use of this program: for this one it is a writer like others.
    const bool of_another = ReasonOf(closed).reason == events::kWriterOfAnotherCaller;
    if (!closed.ok() && !of_another) return closed;
    if (of_another) RETURN_IF_ERROR(ConfirmMissing({kOwnWriter}, flags.yes));
    if (of_another || !open) missing.push_back(kOwnWriter);
  }
  if (!flags.open_writers_are_missing) SayMissing(missing, request);
  return out.Answer(server.Ask(request));
}

}  // namespace

void AddSealCommand(flags::App& ledger, Command& chosen) {
  auto [command, flags] = AddCommand(
      ledger, "seal", "Ends a ledger: nothing can be appended after it.",
      "  dpledger ledger seal mnist --server 127.0.0.1:7070\n"
      "  dpledger ledger seal mnist --server 127.0.0.1:7070 --missing-writer worker-3 --yes",
      Seal, chosen);
  AddPlain(command, "--missing-writer", flags.missing_writers, "ID",
           "a writer that never closed; may repeat, and is recorded");
  command
      .add_flag(
          "--open-writers-are-missing", flags.open_writers_are_missing,
          "all writers that have not closed when the ledger is sealed; recorded by name up to "
          "500")
      ->excludes("--missing-writer");
  command.add_flag("--yes", flags.yes,
                   "seal without the writers that have not closed, and do not ask; only the "
                   "ledger's creator and administrators may");
  AddRequestId(command, flags.request_id);
}

}  // namespace dpledger::cli
