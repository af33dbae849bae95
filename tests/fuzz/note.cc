// Signed notes, checkpoints, verifier keys and lines of signatures: each has one spelling.
#include "absl/strings/str_cat.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

// The corpus is signed with the key of this seed (tests/ledger_store/bundle_sample.h).
const merkle::VerifierKey& KnownKey() {
  static const auto& key = *new merkle::VerifierKey{
      "registry.example", merkle::SignatureType::kEd25519,
      merkle::Ed25519PrivateKey::FromSeed(std::string(32, '\1'))->public_key()};
  return key;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = Text(data, size);
  if (const auto note = merkle::Note::Parse(input); note.ok()) {
    FUZZ_CHECK(note->ToText() == input);
    FUZZ_CHECK(merkle::IsNoteText(note->text));
    if (const auto checkpoint = merkle::ParseCheckpoint(note->text); checkpoint.ok()) {
      FUZZ_CHECK(*merkle::CheckpointText(*checkpoint) == note->text);
      (void)merkle::OpenCheckpoint(*note, checkpoint->origin, {{KnownKey()}});
    }
    (void)merkle::VerifyNote(*note, {{KnownKey()}});
  }
  if (const auto checkpoint = merkle::ParseCheckpoint(input); checkpoint.ok()) {
    FUZZ_CHECK(*merkle::CheckpointText(*checkpoint) == input);
  }
  if (const auto key = merkle::VerifierKey::Parse(input); key.ok()) {
    FUZZ_CHECK(key->ToText() == input);
  }
  if (const auto signatures = merkle::ParseSignatureLines(input); signatures.ok()) {
    std::string lines;
    for (const merkle::NoteSignature& signature : *signatures) lines += signature.ToLine();
    FUZZ_CHECK(lines == input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
