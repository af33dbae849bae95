// Reads a ledger from those who keep it, as if from a bundle: its evidence and entries at one
// signed size; and writes its bundle. Nothing is verified here. Not thread safe.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/bundle/evidence.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"
#include "merkle/checkpoint.h"

namespace dpledger::bundle {

// Makes the call of LedgerService or AuditService that takes this request. Errors are theirs.
using ServedLedgers = absl::FunctionRef<absl::Status(const google::protobuf::Message& request,
                                                     google::protobuf::Message& answer)>;

// The evidence at the ledger's present size or a later one. Reads the registry up to the last entry
// that names a key. DATA_LOSS if the server's answers are malformed; a difference (of class
// "checkpoint") if the server shows another ledger.
absl::StatusOr<Evidence> ReadEvidence(const std::string& ledger, ServedLedgers server);

// The entries of a ledger, in order.
class EntryStream {
 public:
  enum class Purpose { kVerify, kExport };
  // `server` must outlive the stream, and hears what the entries are for.
  EntryStream(std::string ledger, ServedLedgers server, Purpose purpose)
      : ledger_(std::move(ledger)), server_(server), purpose_(purpose) {}
  // OUT_OF_RANGE after the last.
  absl::StatusOr<std::string> Next();

 private:
  const std::string ledger_;
  const ServedLedgers server_;
  const Purpose purpose_;
  std::deque<std::string> page_;
  uint64_t next_ = 0;  // sequence after the page
  bool at_end_ = false;
};

// Gives the verifier the members that the ledger's bundle would have. `progress` is told of the
// entries that were verified, of all; may be null. Errors of ReadEvidence and of the verifier.
absl::Status VerifyServed(const std::string& ledger, ServedLedgers server, Verifier& verifier,
                          const std::function<void(uint64_t verified, uint64_t size)>& progress);

// Taking a ledger home.
struct ExportHooks {
  // Told of every entry that was read, of `size`. May be null.
  std::function<void(uint64_t read, uint64_t size)> progress;
  // Gives the JSON that the bundle has as its statement, for the first `size` entries. Null: none.
  std::function<absl::StatusOr<std::string>(uint64_t size)> statement;
};

// Writes the ledger's bundle, which docs/formats.md describes, into `file`, and gives it its name.
// The ledger is as it was when it was asked for, or later; entries that come meanwhile are not in
// the bundle. Errors of the calls and of the disk; DATA_LOSS if the entries do not have the signed
// root. Not thread safe.
absl::StatusOr<merkle::Checkpoint> ExportLedger(const std::string& ledger, ServedLedgers server,
                                                NewFile& file, const ExportHooks& hooks = {});

}  // namespace dpledger::bundle
