#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/append.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/ledger_flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "events/entry_json.h"

namespace dpledger::cli {
namespace {

// ---- create ----

// Declared by the trainer, as the adjacency.
constexpr char kParametersChoices[] =
    "when the parameters were decided\n"
    "  fixed      schemes, noise multipliers and the number of rounds were decided without looking "
    "at outputs\n"
    "  adaptive   anything else; epsilon is then that of the bound given with --filter";

struct DeclareFlags : CreateFlags {
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  uint64_t planned_rounds = 0;
  bool plan_independent = false;

  void Check() const {
    CreateFlags::Check();
    RefuseIf(parameters == v1::PARAMETERS_UNSPECIFIED, "--parameters",
             absl::StrCat("must be given: ", kParametersChoices));
  }
};

absl::Status Create(const DeclareFlags& flags, Output& out) {
  v1::Declaration declaration;
  declaration.set_parameters(flags.parameters);
  declaration.set_planned_rounds(flags.planned_rounds);
  declaration.set_plan_independent(flags.plan_independent);
  return out.Answer(flags.Create(declaration));
}

void AddCreate(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "create", "Opens a ledger with its declaration.",
      "  dpledger ledger create mnist --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --parameters fixed --planned-rounds 1000\n"
      "  dpledger ledger create search --server 127.0.0.1:7070 --dataset mnist --unit user "
      "--adjacency add-or-remove-one --parameters adaptive --filter rdp:8:2",
      Create, chosen);
  AddParameters(command, flags.parameters, kParametersChoices);
  AddLedgerName(command, "--budget", *flags.declaration.mutable_budget(),
                "the budget that the run is held to; its filter is taken");
  AddBlocks(command, *flags.declaration.mutable_blocks(),
            "the budget's blocks whose units may be in the run's data, like 1-12,14; none: all");
  AddCount(
      command, "--planned-rounds", flags.planned_rounds, 1,
      "the number of rounds decided in advance; answers give the plan's cost beside the spent");
  command.add_flag("--plan-independent", flags.plan_independent,
                   "the plan did not depend on the outputs of any other ledger; without it, "
                   "ledgers together have an odometer, which is no differential privacy");
  AddText(command, "--released", *flags.declaration.mutable_released(), 1024,
          "what is released: \"final model\"");
}

// ---- append ----

struct AppendFlags : LedgerFlags {
  std::string events;
  std::string writer = kOwnWriter;
  std::string request_id;
  uint64_t expected_sequence = 0;
  const flags::Option* expected_sequence_option = nullptr;
};

absl::Status Append(const AppendFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const EventFile file, ReadEventFile(flags.events));
  v1::AppendBatchRequest base;
  base.set_ledger(flags.name);
  base.set_writer(flags.writer);
  base.set_request_id(RequestId(flags.request_id));
  if (flags.expected_sequence_option->count() > 0) {
    base.set_expected_sequence(flags.expected_sequence);
  }
  ServerCalls server(flags.place);
  ASSIGN_OR_RETURN(const v1::Receipt receipt, SendBatches(MakeBatches(base, file.events), server));

  v1::Appended answer;
  answer.set_ledger(flags.name);
  *answer.mutable_receipt() = receipt;
  answer.set_request_id(base.request_id());
  return out.Answer(answer);
}

void AddAppend(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "append", "Appends the events of a file. The whole file is checked before any is sent.",
      "  dpledger ledger append mnist --server 127.0.0.1:7070 --events run.jsonl --request-id "
      "run-17",
      Append, chosen);
  AddPlain(command, "--events", flags.events, "FILE",
           "an event file: one event in proto JSON a line; - is standard input")
      ->required();
  AddRequestId(command, flags.request_id);
  AddWriter(command, flags.writer);
  flags.expected_sequence_option = AddCount(command, "--expected-sequence", flags.expected_sequence,
                                            0, "refuse unless the ledger has this size");
}

// ---- show, read ----

absl::Status Show(const ReadFlags& flags, Output& out) {
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(const std::string name, calls.NameOr(flags.name, "NAME"));
  return out.Answer(calls.Get(name));
}

struct EntriesFlags : ReadFlags {
  uint64_t first = 0;
};

absl::Status Read(const EntriesFlags& flags, Output& out) {
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(const std::string name, calls.NameOr(flags.name, "NAME"));
  v1::ReadEntriesRequest request;
  request.set_ledger(name);
  request.set_first_sequence(flags.first);
  v1::EntriesRead answer;  // for --json only, which prints one object
  answer.set_ledger(name);
  do {
    ASSIGN_OR_RETURN(const v1::ReadEntriesResponse page, calls.Ask(request));
    for (const std::string& bytes : page.entries()) {
      if (out.json()) {
        if (!answer.add_entries()->ParseFromString(bytes))
          return absl::DataLossError("server: sent a bad entry");
      } else {
        ASSIGN_OR_RETURN(const std::string line, events::EntryToLine(bytes));
        out.Line(line);
      }
    }
    request.set_first_sequence(page.next_sequence());
  } while (request.first_sequence() != 0);
  return out.Answer("", answer);
}

void AddRead(flags::App& app, Command& chosen) {
  auto [command, flags] =
      AddCommand(app, "read", "Prints the entries of a ledger, one in proto JSON a line.",
                 "  dpledger ledger read mnist --server 127.0.0.1:7070 --first 1\n"
                 "  dpledger ledger read --store run.bundle | jq -c 'select(.event).event'",
                 Read, chosen);
  AddCount(command, "--first", flags.first, 0, "the sequence to begin with; default: 0");
}

}  // namespace

void AddLedgerCommands(flags::App& app, Command& chosen) {
  flags::App& ledger = AddGroup(
      app, "ledger", "Opens, writes, reads, seals, exports and verifies ledgers.",
      "  dpledger ledger create mnist --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --parameters fixed\n"
      "  dpledger ledger append mnist --server 127.0.0.1:7070 --events run.jsonl\n"
      "  dpledger ledger show mnist --server 127.0.0.1:7070");
  AddCreate(ledger, chosen);
  AddAppend(ledger, chosen);
  AddListCommands(ledger, chosen);
  AddCommand(ledger, "show", "Shows a ledger: declaration, size, root hash, writers.",
             "  dpledger ledger show mnist --server 127.0.0.1:7070 --json\n"
             "  dpledger ledger show --store run.ledger",
             Show, chosen);
  AddRead(ledger, chosen);
  AddSealCommand(ledger, chosen);
  AddLedgerEntryCommands(ledger, chosen);
  AddExportCommand(ledger, chosen);
  AddVerifyCommand(ledger, chosen);
  AddImportCommand(ledger, chosen);
}

}  // namespace dpledger::cli
