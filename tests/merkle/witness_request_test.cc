#include "merkle/witness_request.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "merkle/checkpoint.h"
#include "merkle/text_lines.h"
#include "tests/merkle/mutations.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::merkle {
namespace {

class WitnessRequestTest : public ::testing::Test {
 protected:
  WitnessRequestTest() {
    const Ed25519PrivateKey key = Ed25519PrivateKey::FromSeed(std::string(32, 'l')).value();
    const std::string text =
        CheckpointText({"example.com/log", 7, tree_.Root(7), {"an extension"}}).value();
    request_ = {
        3, tree_.Subproof(3, 0, 7, true), {text, {SignNote(text, "example.com/log", key).value()}}};
  }

  ReferenceTree tree_ = ReferenceTree(7);
  WitnessRequest request_;
};

TEST_F(WitnessRequestTest, IsWrittenAsTheDocumentSays) {
  // PROOF(3, D[7]) = [c, d, g, l] of the tree that RFC 6962, section 2.1.3, draws.
  EXPECT_EQ(WitnessRequestText(request_),
            absl::StrCat("old 3\n", HashToBase64(tree_.Leaf(2)), "\n", HashToBase64(tree_.Leaf(3)),
                         "\n", HashToBase64(tree_.Root(0, 2)), "\n", HashToBase64(tree_.Root(4, 7)),
                         "\n\n", request_.checkpoint.ToText()));
  const WitnessRequest read = ParseWitnessRequest(WitnessRequestText(request_)).value();
  EXPECT_EQ(read.old_size, 3u);
  EXPECT_EQ(read.proof, request_.proof);
  EXPECT_EQ(read.checkpoint.text, request_.checkpoint.text);
  EXPECT_EQ(read.checkpoint.signatures, request_.checkpoint.signatures);
}

TEST_F(WitnessRequestTest, RefusesOtherSpellings) {
  const std::string note = absl::StrCat("\n", request_.checkpoint.ToText());
  const auto message = [](const std::string& text) {
    const absl::Status status = ParseWitnessRequest(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  EXPECT_TRUE(ParseWitnessRequest(absl::StrCat("old 0\n", note)).ok());
  for (const char* first : {"", "\n", "old", "new 3\n", "Old 3\n", "old3\n", " old 3\n"}) {
    EXPECT_EQ(message(absl::StrCat(first, note)), "request: must begin with a line \"old <size>\"")
        << first;
  }
  for (const char* first : {"old \n", "old 03\n", "old -1\n", "old 3 \n", "old 0x3\n",
                            "old 18446744073709551616\n", "old 3\r\n"}) {
    EXPECT_EQ(message(absl::StrCat(first, note)),
              "request: old size must be a decimal without leading zeros")
        << first;
  }
  for (const char* hash : {"AAAA\n", "x\n", " \n"}) {
    EXPECT_EQ(message(absl::StrCat("old 3\n", hash, note)),
              "request: a hash must be 32 bytes in base 64");
  }
  std::string hashes;
  for (int i = 0; i < 63; ++i) hashes += HashToBase64(Hash{}) + "\n";
  EXPECT_TRUE(ParseWitnessRequest(absl::StrCat("old 3\n", hashes, note)).ok());
  EXPECT_EQ(message(absl::StrCat("old 3\n", hashes, HashToBase64(Hash{}), "\n", note)),
            "request: must have at most 63 hashes");
  EXPECT_EQ(message(absl::StrCat("old 3\n", hashes)),
            "request: must have an empty line before the checkpoint");
  EXPECT_EQ(message("old 3\n\n"), "note: must have a text, an empty line and signature lines");
  EXPECT_EQ(message("old 3\n\ntext\n\n\u2014 name AAAAAAA=\n"),
            "checkpoint: must have lines of origin, size and root");
  EXPECT_EQ(message(std::string(kMaxWitnessRequestBytes + 1, 'a')),
            "request: must be at most 256 KiB");
}

TEST_F(WitnessRequestTest, HasOneSpellingUnderMutations) {
  const int accepted = ExpectOneSpelling(
      WitnessRequestText(request_), [](std::string_view text) -> std::optional<std::string> {
        const absl::StatusOr<WitnessRequest> request = ParseWitnessRequest(text);
        if (!request.ok()) return {};
        return WitnessRequestText(*request);
      });
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace dpledger::merkle
