#include "connection/log_keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/receipt_text.h"

namespace dpledger::connection {

absl::StatusOr<LogKeys> LogKeys::Parse(std::string_view text) {
  LogKeys keys;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty())) {
    const absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(FromAbsl(word));
    if (!key.ok()) {
      return FieldError("log_key",
                        absl::StrCat("must be the verifier key of a server's log, got ", word));
    }
    keys.keys_.push_back(*key);
  }
  return keys;
}

merkle::Hash LogKeys::AskFor(v1::AppendBatchRequest& batch) const {
  batch.set_signed_receipt(true);
  return merkle::Sha256({batch.SerializeAsString()});  // it has no maps: one message, one spelling
}

absl::Status LogKeys::Check(const merkle::Hash& request, const v1::Receipt& receipt) const {
  if (keys_.empty()) return absl::OkStatus();
  merkle::StatedReceipt stated = {.request = request,
                                  .first_sequence = receipt.first_sequence(),
                                  .count = receipt.count(),
                                  .size = receipt.size()};
  if (receipt.root_hash().size() == stated.root.size()) {
    std::copy(receipt.root_hash().begin(), receipt.root_hash().end(), stated.root.begin());
    if (merkle::IsSigned(keys_, stated, receipt.signature())) return absl::OkStatus();
  }
  return WithReason(
      absl::DataLossError(
          "server: acknowledges what no log key has signed: somebody stands between this client "
          "and its server, or the server has another key; its own log says which, in the "
          "line `signing` of its start"),
      {"RECEIPT_NOT_SIGNED", {}});
}

}  // namespace dpledger::connection
