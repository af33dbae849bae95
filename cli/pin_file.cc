#include "cli/pin_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/checkpoint.h"
#include "merkle/text_lines.h"

namespace dpledger::cli {
namespace {

constexpr std::string_view kFirstLine = "dpledger pin 1";

}  // namespace

absl::StatusOr<std::optional<Pin>> ReadPin(const std::string& path) {
  const absl::StatusOr<std::string> file = ReadFile(path);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  RETURN_IF_ERROR(file.status());
  const auto refused = [&](auto&&... what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": must be a pin that `ledger verify --pin` wrote: ", what...));
  };
  std::string_view text = *file;
  if (merkle::TakeLine(text) != kFirstLine) return refused("its first line is another");
  Pin pin;
  while (true) {
    const std::optional<std::string_view> line = merkle::TakeLine(text);
    if (!line.has_value()) return refused("it ends before its checkpoint");
    if (line->empty()) break;
    absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(*line);
    if (!key.ok()) return refused(key.status().message());
    pin.keys.push_back(*std::move(key));
  }
  if (pin.keys.empty()) return refused("it has no key");
  absl::StatusOr<merkle::Note> note = merkle::Note::Parse(text);
  const absl::Status parsed =
      note.ok() ? merkle::ParseCheckpoint(note->text).status() : note.status();
  if (!parsed.ok()) return refused(parsed.message());
  pin.checkpoint = *std::move(note);
  return pin;
}

absl::Status WritePin(const std::string& path, const Pin& pin) {
  std::string text = absl::StrCat(std::string(kFirstLine), "\n");
  for (const merkle::VerifierKey& key : pin.keys) absl::StrAppend(&text, key.ToText(), "\n");
  absl::StrAppend(&text, "\n", pin.checkpoint.ToText());
  return WriteFileDurably(path, text);
}

}  // namespace dpledger::cli
