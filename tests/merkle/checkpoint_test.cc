#include "merkle/checkpoint.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile.h"
#include "tests/merkle/mutations.h"

namespace dpledger::merkle {
namespace {

// The example of C2SP tlog-checkpoint.
constexpr char kExample[] =
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

Ed25519PrivateKey KeyOf(char seed) {
  return Ed25519PrivateKey::FromSeed(std::string(32, seed)).value();
}

TEST(Checkpoint, ReadsTheExampleOfTheDocument) {
  const Checkpoint checkpoint = ParseCheckpoint(kExample).value();
  EXPECT_EQ(checkpoint.origin, "example.com/behind-the-sofa");
  EXPECT_EQ(checkpoint.size, 20852163u);
  EXPECT_EQ(HexEncode(ToBytes(checkpoint.root)),
            "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62");
  EXPECT_TRUE(checkpoint.extensions.empty());
  EXPECT_EQ(CheckpointText(checkpoint).value(), kExample);
}

TEST(Checkpoint, KeepsExtensionLines) {
  const std::string text = absl::StrCat(kExample, "one\nand another\n");
  const Checkpoint checkpoint = ParseCheckpoint(text).value();
  EXPECT_EQ(checkpoint.extensions, (std::vector<std::string>{"one", "and another"}));
  EXPECT_EQ(CheckpointText(checkpoint).value(), text);
}

TEST(Checkpoint, RefusesOtherSpellings) {
  const std::string root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  const auto message = [](const std::string& text) {
    const absl::Status status = ParseCheckpoint(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  const std::string size = "size: must be a decimal without leading zeros";
  for (const char* wrong :
       {"", "01", "-1", "+1", " 1", "1 ", "0x1", "1.0", "00", "18446744073709551616"}) {
    EXPECT_EQ(message(absl::StrCat("o\n", wrong, "\n", root)), size) << wrong;
  }
  EXPECT_EQ(message("o\n9223372036854775809\n" + root),
            "size: must be at most 2^63 leaves, got 9223372036854775809");
  EXPECT_TRUE(ParseCheckpoint("o\n9223372036854775808\n" + root).ok());
  EXPECT_TRUE(ParseCheckpoint("o\n0\n" + root).ok());
  const std::string hash = "root: must be 32 bytes in base 64";
  for (const char* wrong :
       {"", "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I", "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3",
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=",  // bits set in the padding
        "CsUYapGGPo4dkMgIAUqom_Xajj7h2fB2MPA3j2jxq2I=",
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I= "}) {
    EXPECT_EQ(message(absl::StrCat("o\n1\n", wrong, "\n")), hash) << wrong;
  }
  EXPECT_EQ(message("\n1\n" + root),
            "origin: must be one line of UTF-8, not empty, without control characters");
  EXPECT_EQ(message("o\r\n1\n" + root),
            "origin: must be one line of UTF-8, not empty, without control characters");
  EXPECT_EQ(message("o\n1\n" + root + "\n"),
            "extension: must be one line of UTF-8, not empty, without control characters");
  EXPECT_EQ(message("o\n1\n" + root + "x"), "checkpoint: must end with a newline");
  EXPECT_EQ(message("o\n1\n"), "checkpoint: must have lines of origin, size and root");
}

TEST(Checkpoint, IsNotWrittenWithALineOfTheCallersMaking) {
  Checkpoint checkpoint{"host/ledgers/a\n7", 3, EmptyRoot(), {}};
  EXPECT_EQ(CheckpointText(checkpoint).status().message(),
            "origin: must be one line of UTF-8, not empty, without control characters");
  checkpoint.origin = "host/ledgers/a";
  checkpoint.extensions = {""};
  EXPECT_EQ(CheckpointText(checkpoint).status().message(),
            "extension: must be one line of UTF-8, not empty, without control characters");
  checkpoint = {"o", kMaxTreeSize + 1, EmptyRoot(), {}};
  EXPECT_EQ(CheckpointText(checkpoint).status().message(),
            "size: must be at most 2^63 leaves, got 9223372036854775809");
}

TEST(Checkpoint, HasOneSpellingUnderMutations) {
  const int accepted = ExpectOneSpelling(absl::StrCat(kExample, "extension\n"),
                                         [](std::string_view text) -> std::optional<std::string> {
                                           const absl::StatusOr<Checkpoint> checkpoint =
                                               ParseCheckpoint(text);
                                           if (!checkpoint.ok()) return {};
                                           return CheckpointText(*checkpoint).value();
                                         });
  EXPECT_GT(accepted, 100);  // of the origin, the digits, the hash
}

TEST(OpenCheckpoint, WantsTheLogsSignatureAndItsOrigin) {
  const Ed25519PrivateKey key = KeyOf('a');
  const std::string origin = "example.com/behind-the-sofa";
  const VerifierKey log{origin, SignatureType::kEd25519, key.public_key()};
  const Note note{kExample, {SignNote(kExample, origin, key).value()}};
  EXPECT_EQ(OpenCheckpoint(note, origin, {{log}}).value(), ParseCheckpoint(kExample).value());

  EXPECT_EQ(OpenCheckpoint(note, "example.com/sofa", {{log}}).status().message(),
            "origin: must be example.com/sofa, got example.com/behind-the-sofa");
  const VerifierKey other{origin, SignatureType::kEd25519, KeyOf('b').public_key()};
  EXPECT_EQ(OpenCheckpoint(note, origin, {{other}}).status().code(),
            absl::StatusCode::kPermissionDenied);
  Note changed = note;
  changed.text[0] = 'E';
  EXPECT_EQ(OpenCheckpoint(changed, origin, {{log}}).status().code(), absl::StatusCode::kDataLoss);
  const Note no_checkpoint{"text\n", {SignNote("text\n", origin, key).value()}};
  EXPECT_EQ(OpenCheckpoint(no_checkpoint, origin, {{log}}).status().message(),
            "checkpoint: must have lines of origin, size and root");
}

}  // namespace
}  // namespace dpledger::merkle
