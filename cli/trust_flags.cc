#include "cli/trust_flags.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "cli/flags.h"
#include "cli/pin_file.h"
#include "ledger_store/bundle/difference.h"
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

void KeyFlags::AddTo(flags::App& app) {
  app.add_option("--key", keys,
                 "a public key that you have from elsewhere (name+id+base64), of the server or a "
                 "witness; may repeat")
      ->type_name("KEY")
      ->check([](const std::string& text) -> std::string {
        const auto key = merkle::VerifierKey::Parse(text);
        return key.ok() ? "" : std::string(key.status().message());
      });
  AddPlain(app, "--key-file", key_file, "FILE", "a file of such keys, one a line");
}

absl::StatusOr<std::vector<merkle::VerifierKey>> KeyFlags::Keys() const {
  std::vector<merkle::VerifierKey> trusted;
  for (const std::string& text : keys) {
    ASSIGN_OR_RETURN(merkle::VerifierKey key, merkle::VerifierKey::Parse(text));
    trusted.push_back(std::move(key));
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
      trusted.push_back(*std::move(key));
    }
    if (trusted.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(key_file, ": holds no key"));
    }
  }
  return trusted;
}

void TrustFlags::AddKeysTo(flags::App& app) {
  keys.AddTo(app);
  app.add_flag("--self-signed", self_signed,
               "does without a key of yours: shows only that the ledger agrees with itself");
}

void TrustFlags::AddTo(flags::App& app) {
  AddKeysTo(app);
  AddPlain(app, "--older", older, "FILE",
           "a checkpoint that you kept: the ledger must still begin with what it signed; may "
           "repeat");
  AddPlain(app, "--pin", pin, "FILE",
           "believes the keys in this file and goes on from the checkpoint in it; written anew "
           "when the ledger holds, so that the next time needs no --key");
}

absl::StatusOr<bundle::VerifierOptions> TrustFlags::Options() const {
  bundle::VerifierOptions options;
  ASSIGN_OR_RETURN(options.trusted, keys.Keys());
  for (const std::string& path : older) {
    ASSIGN_OR_RETURN(merkle::Note note, ReadCheckpoint(path));
    options.older.push_back(std::move(note));
  }
  if (!pin.empty()) {
    ASSIGN_OR_RETURN(std::optional<Pin> kept, ReadPin(pin));
    if (kept.has_value()) {
      for (merkle::VerifierKey& key : kept->keys)
        if (std::find(options.trusted.begin(), options.trusted.end(), key) == options.trusted.end())
          options.trusted.push_back(std::move(key));
      options.older.push_back(std::move(kept->checkpoint));
    }
  }
  return options;
}

absl::Status TrustFlags::CheckTrust(const bundle::EvidenceCheck& evidence) const {
  if (!evidence.own_keys() || self_signed) return absl::OkStatus();
  return bundle::Differs(
      bundle::kTrustClass, evidence.checkpoint().origin,
      absl::StrCat(
          "agrees with itself, but no key was given to verify it with: whoever made it may "
          "have signed it, with the key ",
          evidence.signers().front().ToText()));
}

absl::Status TrustFlags::Keep(const bundle::EvidenceCheck& evidence) const {
  if (pin.empty() || evidence.own_keys()) return absl::OkStatus();
  return WritePin(pin, {evidence.keys(), evidence.checkpoint_note()});
}

}  // namespace dpledger::cli
