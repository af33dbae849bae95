#include "merkle/witness_request.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/checkpoint.h"
#include "merkle/text_lines.h"

namespace dpledger::merkle {
namespace {

constexpr std::string_view kOld = "old ";
constexpr size_t kMaxHashes = 63;  // the document's bound

absl::Status Refused(std::string_view rule) { return FieldError("request", rule); }

}  // namespace

std::string WitnessRequestText(const WitnessRequest& request) {
  std::string text = absl::StrCat(ToAbsl(kOld), request.old_size, "\n");
  for (const Hash& hash : request.proof) absl::StrAppend(&text, HashToBase64(hash), "\n");
  absl::StrAppend(&text, "\n", request.checkpoint.ToText());
  return text;
}

absl::StatusOr<WitnessRequest> ParseWitnessRequest(std::string_view text) {
  if (text.size() > kMaxWitnessRequestBytes) return Refused("must be at most 256 KiB");
  std::optional<std::string_view> first = TakeLine(text);
  if (!first.has_value() || !first->starts_with(kOld)) {
    return Refused("must begin with a line \"old <size>\"");
  }
  first->remove_prefix(kOld.size());
  const std::optional<uint64_t> old_size = ParseDecimal(*first);
  if (!old_size.has_value()) {
    return Refused("old size must be a decimal without leading zeros");
  }
  WitnessRequest request;
  request.old_size = *old_size;
  while (true) {
    const std::optional<std::string_view> line = TakeLine(text);
    if (!line.has_value()) return Refused("must have an empty line before the checkpoint");
    if (line->empty()) break;
    const std::optional<Hash> hash = ParseHash(*line);
    if (!hash.has_value()) return Refused("a hash must be 32 bytes in base 64");
    if (request.proof.size() == kMaxHashes) return Refused("must have at most 63 hashes");
    request.proof.push_back(*hash);
  }
  ASSIGN_OR_RETURN(request.checkpoint, Note::Parse(text));
  RETURN_IF_ERROR(ParseCheckpoint(request.checkpoint.text).status());
  return request;
}

}  // namespace dpledger::merkle
