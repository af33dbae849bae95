#include "merkle/signed_note.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "base/utf8.h"
#include "merkle/base64.h"
#include "merkle/big_endian.h"
#include "merkle/sha256.h"

namespace dpledger::merkle {
namespace {

constexpr std::string_view kLineStart = "\u2014 ";  // em dash, space
constexpr uint64_t kMaxUnixSeconds = std::numeric_limits<int64_t>::max();

template <size_t kSize>
std::array<uint8_t, kSize> ToArray(std::string_view bytes) {
  std::array<uint8_t, kSize> array;
  std::copy_n(bytes.begin(), kSize, array.begin());
  return array;
}

// Unicode's White_Space property.
bool IsSpace(char32_t character) {
  return (character >= 0x09 && character <= 0x0d) || character == 0x20 || character == 0x85 ||
         character == 0xa0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200a) ||
         character == 0x2028 || character == 0x2029 || character == 0x202f || character == 0x205f ||
         character == 0x3000;
}

absl::Status CheckName(std::string_view name) {
  std::string_view rest = name;
  bool fits = !name.empty();
  while (fits && !rest.empty()) {
    const std::optional<char32_t> character = TakeCharacter(rest);
    fits = character.has_value() && *character >= 0x20 && *character != '+' && !IsSpace(*character);
  }
  if (fits) return absl::OkStatus();
  return FieldError("name",
                    "must be UTF-8, not empty, without spaces, plus signs and control characters");
}

absl::Status CheckSignedText(std::string_view text) {
  if (text.ends_with('\n') && text.size() < kMaxNoteBytes && IsNoteText(text)) {
    return absl::OkStatus();
  }
  return FieldError("text",
                    "must be UTF-8 without control characters but newlines, below 1 MiB, and end "
                    "with a newline");
}

absl::StatusOr<NoteSignature> ParseLine(std::string_view line) {
  const absl::Status refused = FieldError(
      "note", "a signature line must be \"\u2014 <name> <base64 of key id and signature>\"");
  if (!line.starts_with(kLineStart)) return refused;
  line.remove_prefix(kLineStart.size());
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return refused;
  NoteSignature signature;
  signature.name = line.substr(0, space);
  const std::optional<std::string> bytes = Base64Decode(line.substr(space + 1));
  if (!CheckName(signature.name).ok() || !bytes.has_value() || bytes->size() <= 4) return refused;
  signature.key_id = static_cast<uint32_t>(FromBigEndian(std::string_view(*bytes).substr(0, 4)));
  signature.signature = bytes->substr(4);
  return signature;
}

std::string CosignedMessage(std::string_view text, uint64_t unix_seconds) {
  return absl::StrCat("cosignature/v1\ntime ", unix_seconds, "\n", ToAbsl(text));
}

// The time of a cosignature, nothing for a plain signature. DATA_LOSS if it does not verify.
absl::StatusOr<std::optional<uint64_t>> VerifyOne(std::string_view text, const VerifierKey& key,
                                                  std::string_view signature) {
  std::optional<uint64_t> unix_seconds;
  bool fits = false;
  if (key.type == SignatureType::kEd25519) {
    fits = signature.size() == 64 && Ed25519Verify(key.public_key, text, ToArray<64>(signature));
  } else if (signature.size() == 72) {
    unix_seconds = FromBigEndian(signature.substr(0, 8));
    fits = *unix_seconds <= kMaxUnixSeconds &&
           Ed25519Verify(key.public_key, CosignedMessage(text, *unix_seconds),
                         ToArray<64>(signature.substr(8)));
  }
  if (fits) return unix_seconds;
  return absl::DataLossError(absl::StrCat("note: the signature of ", key.name, " does not verify"));
}

}  // namespace

bool IsNoteText(std::string_view text) {
  while (!text.empty()) {
    const std::optional<char32_t> character = TakeCharacter(text);
    if (!character.has_value() || (*character < 0x20 && *character != '\n')) return false;
  }
  return true;
}

uint32_t VerifierKey::Id() const {
  const char type_byte = static_cast<char>(type);
  const Hash hash = Sha256({name, "\n", std::string_view(&type_byte, 1), View(public_key)});
  return static_cast<uint32_t>(FromBigEndian(View(hash).substr(0, 4)));
}

std::string VerifierKey::ToText() const {
  std::string key(1, static_cast<char>(type));
  key.append(View(public_key));
  return absl::StrCat(name, "+", HexEncode(BigEndian(Id(), 4)), "+", Base64Encode(key));
}

