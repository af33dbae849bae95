#include "merkle/proof_lines.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "merkle/checkpoint.h"
#include "merkle/text_lines.h"

namespace dpledger::merkle {
namespace {

constexpr size_t kMaxHashes = 63;  // of a leaf in a tree of 2^63; tlog-witness's bound too

}  // namespace

std::string ProofLinesText(std::span<const Hash> hashes, const Note& checkpoint) {
  std::string text;
  for (const Hash& hash : hashes) absl::StrAppend(&text, HashToBase64(hash), "\n");
  absl::StrAppend(&text, "\n", checkpoint.ToText());
  return text;
}

absl::StatusOr<ProofLines> ParseProofLines(std::string_view field, std::string_view text) {
  ProofLines lines;
  while (true) {
    const std::optional<std::string_view> line = TakeLine(text);
    if (!line.has_value())
      return FieldError(field, "must have an empty line before the checkpoint");
    if (line->empty()) break;
    const std::optional<Hash> hash = ParseHash(*line);
    if (!hash.has_value()) return FieldError(field, "a hash must be 32 bytes in base 64");
    if (lines.hashes.size() == kMaxHashes) return FieldError(field, "must have at most 63 hashes");
    lines.hashes.push_back(*hash);
  }
  ASSIGN_OR_RETURN(lines.checkpoint, Note::Parse(text));
  RETURN_IF_ERROR(ParseCheckpoint(lines.checkpoint.text).status());
  return lines;
}

}  // namespace dpledger::merkle
