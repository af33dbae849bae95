#include "cli/ledger_place.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/flags.h"

namespace dpledger::cli {
namespace {

// The caller knows the path as a flag.
absl::Status OfFlag(const absl::Status& status) {
  const std::string message(status.message());
  if (!absl::StartsWith(message, "path: ")) return status;
  return WithReason(absl::Status(status.code(), absl::StrCat("--store: ", message.substr(6))),
                    ReasonOf(status));
}

}  // namespace

void LedgerPlace::AddTo(flags::App& app) {
  AddPlain(app, "--store", stores, "PATH",
           "in place of a server: the folder of a recorder's ledgers or of a server's store, "
           "or a bundle, of which there may be several; it is only read");
  AddServer(app, server);
}

void LedgerPlace::Check() const {
  if (!AtRest()) return CheckServer(server);
  RefuseIf(!server.address.empty(), "--store",
           "must not be given with --server: the ledgers are in one");
}

void AddRequiredPlace(flags::App& app, LedgerPlace& place) {
  place.AddTo(app);
  app.parse_complete_callback([&place] { place.Check(); });
}

void WritePlace::AddTo(flags::App& app) {
  AddPlain(app, "--store", folder, "PATH",
           makes ? "in place of a server: the folder of a recorder's ledgers; made if there is none"
                 : "in place of a server: the folder of a recorder's ledgers");
  AddServer(app, server);
  app.parse_complete_callback([this] {
    if (folder.empty()) return CheckServer(server);
    RefuseIf(!server.address.empty(), "--store",
             "must not be given with --server: it is one of them");
  });
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenToWrite(const WritePlace& place) {
  if (std::error_code error; !place.makes && !std::filesystem::exists(place.folder, error))
    return absl::NotFoundError(
        absl::StrCat("--store: ", place.folder, ": there is no such folder"));
  absl::StatusOr<std::shared_ptr<grpc::Channel>> opened = local::OpenLedgers(place.folder);
  if (!opened.ok()) return OfFlag(opened.status());
  return opened;
}

absl::StatusOr<local::Reading> OpenAtRest(const LedgerPlace& place, bool costs) {
  absl::StatusOr<local::Reading> reading =
      local::OpenToRead(place.stores, local::ReadOptions{.summaries = costs});
  if (!reading.ok()) return OfFlag(reading.status());
  return reading;
}

}  // namespace dpledger::cli
