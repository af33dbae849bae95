#include "client/aes_ctr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <string>
#include <vector>

#include "base/hex.h"
#include "tests/client/oracle.h"

namespace dpledger::client {
namespace {

using ::testing::HasSubstr;

std::string BytesOf(const std::vector<uint64_t>& words) {
  std::string bytes;
  for (const uint64_t word : words) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(word >> (8 * i)));
  }
  return bytes;
}

// NIST SP 800-38A, F.5.1: its plaintext XOR its ciphertext is the key stream.
TEST(AesCtr, GivesTheKeyStreamOfNist80038A) {
  const std::string key_bytes = *HexDecode("2b7e151628aed2a6abf7158809cf4f3c");
  AesCtr::Key key;
  std::copy(key_bytes.begin(), key_bytes.end(), key.begin());
  std::vector<uint64_t> words(8);
  AesCtr(key).Words(0xf0f1f2f3f4f5f6f7, 0xf8f9fafbfcfdfeff, absl::MakeSpan(words));

  const std::string plain = *HexDecode(
      "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
      "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
  std::string encrypted = BytesOf(words);
  for (size_t i = 0; i < plain.size(); ++i) encrypted[i] ^= plain[i];
  EXPECT_EQ(HexEncode(encrypted),
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
            "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee");
}

TEST(AesCtr, GivesTheSameWordsFromAnyStart) {
  AesCtr key = RootKey::NonPrivateForTesting(1).Derive(KeyPurpose::kNoise, 0);
  std::vector<uint64_t> whole(100), tail(99 - 2 * 7);
  key.Words(3, 0, absl::MakeSpan(whole));
  key.Words(3, 7, absl::MakeSpan(tail));
  for (size_t i = 0; i < tail.size(); ++i) EXPECT_EQ(tail[i], whole[14 + i]);
  EXPECT_EQ(key.Block(3, 20)[1], whole[41]);
}

TEST(AesCtr, WordsOfALongRequestAreThoseOfShortOnes) {
  AesCtr key = RootKey::NonPrivateForTesting(1).Derive(KeyPurpose::kNoise, 0);
  std::vector<uint64_t> words((1 << 20) + 6);
  key.Words(0, 0, absl::MakeSpan(words));
  EXPECT_EQ(words[(1 << 20) + 4], key.Block(0, (1 << 19) + 2)[0]);
}

TEST(RootKey, DerivesTheKeysOfTheFormat) {
  const auto oracle = LoadOracle();
  AesCtr key = RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kNoise, 4);
  std::vector<uint64_t> words(6);
  key.Words(StreamOf(2, 5), 0, absl::MakeSpan(words));
  EXPECT_EQ(words, WordsAt(oracle.fields(), "words"));
}

TEST(RootKey, KeysOfStepsAndPurposesDiffer) {
  const RootKey root = RootKey::NonPrivateForTesting(7);
  const auto first = root.Derive(KeyPurpose::kNoise, 0).Block(0, 0);
  EXPECT_NE(root.Derive(KeyPurpose::kNoise, 1).Block(0, 0), first);
  EXPECT_NE(root.Derive(KeyPurpose::kSampling, 0).Block(0, 0), first);
}

TEST(RootKey, OfTheKernelIsNewEachTime) {
  const auto one = RootKey::FromKernel(), other = RootKey::FromKernel();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_FALSE(one->non_private());
  EXPECT_NE(one->Derive(KeyPurpose::kNoise, 0).Block(0, 0),
            other->Derive(KeyPurpose::kNoise, 0).Block(0, 0));
}

TEST(RootKey, MovedFromIsWipedAndMarkedNonPrivate) {
  auto root = RootKey::FromKernel();
  ASSERT_TRUE(root.ok());
  const RootKey taken = *std::move(root);
  EXPECT_FALSE(taken.non_private());
  EXPECT_TRUE(root->non_private());  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(root->Derive(KeyPurpose::kNoise, 0).Block(0, 0),
            AesCtr([] {
              std::array<uint64_t, 2> words = AesCtr(AesCtr::Key{}).Block(1, 0);
              AesCtr::Key key;
              for (int i = 0; i < 16; ++i)
                key[i] = static_cast<uint8_t>(words[i / 8] >> (8 * (i % 8)));
              return key;
            }())
                .Block(0, 0));
}

TEST(RootKey, RefusesToDrawInAForkedChild) {
  const auto root = RootKey::FromKernel();
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(root->CheckSafeToDraw().ok());
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status status = root->CheckSafeToDraw();
    const bool refused = status.code() == absl::StatusCode::kFailedPrecondition &&
                         std::string(status.message()).find("after the fork") != std::string::npos;
    _exit(refused ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(RootKey, RefusesToDrawUnderAnotherRoundingMode) {
  const RootKey root = RootKey::NonPrivateForTesting(0);
  std::fesetround(FE_UPWARD);
  const absl::Status status = root.CheckSafeToDraw();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rounding mode must be to nearest"));
}

}  // namespace
}  // namespace dpledger::client
