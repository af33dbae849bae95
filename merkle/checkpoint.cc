#include "merkle/checkpoint.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/text_lines.h"
#include "merkle/tile.h"

namespace dpledger::merkle {
namespace {

absl::Status CheckLine(std::string_view field, std::string_view line) {
  if (!line.empty() && line.find('\n') == std::string_view::npos && IsNoteText(line)) {
    return absl::OkStatus();
  }
  return FieldError(field, "must be one line of UTF-8, not empty, without control characters");
}

absl::Status CheckSize(uint64_t size) {
  if (size <= kMaxTreeSize) return absl::OkStatus();
  return FieldError("size", absl::StrCat("must be at most 2^63 leaves, got ", size));
}

}  // namespace

absl::StatusOr<std::string> CheckpointText(const Checkpoint& checkpoint) {
  RETURN_IF_ERROR(CheckLine("origin", checkpoint.origin));
  RETURN_IF_ERROR(CheckSize(checkpoint.size));
  std::string text = absl::StrCat(checkpoint.origin, "\n", checkpoint.size, "\n",
                                  HashToBase64(checkpoint.root), "\n");
  for (const std::string& extension : checkpoint.extensions) {
    RETURN_IF_ERROR(CheckLine("extension", extension));
    absl::StrAppend(&text, extension, "\n");
  }
  return text;
}

absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text) {
  if (text.size() > kMaxNoteBytes) return FieldError("checkpoint", "must be at most 1 MiB");
  const std::optional<std::string_view> origin = TakeLine(text);
  const std::optional<std::string_view> size = TakeLine(text);
  const std::optional<std::string_view> root = TakeLine(text);
  if (!root.has_value()) {
    return FieldError("checkpoint", "must have lines of origin, size and root");
  }
  RETURN_IF_ERROR(CheckLine("origin", *origin));
  Checkpoint checkpoint;
  checkpoint.origin = *origin;
  const std::optional<uint64_t> leaves = ParseDecimal(*size);
  if (!leaves.has_value()) {
    return FieldError("size", "must be a decimal without leading zeros");
  }
  RETURN_IF_ERROR(CheckSize(*leaves));
  checkpoint.size = *leaves;
  const std::optional<Hash> hash = ParseHash(*root);
  if (!hash.has_value()) return FieldError("root", "must be 32 bytes in base 64");
  checkpoint.root = *hash;
  while (!text.empty()) {
    const std::optional<std::string_view> extension = TakeLine(text);
    if (!extension.has_value()) return FieldError("checkpoint", "must end with a newline");
    RETURN_IF_ERROR(CheckLine("extension", *extension));
    checkpoint.extensions.emplace_back(*extension);
  }
  return checkpoint;
}

absl::StatusOr<Checkpoint> ReadCheckpoint(std::string_view note) {
  ASSIGN_OR_RETURN(const Note parsed, Note::Parse(note));
  return ParseCheckpoint(parsed.text);
}

bool StatesTree(std::string_view note, std::string_view origin, uint64_t size,
                std::string_view root) {
  const absl::StatusOr<Checkpoint> says = ReadCheckpoint(note);
  return says.ok() && says->origin == origin && says->size == size && View(says->root) == root;
}

absl::StatusOr<Checkpoint> OpenCheckpoint(const Note& note, std::string_view origin,
                                          std::span<const VerifierKey> log_keys) {
  RETURN_IF_ERROR(VerifyNote(note, log_keys).status());
  ASSIGN_OR_RETURN(Checkpoint checkpoint, ParseCheckpoint(note.text));
  if (checkpoint.origin == origin) return checkpoint;
  return FieldError("origin",
                    absl::StrCat("must be ", ToAbsl(origin), ", got ", checkpoint.origin));
}

absl::StatusOr<Checkpoint> OpenCheckpoint(std::string_view note, std::string_view origin,
                                          std::span<const VerifierKey> log_keys) {
  ASSIGN_OR_RETURN(const Note parsed, Note::Parse(note));
  return OpenCheckpoint(parsed, origin, log_keys);
}

}  // namespace dpledger::merkle
