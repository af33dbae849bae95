// Commands that add to a ledger's story: forks, notes, corrections and the end of a budget's
// blocks.
#include <string>

#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/ledger_flags.h"
#include "cli/server_calls.h"

namespace dpledger::cli {
namespace {

// ---- fork ----

struct ForkFlags {
  v1::ForkLedgerRequest request;  // its names and the reason
  v1::Declaration declared;       // its texts
  WritePlace place;
  uint64_t size = 0;
  uint64_t planned_rounds = 0;
  std::string request_id;
};

// What is not given stays as the parent declared it.
absl::Status Fork(const ForkFlags& flags, Output& out) {
  ServerCalls server(flags.place);
  v1::ForkLedgerRequest request = flags.request;
  request.set_parent_size(flags.size);
  request.set_request_id(RequestId(flags.request_id));
  v1::Declaration declared = flags.declared;
  declared.set_planned_rounds(flags.planned_rounds);
  if (declared.ByteSizeLong() > 0) {
    ASSIGN_OR_RETURN(const v1::Ledger parent, server.Get(request.parent()));
    *request.mutable_declaration() = parent.declaration();
    request.mutable_declaration()->MergeFrom(declared);
  }
  return out.Answer(server.Ask(request));
}

void AddFork(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "fork",
      "Opens a ledger that carries on from the first entries of another, which are part of its "
      "cost.",
      "  dpledger ledger fork mnist mnist-warm --server 127.0.0.1:7070 --size 2001 --reason \"from "
      "the state after epoch 4\"",
      Fork, chosen);
  AddLedgerName(command, "PARENT", *flags.request.mutable_parent(), "the ledger to carry on from")
      ->required();
  AddLedgerName(command, "CHILD", *flags.request.mutable_name(), "the new ledger")->required();
  flags.place.AddTo(command);
  AddCount(command, "--size", flags.size, 1,
           "how many of the parent's entries it carries; default: all");
  AddText(command, "--reason", *flags.request.mutable_reason(), 1024, "why, in your own words");
  AddCount(command, "--planned-rounds", flags.planned_rounds, 1,
           "the number of rounds decided in advance, those of the parent's entries included; "
           "default: the parent's");
  AddText(command, "--released", *flags.declared.mutable_released(), 1024,
          "what is released; default: as the parent says");
  AddText(command, "--description", *flags.declared.mutable_description(), 4096,
          "your own words; default: the parent's");
  AddRequestId(command, flags.request_id);
}

// ---- note, correct ----

struct EntryFlags : LedgerFlags {
  v1::NewEntry entry;
  std::string writer = kOwnWriter;
  std::string request_id;
};

absl::Status AppendEntry(const EntryFlags& flags, Output& out) {
  v1::AppendBatchRequest request;
  request.set_ledger(flags.name);
  request.set_writer(flags.writer);
  request.set_request_id(RequestId(flags.request_id));
  *request.add_entries() = flags.entry;
  v1::Appended answer;
  ASSIGN_OR_RETURN(*answer.mutable_receipt(), ServerCalls(flags.place).Append(request));
  answer.set_ledger(flags.name);
  answer.set_request_id(request.request_id());
  return out.Answer(answer);
}

void AddWriterAndId(flags::App& command, EntryFlags& flags) {
  AddWriter(command, flags.writer);
  AddRequestId(command, flags.request_id);
}

void AddNote(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "note", "Appends a note in words.",
      "  dpledger ledger note mnist --server 127.0.0.1:7070 --text \"moved to another machine\"",
      AppendEntry, chosen);
  AddText(command, "--text", *flags.entry.mutable_note()->mutable_text(), 4096, "the note")
      ->required();
  AddWriterAndId(command, flags);
}

struct CorrectFlags : EntryFlags {
  uint64_t sequence = 0;
};

absl::Status Correct(const CorrectFlags& flags, Output& out) {
  EntryFlags correction = flags;
  correction.entry.mutable_correction()->set_corrected_sequence(flags.sequence);
  return AppendEntry(correction, out);
}

void AddCorrect(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "correct",
      "Says that an earlier entry is wrong, and how. The entry stays and so does its cost: what "
      "was released stays released.",
      "  dpledger ledger correct mnist --server 127.0.0.1:7070 --sequence 17 --text \"sigma was "
      "1.2\"",
      Correct, chosen);
  AddCount(command, "--sequence", flags.sequence, 0, "of the entry that is wrong")->required();
  AddText(command, "--text", *flags.entry.mutable_correction()->mutable_text(), 4096,
          "what is wrong with it")
      ->required();
  AddWriterAndId(command, flags);
}

}  // namespace

void AddRetireCommand(flags::App& budget, Command& chosen) {
  auto [command, flags] = AddCommand(
      budget, "retire",
      "Ends blocks of a budget, for ever: nothing more of them is granted. What runs were granted "
      "stays.",
      "  dpledger budget retire visits-2026 --server 127.0.0.1:7070 --blocks 1-60 --reason \"older "
      "than five years\"",
      AppendEntry, chosen);
  v1::RetiredBlocks& retired = *flags.entry.mutable_retired_blocks();
  AddBlocks(command, *retired.mutable_blocks(), "those that end, like 1-12,14")->required();
  AddText(command, "--reason", *retired.mutable_reason(), 1024, "why, in your own words");
  AddWriterAndId(command, flags);
}

void AddLedgerEntryCommands(flags::App& ledger, Command& chosen) {
  AddFork(ledger, chosen);
  AddNote(ledger, chosen);
  AddCorrect(ledger, chosen);
}

}  // namespace dpledger::cli
