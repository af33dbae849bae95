#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/ledger_flags.h"
#include "cli/progress.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/served_ledger.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

struct ExportFlags : ReadFlags {
  std::string output;
  double delta = 0;  // 0: no statement
};

absl::StatusOr<std::string> Statement(const std::string& name, double delta, uint64_t size,
                                      ServerCalls& server) {
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->add_ledgers(name);
  request.mutable_subject()->set_up_to_sequence(size);
  request.set_delta(delta);
  ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse answer, server.Ask(request));
  return events::MessageToJson(answer, events::Zeros::kPrinted);
}

absl::Status Export(const ExportFlags& flags, Output& out) {
  if (flags.output == "-" && out.json())
    return FieldError("--output", "must be a file with --json: both would be on standard output");
  ServerCalls server(flags.place);
  ASSIGN_OR_RETURN(const local::Reading open, server.place());
  if (open.in_bundles) {
    return absl::InvalidArgumentError(
        absl::StrCat("--store: ", flags.place.stores.front(), " is a bundle already: copy it"));
  }
  ASSIGN_OR_RETURN(const std::string name, server.NameOr(flags.name, "NAME"));
  SetInterruptNote(absl::StrCat("interrupted; ", flags.output, " was not written"));
  ASSIGN_OR_RETURN(bundle::NewFile file, bundle::NewFile::Make(flags.output));
  RemoveOnInterrupt(file.Partial());
  Progress progress("read");
  bundle::ExportHooks hooks;
  hooks.progress = [&](uint64_t read, uint64_t size) { progress.Show(read, size); };
  if (flags.delta > 0) {
    hooks.statement = [&](uint64_t size) { return Statement(name, flags.delta, size, server); };
  }
  const absl::StatusOr<merkle::Checkpoint> exported =
      bundle::ExportLedger(name, server, file, hooks);
  RemoveOnInterrupt("");
  RETURN_IF_ERROR(exported.status());
  const merkle::Checkpoint& checkpoint = *exported;
  v1::LedgerExported answer;
  answer.set_ledger(name);
  answer.set_file(flags.output);
  answer.set_bytes(file.size());
  answer.set_origin(checkpoint.origin);
  answer.set_size(checkpoint.size);
  answer.set_root_hash(merkle::ToBytes(checkpoint.root));
  if (flags.output != "-") return out.Answer(answer);
  out.Note(ToText(answer));  // the bundle is what stdout has
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(flags::App& ledger, Command& chosen) {
  auto [command, flags] = AddCommand(
      ledger, "export",
      "Writes a ledger, with what proves that it is the one that was signed, into one file.",
      "  dpledger ledger export mnist --server 127.0.0.1:7070 --output mnist.bundle\n"
      "  dpledger ledger export --store run.ledger --output run.bundle\n"
      "  tar -xOf mnist.bundle README",
      Export, chosen);
  AddPlain(command, "--output", flags.output, "FILE",
           "the file; it appears when it is whole. - is standard output")
      ->required();
  AddReal(command, "--delta", flags.delta, kOpenUnitInterval,
          "also puts in what the server says epsilon is at this delta");
}

}  // namespace dpledger::cli
