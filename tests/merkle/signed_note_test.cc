#include "merkle/signed_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "merkle/checkpoint.h"
#include "tests/merkle/mutations.h"

namespace dpledger::merkle {
namespace {

// The example of C2SP signed-note, section "Verifier keys".
constexpr char kExampleKey[] =
    "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
constexpr char kExampleNote[] =
    "This is an example message.\n\n"
    "\u2014 example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="
    "\n";

constexpr char kText[] = "example.com/log\n3\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

Ed25519PrivateKey KeyOf(char seed) {
  return Ed25519PrivateKey::FromSeed(std::string(32, seed)).value();
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(VerifyNote, TakesTheExampleOfTheDocument) {
  const VerifierKey key = VerifierKey::Parse(kExampleKey).value();
  EXPECT_EQ(key.name, "example.com/foo");
  EXPECT_EQ(key.Id(), 0x530d903au);
  EXPECT_EQ(key.ToText(), kExampleKey);
  const Note note = Note::Parse(kExampleNote).value();
  EXPECT_EQ(note.text, "This is an example message.\n");
  EXPECT_EQ(note.ToText(), kExampleNote);
  EXPECT_EQ(VerifyNote(note, {{key}}).value(), (std::vector<VerifiedSignature>{{0, std::nullopt}}));
}

TEST(VerifyNote, RefusesEveryChangedBitOfTextAndSignature) {
  const VerifierKey key = VerifierKey::Parse(kExampleKey).value();
  const Note note = Note::Parse(kExampleNote).value();
  for (size_t bit = 0; bit < note.text.size() * 8; ++bit) {
    Note changed = note;
    changed.text[bit / 8] = static_cast<char>(changed.text[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(VerifyNote(changed, {{key}}).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    Note changed = note;
    std::string& signature = changed.signatures[0].signature;
    signature[bit / 8] = static_cast<char>(signature[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(MessageOf(VerifyNote(changed, {{key}}).status()),
              "note: the signature of example.com/foo does not verify");
  }
  Note cut = note;
  cut.signatures[0].signature.pop_back();
  EXPECT_EQ(VerifyNote(cut, {{key}}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(VerifyNote, TellsLogAndWitnessesApartAndIgnoresUnknownKeys) {
  const Ed25519PrivateKey log = KeyOf('l'), witness = KeyOf('w'), stranger = KeyOf('s');
  const Note note{kText,
                  {SignNote(kText, "example.com/log", log).value(),
                   SignNote(kText, "example.com/stranger", stranger).value(),
                   CosignNote(kText, "witness", 1679315147, witness).value(),
                   CosignNote(kText, "witness", 1679315140, witness).value(),
                   // The log's name under another key, and its key under another name.
                   SignNote(kText, "example.com/log", stranger).value(),
                   SignNote(kText, "example.com/logs", log).value()}};
  const std::vector<VerifierKey> known = {
      {"nobody", SignatureType::kEd25519, stranger.public_key()},
      {"witness", SignatureType::kCosignature, witness.public_key()},
      {"example.com/log", SignatureType::kEd25519, log.public_key()}};
  const Note read = Note::Parse(note.ToText()).value();
  EXPECT_EQ(VerifyNote(read, known).value(),
            (std::vector<VerifiedSignature>{{1, 1679315147}, {2, std::nullopt}}));
  EXPECT_EQ(VerifyNote(read, {known.data(), 1}).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(MessageOf(VerifyNote(read, {}).status()), "note: no known key signed it");

  // The first signature fits, a second under the same key does not: refused all the same.
  Note twice = read;
  twice.signatures.push_back(twice.signatures[2]);
  twice.signatures.back().signature[7] ^= 1;  // another time
  EXPECT_EQ(MessageOf(VerifyNote(twice, known).status()),
            "note: the signature of witness does not verify");
}

TEST(VerifyNote, TakesNoSignatureOfOneTypeForAnother) {
  const Ed25519PrivateKey key = KeyOf('k');
  NoteSignature plain = SignNote(kText, "name", key).value();
  NoteSignature cosignature = CosignNote(kText, "name", 5, key).value();
  EXPECT_NE(plain.key_id, cosignature.key_id);
  const std::vector<VerifierKey> known = {{"name", SignatureType::kEd25519, key.public_key()},
                                          {"name", SignatureType::kCosignature, key.public_key()}};
  EXPECT_EQ(VerifyNote({kText, {plain, cosignature}}, known)->size(), 2u);
  std::swap(plain.key_id, cosignature.key_id);
  EXPECT_EQ(VerifyNote({kText, {plain}}, known).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(VerifyNote({kText, {cosignature}}, known).status().code(), absl::StatusCode::kDataLoss);
  // What a cosignature signs is no note text of ours, as its key id says which it is.
  const std::string cosigned = absl::StrCat("cosignature/v1\ntime 5\n", kText);
  EXPECT_EQ(SignNote(cosigned, "name", key)->signature, cosignature.signature.substr(8));
}

TEST(CosignNote, KeepsTimesWithin63Bits) {
  const Ed25519PrivateKey key = KeyOf('k');
  const VerifierKey known{"name", SignatureType::kCosignature, key.public_key()};
  const uint64_t last = (uint64_t{1} << 63) - 1;
  const NoteSignature signature = CosignNote(kText, "name", last, key).value();
  EXPECT_EQ(VerifyNote({kText, {signature}}, {{known}}).value(),
            (std::vector<VerifiedSignature>{{0, last}}));
  EXPECT_EQ(MessageOf(CosignNote(kText, "name", last + 1, key).status()),
            "unix_seconds: must be below 2^63, got 9223372036854775808");
}

TEST(SignNote, RefusesNamesAndTextsThatANoteCannotHave) {
  const Ed25519PrivateKey key = KeyOf('k');
  for (const char* name : {"", "a b", "a+b", "a\tb", "a\nb", "a\u00a0b", "a\u2003b", "a\u3000b",
                           "a\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80"}) {
    EXPECT_EQ(MessageOf(SignNote(kText, name, key).status()),
              "name: must be UTF-8, not empty, without spaces, plus signs and control characters")
        << name;
    EXPECT_FALSE(CosignNote(kText, name, 1, key).ok()) << name;
  }
  EXPECT_TRUE(SignNote(kText, "\u00fcber.example/\u6728/\U0001f512", key).ok());
  for (const char* text : {"", "no newline", "a\tb\n", "\r\n", "\xff\n"}) {
    EXPECT_EQ(MessageOf(SignNote(text, "name", key).status()),
              "text: must be UTF-8 without control characters but newlines, below 1 MiB, and end "
              "with a newline");
  }
}

TEST(VerifierKey, RefusesOtherSpellings) {
  const std::string text = kExampleKey;
  EXPECT_EQ(MessageOf(VerifierKey::Parse("example.com/foo+530d903b" + text.substr(24)).status()),
            "verifier key: its key id is not that of its name, type and public key");
  EXPECT_EQ(MessageOf(VerifierKey::Parse("example.com/fop" + text.substr(15)).status()),
            "verifier key: its key id is not that of its name, type and public key");
  const std::string rule =
      "verifier key: must be <name>+<key id as 8 hex digits>+<base64 of type and public key>, of "
      "type 0x01 or 0x04 (Ed25519)";
  EXPECT_EQ(MessageOf(VerifierKey::Parse("").status()), rule);
  EXPECT_EQ(MessageOf(VerifierKey::Parse("example.com/foo").status()), rule);
  EXPECT_EQ(MessageOf(VerifierKey::Parse(text + "\n").status()), rule);
  EXPECT_EQ(MessageOf(VerifierKey::Parse(text.substr(15)).status()), rule);
  // Type 0x02.
  EXPECT_EQ(MessageOf(VerifierKey::Parse("a+00000000+Auky" + text.substr(29)).status()), rule);
  const int accepted = ExpectOneSpelling(text, [](std::string_view key) {
    const absl::StatusOr<VerifierKey> parsed = VerifierKey::Parse(key);
    return parsed.ok() ? std::optional(parsed->ToText()) : std::nullopt;
  });
  EXPECT_EQ(accepted, 0);  // the key id covers all of it
}

TEST(VerifyNote, RefusesTwoKeysThatOneSignatureLineCouldMean) {
  // An id has 32 bits: among some 2^17 keys of one name two have the same.
  std::map<uint32_t, VerifierKey> seen;
  std::optional<VerifierKey> first, second;
  for (uint32_t i = 0; !second.has_value() && i < 1000000; ++i) {
    VerifierKey key{"name", SignatureType::kEd25519, {}};
    std::memcpy(key.public_key.data(), &i, sizeof i);
    const auto [other, fresh] = seen.emplace(key.Id(), key);
    if (fresh) continue;
    first = other->second;
    second = key;
  }
  ASSERT_TRUE(second.has_value());
  const Note note = Note::Parse(kExampleNote).value();
  const absl::Status status = VerifyNote(note, {{*first, *second}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), ::testing::StartsWith("known keys: two different keys are name+"));
  // The same key twice is one key.
  const VerifierKey key = VerifierKey::Parse(kExampleKey).value();
  EXPECT_EQ(VerifyNote(note, {{key, key}})->size(), 2u);
}

TEST(Note, SplitsAtTheLastEmptyLine) {
  const std::string lines = SignNote("a\n\nb\n", "name", KeyOf('k'))->ToLine();
  const Note note = Note::Parse("a\n\nb\n\n" + lines).value();
  EXPECT_EQ(note.text, "a\n\nb\n");
  EXPECT_EQ(note.signatures.size(), 1u);
}

TEST(Note, RefusesWhatIsNoNote) {
  const std::string line = SignNote(kText, "name", KeyOf('k'))->ToLine();
  const auto message = [](const std::string& note) {
    const absl::Status status = Note::Parse(note).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << note;
    return MessageOf(status);
  };
  EXPECT_EQ(message(""), "note: must have a text, an empty line and signature lines");
  EXPECT_EQ(message("text\n" + line), "note: must have a text, an empty line and signature lines");
  EXPECT_EQ(message("text\n\n"), "note: must have signature lines, the last ended by a newline");
  EXPECT_EQ(message("text\n\n" + line.substr(0, line.size() - 1)),
            "note: must have signature lines, the last ended by a newline");
  EXPECT_EQ(message("te\txt\n\n" + line),
            "note: must be UTF-8 without control characters but newlines");
  EXPECT_EQ(message("te\xffxt\n\n" + line),
            "note: must be UTF-8 without control characters but newlines");
  const std::string form =
      "note: a signature line must be \"\u2014 <name> <base64 of key id and signature>\"";
  EXPECT_EQ(message("text\n\nsigned\n"), form);
  EXPECT_EQ(message("text\n\n- name AAAAAAA=\n"), form);
  EXPECT_EQ(message("text\n\n\u2014 name\n"), form);
  EXPECT_EQ(message("text\n\n\u2014  AAAAAAA=\n"), form);
  EXPECT_EQ(message("text\n\n\u2014 na+me AAAAAAA=\n"), form);
  EXPECT_EQ(message("text\n\n\u2014 name AAAAAA==\n"), form);  // a key id and no signature
  EXPECT_EQ(message("text\n\n\u2014 name AAAAAAB=\n"), form);  // bits set in the padding
  EXPECT_EQ(message("text\n\n\u2014 name AAAAAAA\n"), form);
  EXPECT_EQ(message("text\n\n\u2014 name AAAAAAA= \n"), form);
  EXPECT_TRUE(Note::Parse("text\n\n\u2014 name AAAAAAA=\n").ok());
}

TEST(Note, BoundsItsSizeAndSignatures) {
  std::string note = "text\n\n";
  for (size_t i = 0; i < kMaxNoteSignatures; ++i) note += "\u2014 name AAAAAAA=\n";
  EXPECT_TRUE(Note::Parse(note).ok());
  note += "\u2014 name AAAAAAA=\n";
  EXPECT_EQ(MessageOf(Note::Parse(note).status()), "note: must have at most 64 signatures");
  EXPECT_EQ(MessageOf(Note::Parse(std::string(kMaxNoteBytes + 1, 'a')).status()),
            "note: must be at most 1 MiB");
}

TEST(Note, HasOneSpellingUnderMutations) {
  const Ed25519PrivateKey key = KeyOf('k');
  const Note note{kText,
                  {SignNote(kText, "example.com/log", key).value(),
                   CosignNote(kText, "w1", 1679315147, key).value()}};
  const std::vector<VerifierKey> known = {
      {"example.com/log", SignatureType::kEd25519, key.public_key()}};
  const int accepted =
      ExpectOneSpelling(note.ToText(), [&](std::string_view text) -> std::optional<std::string> {
        const absl::StatusOr<Note> parsed = Note::Parse(text);
        if (!parsed.ok()) return {};
        // However the rest was changed, the log's signature holds for no other text.
        if (VerifyNote(*parsed, known).ok()) {
          EXPECT_EQ(parsed->text, kText);
        }
        return parsed->ToText();
      });
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace dpledger::merkle