absl::StatusOr<VerifierKey> VerifierKey::Parse(std::string_view text) {
  const absl::Status refused = FieldError(
      "verifier key",
      "must be <name>+<key id as 8 hex digits>+<base64 of type and public key>, of type 0x01 or "
      "0x04 (Ed25519)");
  const size_t plus = text.find('+');
  if (plus == std::string_view::npos || text.size() < plus + 10) return refused;
  const std::optional<std::string> bytes = Base64Decode(text.substr(plus + 10));
  if (!bytes.has_value() || bytes->size() != 33) return refused;
  VerifierKey key;
  key.name = text.substr(0, plus);
  key.type = static_cast<SignatureType>((*bytes)[0]);
  key.public_key = ToArray<32>(std::string_view(*bytes).substr(1));
  if (!CheckName(key.name).ok() ||
      (key.type != SignatureType::kEd25519 && key.type != SignatureType::kCosignature)) {
    return refused;
  }
  if (key.ToText() == text) return key;
  return FieldError("verifier key", "its key id is not that of its name, type and public key");
}

std::string NoteSignature::ToLine() const {
  return absl::StrCat(ToAbsl(kLineStart), name, " ",
                      Base64Encode(absl::StrCat(BigEndian(key_id, 4), signature)), "\n");
}

absl::StatusOr<std::vector<NoteSignature>> ParseSignatureLines(std::string_view lines) {
  if (lines.size() > kMaxNoteBytes) return FieldError("note", "must be at most 1 MiB");
  if (!lines.ends_with('\n')) {
    return FieldError("note", "must have signature lines, the last ended by a newline");
  }
  std::vector<NoteSignature> signatures;
  while (!lines.empty()) {
    if (signatures.size() == kMaxNoteSignatures) {
      return FieldError("note",
                        absl::StrCat("must have at most ", kMaxNoteSignatures, " signatures"));
    }
    const size_t end = lines.find('\n');
    ASSIGN_OR_RETURN(NoteSignature signature, ParseLine(lines.substr(0, end)));
    signatures.push_back(std::move(signature));
    lines.remove_prefix(end + 1);
  }
  return signatures;
}

absl::StatusOr<Note> Note::Parse(std::string_view note) {
  if (note.size() > kMaxNoteBytes) return FieldError("note", "must be at most 1 MiB");
  if (!IsNoteText(note)) {
    return FieldError("note", "must be UTF-8 without control characters but newlines");
  }
  const size_t empty_line = note.rfind("\n\n");
  if (empty_line == std::string_view::npos) {
    return FieldError("note", "must have a text, an empty line and signature lines");
  }
  ASSIGN_OR_RETURN(std::vector<NoteSignature> signatures,
                   ParseSignatureLines(note.substr(empty_line + 2)));
  return Note{std::string(note.substr(0, empty_line + 1)), std::move(signatures)};
}

std::string Note::ToText() const {
  std::string note = absl::StrCat(text, "\n");
  for (const NoteSignature& signature : signatures) note += signature.ToLine();
  return note;
}

absl::StatusOr<NoteSignature> SignNote(std::string_view text, std::string_view name,
                                       const Ed25519PrivateKey& key) {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckSignedText(text));
  const VerifierKey verifier{std::string(name), SignatureType::kEd25519, key.public_key()};
  return NoteSignature{verifier.name, verifier.Id(), std::string(View(key.Sign(text)))};
}

absl::StatusOr<NoteSignature> CosignNote(std::string_view text, std::string_view name,
                                         uint64_t unix_seconds, const Ed25519PrivateKey& key) {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckSignedText(text));
  if (unix_seconds > kMaxUnixSeconds) {
    return FieldError("unix_seconds", absl::StrCat("must be below 2^63, got ", unix_seconds));
  }
  const VerifierKey verifier{std::string(name), SignatureType::kCosignature, key.public_key()};
  const Ed25519Signature signature = key.Sign(CosignedMessage(text, unix_seconds));
  return NoteSignature{verifier.name, verifier.Id(),
                       absl::StrCat(BigEndian(unix_seconds, 8), ToAbsl(View(signature)))};
}

absl::StatusOr<std::vector<VerifiedSignature>> VerifyNote(const Note& note,
                                                          std::span<const VerifierKey> known) {
  std::vector<VerifiedSignature> verified;
  for (size_t i = 0; i < known.size(); ++i) {
    const uint32_t id = known[i].Id();
    for (size_t j = 0; j < i; ++j) {
      if (known[j].name == known[i].name && known[j].Id() == id && known[j] != known[i]) {
        return FieldError("known keys", absl::StrCat("two different keys are ", known[i].name, "+",
                                                     HexEncode(BigEndian(id, 4))));
      }
    }
    std::optional<VerifiedSignature> signed_by;
    for (const NoteSignature& signature : note.signatures) {
      if (signature.name != known[i].name || signature.key_id != id) continue;
      ASSIGN_OR_RETURN(const std::optional<uint64_t> unix_seconds,
                       VerifyOne(note.text, known[i], signature.signature));
      if (!signed_by.has_value()) signed_by = VerifiedSignature{i, unix_seconds};
      signed_by->unix_seconds = std::max(signed_by->unix_seconds, unix_seconds);
    }
    if (signed_by.has_value()) verified.push_back(*signed_by);
  }
  if (verified.empty()) return absl::PermissionDeniedError("note: no known key signed it");
  return verified;
}

}  // namespace dpledger::merkle
