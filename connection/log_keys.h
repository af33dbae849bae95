// The keys that a client takes acknowledgements from: those of the server's log, as `dpledger
// registry` and bundles name them. With them, what the client does after an acknowledgement rests
// on the server's signature, whatever the network did to the connection.
//
// A value; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::connection {

class LogKeys {
 public:
  LogKeys() = default;  // none: acknowledgements are taken as they come
  // Verifier keys (C2SP signed-note) with blanks between them: one, or two while the key changes.
  // INVALID_ARGUMENT naming log_key.
  static absl::StatusOr<LogKeys> Parse(std::string_view text);

  bool empty() const { return keys_.empty(); }
  // Asks for a signed receipt, and gives the hash that it must be of. `batch` is sent as it is now.
  merkle::Hash AskFor(v1::AppendBatchRequest& batch) const;
  // DATA_LOSS (RECEIPT_NOT_SIGNED) if none of the keys signed the receipt of that request. OK
  // without keys.
  absl::Status Check(const merkle::Hash& request, const v1::Receipt& receipt) const;

 private:
  std::vector<merkle::VerifierKey> keys_;
};

}  // namespace dpledger::connection
