// A text with signatures below it: C2SP signed-note (https://c2sp.org/signed-note), with Ed25519
// signatures of logs and timestamped Ed25519 cosignatures of witnesses
// (https://c2sp.org/tlog-cosignature).
//
// 1. Canonical: Note::Parse accepts only what ToText writes.
// 2. A note proves nothing until VerifyNote has checked who signed it. VerifyNote ignores unknown
//    keys, and refuses the note if a known key's signature is wrong.
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
inline constexpr size_t kMaxNoteSignatures = 64;  // the C2SP document requires at least 16

// The signature types that are supported, with their assigned numbers.
enum class SignatureType : uint8_t { kEd25519 = 0x01, kCosignature = 0x04 };

// A signer: its name (not empty, UTF-8 without spaces, plus signs and control characters), the type
// of its signatures, and its public key.
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

// Whether `text` may stand in a note: UTF-8 (RFC 3629) without ASCII control characters other than
// newlines.
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

  // A note is text, an empty line and 1..64 signature lines. INVALID_ARGUMENT for anything else,
  // for more than 1 MiB, and for text that is not IsNoteText.
  static absl::StatusOr<Note> Parse(std::string_view note);
  std::string ToText() const;
};

// Parses signature lines alone, as in a witness's answer; at least one. INVALID_ARGUMENT as
// Note::Parse.
absl::StatusOr<std::vector<NoteSignature>> ParseSignatureLines(std::string_view lines);

// A signature of type 0x01 over `text`. INVALID_ARGUMENT if the name or the text is not allowed in
// a note.
absl::StatusOr<NoteSignature> SignNote(std::string_view text, std::string_view name,
                                       const Ed25519PrivateKey& key);
// A cosignature, type 0x04, at `unix_seconds` (0..2^63-1) over the text of a checkpoint.
// INVALID_ARGUMENT as SignNote.
absl::StatusOr<NoteSignature> CosignNote(std::string_view text, std::string_view name,
                                         uint64_t unix_seconds, const Ed25519PrivateKey& key);

struct VerifiedSignature {
  size_t key = 0;                        // index in `known`
  std::optional<uint64_t> unix_seconds;  // a cosignature's time; the latest if there are several
  bool operator==(const VerifiedSignature&) const = default;
};
// The known keys that signed, in the order of `known`, at least one. DATA_LOSS if a signature under
// a known key's name and id does not verify; PERMISSION_DENIED if no known key signed;
// INVALID_ARGUMENT if two different known keys have the same name and id.
absl::StatusOr<std::vector<VerifiedSignature>> VerifyNote(const Note& note,
                                                          std::span<const VerifierKey> known);

}  // namespace dpledger::merkle
