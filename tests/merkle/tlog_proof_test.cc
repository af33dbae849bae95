#include "merkle/tlog_proof.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "merkle/proof.h"
#include "merkle/text_lines.h"
#include "tests/merkle/mutations.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

constexpr char kOrigin[] = "example.com/log";

class TlogProofTest : public ::testing::Test {
 protected:
  static Ed25519PrivateKey KeyOf(char seed) {
    return Ed25519PrivateKey::FromSeed(std::string(32, seed)).value();
  }
  TlogProofTest() {
    const Checkpoint checkpoint{kOrigin, 7, tree_.Root(7), {}};
    const std::string text = CheckpointText(checkpoint).value();
    proof_ = {
        "out of band", 4, tree_.Path(4, 0, 7), {text, {SignNote(text, kOrigin, key_).value()}}};
  }

  ReferenceTree tree_ = ReferenceTree(7);
  const Ed25519PrivateKey key_ = KeyOf('l');
  const std::vector<VerifierKey> log_ = {{kOrigin, SignatureType::kEd25519, key_.public_key()}};
  TlogProof proof_;
};

TEST_F(TlogProofTest, IsWrittenAsTheDocumentSays) {
  const std::string text = TlogProofText(proof_).value();
  EXPECT_EQ(text, absl::StrCat("c2sp.org/tlog-proof@v1\nextra b3V0IG9mIGJhbmQ=\nindex 4\n",
                               HashToBase64(tree_.Leaf(5)), "\n", HashToBase64(tree_.Leaf(6)), "\n",
                               HashToBase64(tree_.Root(4)), "\n\n", proof_.checkpoint.ToText()));
  proof_.extra.clear();
  const std::string short_text = TlogProofText(proof_).value();
  EXPECT_EQ(short_text.find("extra"), std::string::npos);
  EXPECT_EQ(ParseTlogProof(short_text)->extra, "");
}

TEST_F(TlogProofTest, VerifiesAndTellsTheCheckpoint) {
  const TlogProof read = ParseTlogProof(TlogProofText(proof_).value()).value();
  EXPECT_EQ(read.extra, "out of band");
  EXPECT_EQ(VerifyTlogProof(read, tree_.Leaf(4), kOrigin, log_)->size, 7u);

  EXPECT_EQ(VerifyTlogProof(read, tree_.Leaf(3), kOrigin, log_).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(VerifyTlogProof(read, tree_.Leaf(4), "example.com/other", log_).status().message(),
            "origin: must be example.com/other, got example.com/log");
  const std::vector<VerifierKey> stranger = {
      {kOrigin, SignatureType::kEd25519, KeyOf('s').public_key()}};
  EXPECT_EQ(VerifyTlogProof(read, tree_.Leaf(4), kOrigin, stranger).status().message(),
            "note: no known key signed it");
  TlogProof moved = read;
  moved.index = 7;
  EXPECT_EQ(VerifyTlogProof(moved, tree_.Leaf(4), kOrigin, log_).status().message(),
            "index: must be below the tree's size 7, got 7");
}

TEST_F(TlogProofTest, RefusesOtherSpellings) {
  const std::string note = "\n" + proof_.checkpoint.ToText();
  const std::string first = "c2sp.org/tlog-proof@v1\n";
  const auto message = [](const std::string& text) {
    const absl::Status status = ParseTlogProof(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  EXPECT_TRUE(ParseTlogProof(first + "index 0\n" + note).ok());
  EXPECT_EQ(message("c2sp.org/tlog-proof@v2\nindex 0\n" + note),
            "tlog-proof: must begin with the line c2sp.org/tlog-proof@v1");
  for (const char* lines : {"", "index 00\n", "index -1\n", "index\n", "Index 0\n", "index 0 \n",
                            "index 18446744073709551616\n", "extra YQ==\n"}) {
    EXPECT_EQ(message(first + lines + note),
              "tlog-proof: must have a line \"index <decimal without leading zeros>\"")
        << lines;
  }
  for (const char* extra : {"extra \n", "extra Y\n", "extra YQ\n", "extra YR==\n"}) {
    EXPECT_EQ(message(first + extra + "index 0\n" + note),
              "tlog-proof: extra must be base 64, not empty");
  }
  EXPECT_EQ(message(first + "index 0\nAAAA\n" + note),
            "tlog-proof: a hash must be 32 bytes in base 64");
  std::string hashes;
  for (int i = 0; i < 63; ++i) hashes += HashToBase64(Hash{}) + "\n";
  EXPECT_TRUE(ParseTlogProof(first + "index 0\n" + hashes + note).ok());
  EXPECT_EQ(message(first + "index 0\n" + hashes + HashToBase64(Hash{}) + "\n" + note),
            "tlog-proof: must have at most 63 hashes");
  EXPECT_EQ(message(first + "index 0\n"),
            "tlog-proof: must have an empty line before the checkpoint");
  EXPECT_EQ(message(first + "index 0\n\ntext\n\n\u2014 name AAAAAAA=\n"),
            "checkpoint: must have lines of origin, size and root");
  EXPECT_EQ(message(std::string(kMaxTlogProofBytes + 1, 'a')), "tlog-proof: must be at most 2 MiB");
}

TEST_F(TlogProofTest, HasOneSpellingUnderMutations) {
  const int accepted = ExpectOneSpelling(
      TlogProofText(proof_).value(), [&](std::string_view text) -> std::optional<std::string> {
        const absl::StatusOr<TlogProof> proof = ParseTlogProof(text);
        if (!proof.ok()) return {};
        if (VerifyTlogProof(*proof, tree_.Leaf(4), kOrigin, log_).ok()) {
          EXPECT_EQ(proof->index, 4u);
          EXPECT_EQ(proof->hashes, proof_.hashes);
          EXPECT_EQ(proof->checkpoint.text, proof_.checkpoint.text);
        }
        return TlogProofText(*proof).value();
      });
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace dpledger::merkle
