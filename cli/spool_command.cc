// Commands about spools: what a trainer's disk holds.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "client/spool_import.h"
#include "connection/connection.h"
#include "dpledger/v1/command.pb.h"

namespace dpledger::cli {
namespace {

struct ImportFlags {
  std::string folder;
  connection::ServerAccess server;
};

absl::Status Import(const ImportFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, connection::Connect(flags.server));
  const std::unique_ptr<v1::LedgerService::Stub> stub = v1::LedgerService::NewStub(channel);
  std::vector<std::string> files = {flags.folder};
  if (std::filesystem::is_directory(flags.folder)) {
    ASSIGN_OR_RETURN(files, client::SpoolFiles(flags.folder));
  }
  v1::SpoolsImported answer;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const client::SpoolImport import, client::ImportSpool(file, *stub));
    v1::SpoolsImported::Spool& spool = *answer.add_spools();
    spool.set_path(import.path);
    spool.set_ledger(import.ledger);
    spool.set_writer(import.writer);
    spool.set_delivered_batches(import.delivered_batches);
    spool.set_late_events(import.late_events);
  }
  return out.Answer(answer);
}

}  // namespace

void AddSpoolCommands(flags::App& app, Command& chosen) {
  flags::App& spool = AddGroup(app, "spool", "What a trainer's disk holds and no server has.",
                               "  dpledger spool import run/spool --server 127.0.0.1:7070");
  auto [command, flags] = AddCommand(
      spool, "import",
      "Brings in what a spool holds and its server refused: the writer had closed, the ledger was "
      "sealed, or another recorder had opened the writer again. It counts from then on. Safe to "
      "repeat.",
      "  dpledger spool import run/spool --server 127.0.0.1:7070", Import, chosen);
  command.add_option("FOLDER", flags.folder, "the recorder's spool folder, or one file of it")
      ->required();
  AddRequiredServer(command, flags.server);
}

}  // namespace dpledger::cli
