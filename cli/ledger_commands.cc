#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/append.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/ledger_flags.h"
#include "cli/ledger_output.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "events/entry_json.h"

namespace dpledger::cli {
namespace {

// ---- create ----

// The trainer declares both: a default would sign a promise that nobody gave.
constexpr char kAdjacencyChoices[] =
    "what makes two data sets neighbours\n"
    "  add-or-remove-one   one record is added or removed: usual for Poisson sampling\n"
    "  replace-one         one record is replaced by another: for batches of a fixed size\n"
    "  zero-out            one record is replaced by one that contributes nothing";
constexpr char kParametersChoices[] =
    "when the parameters were decided\n"
    "  fixed      schemes, noise multipliers and the number of rounds were decided without looking "
    "at outputs\n"
    "  adaptive   anything else; epsilon is then that of the bound given with --filter";

void RequireChoice(const char* flag, bool given, const char* choices) {
  if (given) return;
  throw flags::ValidationError(flag, absl::StrCat("must be given: ", choices));
}

struct CreateFlags : LedgerFlags {
  std::string dataset;
  std::string unit;
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  v1::Filter filter;
  std::string budget;
  google::protobuf::RepeatedPtrField<v1::BlockRange> blocks;
  uint64_t planned_rounds = 0;
  bool plan_independent = false;
  std::string released;
  std::string description;
  std::string request_id;
  bool new_dataset = false;
};

absl::Status Create(const CreateFlags& flags, Output& out) {
  v1::CreateLedgerRequest request;
  request.set_name(flags.name);
  request.set_request_id(RequestId(flags.request_id));
  request.set_new_dataset(flags.new_dataset);
  v1::Declaration& declaration = *request.mutable_declaration();
  declaration.set_dataset(flags.dataset);
  declaration.set_unit_of_privacy(flags.unit);
  declaration.set_adjacency(flags.adjacency);
  declaration.set_parameters(flags.parameters);
  if (flags.filter.kind_case() != v1::Filter::KIND_NOT_SET) {
    *declaration.mutable_filter() = flags.filter;
  }
  declaration.set_budget(flags.budget);
  *declaration.mutable_blocks() = flags.blocks;
  declaration.set_planned_rounds(flags.planned_rounds);
  declaration.set_plan_independent(flags.plan_independent);
  declaration.set_released(flags.released);
  declaration.set_description(flags.description);
  ASSIGN_OR_RETURN(const v1::Ledger ledger, ServerCalls(flags.place).Ask(request));
  out.Answer(ToText(ledger), ledger);
  return absl::OkStatus();
}

void AddCreate(flags::App& app, Command& chosen) {
  flags::App* command = AddCommand(
      app, "create", "Opens a ledger with its declaration.",
      "  dpledger ledger create mnist --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --parameters fixed --planned-rounds 1000\n"
      "  dpledger ledger create search --server 127.0.0.1:7070 --dataset mnist --unit user "
      "--adjacency add-or-remove-one --parameters adaptive --filter rdp:8:2");
  auto flags = std::make_shared<CreateFlags>();
  flags->AddTo(*command);
  AddName(*command, "--dataset", flags->dataset, 256,
          "which data set; the same name, letter for letter, in every ledger over it")
      ->required();
  command->add_flag("--new-dataset", flags->new_dataset,
                    "the data set is a new one, however much its name is like another's");
  AddName(*command, "--unit", flags->unit, 256, "what one record is: example, user, hospital")
      ->required();
  AddAdjacency(*command, flags->adjacency, kAdjacencyChoices);
  AddParameters(*command, flags->parameters, kParametersChoices);
  AddFilter(*command, flags->filter);
  AddLedgerName(*command, "--budget", flags->budget,
                "the budget that the run is held to; its filter is taken");
  AddBlocks(*command, flags->blocks,
            "the budget's blocks whose units may be in the run's data, like 1-12,14; none: all");
  AddCount(
      *command, "--planned-rounds", flags->planned_rounds, 1,
      "the number of rounds decided in advance; answers give the plan's cost beside the spent");
  command->add_flag(
      "--plan-independent", flags->plan_independent,
      "the plan did not depend on the outputs of any other ledger; without it, ledgers "
      "together have an odometer, which is no differential privacy");
  AddText(*command, "--released", flags->released, 1024, "what is released: \"final model\"");
  AddText(*command, "--description", flags->description, 4096, "your own words");
  AddRequestId(*command, flags->request_id);
  command->callback([flags, &chosen] {
    RequireChoice("--adjacency", flags->adjacency != v1::ADJACENCY_UNSPECIFIED, kAdjacencyChoices);
    RequireChoice("--parameters", flags->parameters != v1::PARAMETERS_UNSPECIFIED,
                  kParametersChoices);
    chosen = [flags](Output& out) { return Create(*flags, out); };
  });
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

  const std::string root = HexEncode(receipt.root_hash());
  v1::Appended answer;
  answer.set_ledger(flags.name);
  *answer.mutable_receipt() = receipt;
  answer.set_request_id(base.request_id());
  out.Answer(
      absl::StrCat("stored ", receipt.count(), receipt.count() == 1 ? " event in " : " events in ",
                   flags.name, " from sequence ", receipt.first_sequence(), "\nsize ",
                   receipt.size(), "\nroot ", root, "\nrequest id ", base.request_id(), "\n"),
      answer);
  return absl::OkStatus();
}

void AddAppend(flags::App& app, Command& chosen) {
  flags::App* command = AddCommand(
      app, "append", "Appends the events of a file. The whole file is checked before any is sent.",
      "  dpledger ledger append mnist --server 127.0.0.1:7070 --events run.jsonl --request-id "
      "run-17");
  auto flags = std::make_shared<AppendFlags>();
  flags->AddTo(*command);
  command
      ->add_option("--events", flags->events,
                   "an event file: one event in proto JSON a line; - is standard input")
      ->type_name("FILE")
      ->required();
  AddRequestId(*command, flags->request_id);
  AddWriter(*command, flags->writer);
  flags->expected_sequence_option =
      AddCount(*command, "--expected-sequence", flags->expected_sequence, 0,
               "refuse unless the ledger has this size");
  command->callback(
      [flags, &chosen] { chosen = [flags](Output& out) { return Append(*flags, out); }; });
}

// ---- show, read ----

void AddShow(flags::App& app, Command& chosen) {
  flags::App* command =
      AddCommand(app, "show", "Shows a ledger: declaration, size, root hash, writers.",
                 "  dpledger ledger show mnist --server 127.0.0.1:7070 --json\n"
                 "  dpledger ledger show --store run.ledger");
  auto flags = std::make_shared<ReadFlags>();
  flags->AddTo(*command);
  command->callback([flags, &chosen] {
    chosen = [flags](Output& out) -> absl::Status {
      ServerCalls calls(flags->place);
      ASSIGN_OR_RETURN(const std::string name, calls.NameOr(flags->name, "NAME"));
      ASSIGN_OR_RETURN(const v1::Ledger ledger, calls.Get(name));
      out.Answer(ToText(ledger), ledger);
      return absl::OkStatus();
    };
  });
}

absl::Status Read(const ReadFlags& flags, uint64_t first, Output& out) {
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(const std::string name, calls.NameOr(flags.name, "NAME"));
  v1::ReadEntriesRequest request;
  request.set_ledger(name);
  request.set_first_sequence(first);
  v1::EntriesRead answer;  // for --json only, which prints one object
  answer.set_ledger(name);
  do {
    ASSIGN_OR_RETURN(const v1::ReadEntriesResponse page, calls.Read(request));
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
  out.Answer("", answer);
  return absl::OkStatus();
}

void AddRead(flags::App& app, Command& chosen) {
  struct Flags : ReadFlags {
    uint64_t first = 0;
  };
  flags::App* command =
      AddCommand(app, "read", "Prints the entries of a ledger, one in proto JSON a line.",
                 "  dpledger ledger read mnist --server 127.0.0.1:7070 --first 1\n"
                 "  dpledger ledger read --store run.bundle | jq -c 'select(.event).event'");
  auto flags = std::make_shared<Flags>();
  flags->AddTo(*command);
  AddCount(*command, "--first", flags->first, 0, "the sequence to begin with; default: 0");
  command->callback([flags, &chosen] {
    chosen = [flags](Output& out) { return Read(*flags, flags->first, out); };
  });
}

}  // namespace

void AddLedgerCommands(flags::App& app, Command& chosen) {
  flags::App* ledger =
      app.add_subcommand("ledger", "Opens, writes, reads, seals, exports and verifies ledgers.");
  ledger->footer(
      "  dpledger ledger create mnist --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --parameters fixed\n"
      "  dpledger ledger append mnist --server 127.0.0.1:7070 --events run.jsonl\n"
      "  dpledger ledger show mnist --server 127.0.0.1:7070");
  ledger->require_subcommand(0, 1);
  AddCreate(*ledger, chosen);
  AddAppend(*ledger, chosen);
  AddListCommands(*ledger, chosen);
  AddShow(*ledger, chosen);
  AddRead(*ledger, chosen);
  AddSealCommand(*ledger, chosen);
  AddLedgerEntryCommands(*ledger, chosen);
  AddExportCommand(*ledger, chosen);
  AddVerifyCommand(*ledger, chosen);
  AddImportCommand(*ledger, chosen);
}

}  // namespace dpledger::cli
