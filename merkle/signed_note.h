// A text with signatures below it: C2SP signed-note (https://c2sp.org/signed-note), with Ed25519
// signatures of logs and timestamped Ed25519 cosignatures of witnesses
// (https://c2sp.org/tlog-cosignature).
//
// 1. Note::Parse accepts one spelling: ToText of what it gives is what it was given.
// 2. A note is worth nothing before VerifyNote has said who signed it: unknown keys are ignored, a
//    wrong signature under a known key refuses the note.
// No I/O. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "merkle/ed25519.h"

namespace dpledger::merkle {

inline constexpr size_t kMaxNoteBytes = size_t{1} << 20;
inline constexpr size_t kMaxNoteSignatures = 64;  // the document demands at least 16

// The assigned signature types that we know.
enum class SignatureType : uint8_t { kEd25519 = 0x01, kCosignature = 0x04 };

// Who may sign: a name (not empty, UTF-8 without spaces, plus signs and control characters), what
// its signatures are, and its public key.
struct VerifierKey {
  std::string name;
  SignatureType type = SignatureType::kEd25519;
  Ed25519PublicKey public_key{};

  // The first 4 bytes, big-endian, of SHA-256(name ‖ 0x0A ‖ type ‖ public key).
  uint32_t Id() const;
  // "name+hhhhhhhh+base64(type ‖ public key)".
  std::string ToText() const;
  // INVALID_ARGUMENT unless it is what ToText writes.
  static absl::StatusOr<VerifierKey> Parse(std::string_view text);

  bool operator==(const VerifierKey&) const = default;
};

// What a note may contain: UTF-8 (RFC 3629) without ASCII control characters but newlines.
bool IsNoteText(std::string_view text);

struct NoteSignature {
  std::string name;
  uint32_t key_id = 0;
  std::string signature;  // what follows the key id; never empty

  // "— name base64(key id ‖ signature)\n".
  std::string ToLine() const;
  bool operator==(const NoteSignature&) const = default;
};

struct Note {
  std::string text;  // ends with a newline
  std::vector<NoteSignature> signatures;

  // INVALID_ARGUMENT for anything else than text, an empty line and 1..64 signature lines, for more
  // than 1 MiB, and for what is not UTF-8 or has control characters.
  static absl::StatusOr<Note> Parse(std::string_view note);
  std::string ToText() const;
};

// Signature lines alone, as a witness answers; at least one. INVALID_ARGUMENT as Note::Parse.
absl::StatusOr<std::vector<NoteSignature>> ParseSignatureLines(std::string_view lines);

// A signature of type 0x01 over `text`. INVALID_ARGUMENT for a name or text that a note cannot
// have.
absl::StatusOr<NoteSignature> SignNote(std::string_view text, std::string_view name,
                                       const Ed25519PrivateKey& key);
// A cosignature, type 0x04, at `unix_seconds` (0..2^63-1) over the text of a checkpoint.
// INVALID_ARGUMENT as SignNote.
absl::StatusOr<NoteSignature> CosignNote(std::string_view text, std::string_view name,
                                         uint64_t unix_seconds, const Ed25519PrivateKey& key);

struct VerifiedSignature {
  size_t key = 0;                        // which of the known keys
  std::optional<uint64_t> unix_seconds;  // of a cosignature; the latest if there are several
  bool operator==(const VerifiedSignature&) const = default;
};
// The known keys that signed, in the order of `known`, at least one. DATA_LOSS if a signature under
// a known key's name and id does not verify; PERMISSION_DENIED if no known key signed;
// INVALID_ARGUMENT if two different known keys have the same name and id.
absl::StatusOr<std::vector<VerifiedSignature>> VerifyNote(const Note& note,
                                                          std::span<const VerifierKey> known);

}  // namespace dpledger::merkle
