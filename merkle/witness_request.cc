#include "merkle/witness_request.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/proof_lines.h"
#include "merkle/text_lines.h"

namespace dpledger::merkle {
namespace {

constexpr std::string_view kOld = "old ";
constexpr std::string_view kField = "request";

absl::Status Refused(std::string_view rule) { return FieldError(kField, rule); }

}  // namespace

std::string WitnessRequestText(const WitnessRequest& request) {
  return absl::StrCat(ToAbsl(kOld), request.old_size, "\n",
                      ProofLinesText(request.proof, request.checkpoint));
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
  ASSIGN_OR_RETURN(ProofLines lines, ParseProofLines(kField, text));
  request.proof = std::move(lines.hashes);
  request.checkpoint = std::move(lines.checkpoint);
  return request;
}

}  // namespace dpledger::merkle
