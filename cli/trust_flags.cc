#include "cli/trust_flags.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/checkpoint.h"

namespace dpledger::cli {
namespace {

absl::StatusOr<merkle::Note> ReadCheckpoint(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<merkle::Note> note = merkle::Note::Parse(text);
  const absl::Status parsed =
      note.ok() ? merkle::ParseCheckpoint(note->text).status() : note.status();
  if (parsed.ok()) return note;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": not a signed checkpoint: ", parsed.message()));
}

}  // namespace

void TrustFlags::AddTo(CLI::App& app) {
  app.add_option("--key", keys,
                 "a public key that you have from elsewhere (name+id+base64), of the server or a "
                 "witness; may repeat")
      ->type_name("KEY")
      ->check([](const std::string& text) -> std::string {
        const auto key = merkle::VerifierKey::Parse(text);
        return key.ok() ? "" : std::string(key.status().message());
      });
  app.add_option("--key-file", key_file, "a file of such keys, one a line")->type_name("FILE");
  app.add_option("--older", older,
                 "a checkpoint that you kept: the ledger must still begin with what it signed; may "
                 "repeat")
      ->type_name("FILE");
}

absl::StatusOr<bundle::VerifierOptions> TrustFlags::Options() const {
  bundle::VerifierOptions options;
  for (const std::string& text : keys) {
    ASSIGN_OR_RETURN(merkle::VerifierKey key, merkle::VerifierKey::Parse(text));
    options.trusted.push_back(std::move(key));
  }
  if (!key_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(key_file));
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.empty()) continue;
      absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(line);
      if (!key.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(key_file, ":", number, ": ", key.status().message()));
      }
      options.trusted.push_back(*std::move(key));
    }
    if (options.trusted.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(key_file, ": holds no key"));
    }
  }
  for (const std::string& path : older) {
    ASSIGN_OR_RETURN(merkle::Note note, ReadCheckpoint(path));
    options.older.push_back(std::move(note));
  }
  return options;
}

}  // namespace dpledger::cli
