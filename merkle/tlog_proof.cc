#include "merkle/tlog_proof.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/base64.h"
#include "merkle/proof.h"
#include "merkle/proof_lines.h"
#include "merkle/text_lines.h"

namespace dpledger::merkle {
namespace {

constexpr std::string_view kFirstLine = "c2sp.org/tlog-proof@v1";
constexpr std::string_view kExtra = "extra ";
constexpr std::string_view kIndex = "index ";
constexpr std::string_view kField = "tlog-proof";

absl::Status Refused(std::string_view rule) { return FieldError(kField, rule); }

// Takes the rest of the line that begins with `prefix` from the front, if that is the next.
std::optional<std::string_view> TakeValue(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  std::optional<std::string_view> line = TakeLine(text);
  if (line.has_value()) line->remove_prefix(prefix.size());
  return line;
}

}  // namespace

absl::StatusOr<std::string> TlogProofText(const TlogProof& proof) {
  std::string text = absl::StrCat(ToAbsl(kFirstLine), "\n");
  if (!proof.extra.empty()) {
    absl::StrAppend(&text, ToAbsl(kExtra), Base64Encode(proof.extra), "\n");
  }
  absl::StrAppend(&text, ToAbsl(kIndex), proof.index, "\n");
  text += ProofLinesText(proof.hashes, proof.checkpoint);
  RETURN_IF_ERROR(ParseTlogProof(text).status());
  return text;
}

absl::StatusOr<TlogProof> ParseTlogProof(std::string_view text) {
  if (text.size() > kMaxTlogProofBytes) return Refused("must be at most 2 MiB");
  if (TakeLine(text) != kFirstLine) {
    return Refused(absl::StrCat("must begin with the line ", ToAbsl(kFirstLine)));
  }
  TlogProof proof;
  if (const std::optional<std::string_view> extra = TakeValue(text, kExtra)) {
    const std::optional<std::string> bytes = Base64Decode(*extra);
    if (!bytes.has_value() || bytes->empty()) return Refused("extra must be base 64, not empty");
    proof.extra = *bytes;
  }
  const std::optional<std::string_view> index = TakeValue(text, kIndex);
  const std::optional<uint64_t> number = index.has_value() ? ParseDecimal(*index) : std::nullopt;
  if (!number.has_value()) {
    return Refused("must have a line \"index <decimal without leading zeros>\"");
  }
  proof.index = *number;
  ASSIGN_OR_RETURN(ProofLines lines, ParseProofLines(kField, text));
  proof.hashes = std::move(lines.hashes);
  proof.checkpoint = std::move(lines.checkpoint);
  return proof;
}

absl::StatusOr<Checkpoint> VerifyTlogProof(const TlogProof& proof, const Hash& leaf_hash,
                                           std::string_view origin,
                                           std::span<const VerifierKey> log_keys) {
  ASSIGN_OR_RETURN(Checkpoint checkpoint, OpenCheckpoint(proof.checkpoint, origin, log_keys));
  RETURN_IF_ERROR(
      VerifyInclusion(leaf_hash, proof.index, checkpoint.size, checkpoint.root, proof.hashes));
  return checkpoint;
}

}  // namespace dpledger::merkle
