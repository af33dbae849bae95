#include "client/root_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/client/oracle.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::kWithoutAes;
using ::dpledger::testing::OnlyTargets;

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RootKey, DerivesTheKeysOfTheFormat) {
  for (const int64_t targets : {int64_t{0}, kWithoutAes}) {
    const OnlyTargets only(targets);
    const RootKey root = RootKey::NonPrivateForTesting(7);
    const auto oracle = LoadOracle(root.generator());
    KeyStream key = root.Derive(KeyPurpose::kNoise, 4);
    std::vector<uint64_t> words(6);
    key.Words(StreamOf(2, 5), 0, absl::MakeSpan(words));
    EXPECT_EQ(words, WordsAt(oracle.fields(), "words")) << GeneratorName(root.generator());
  }
}

TEST(RootKey, TakesChaCha20WhereTheProcessorHasNoAes) {
  const OnlyTargets only(kWithoutAes);
  const auto root = RootKey::FromKernel();
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->generator(), Generator::kChaCha20);
}

TEST(RootKey, KeysOfStepsAndPurposesDiffer) {
  for (const int64_t targets : {int64_t{0}, kWithoutAes}) {
    const OnlyTargets only(targets);
    const RootKey root = RootKey::NonPrivateForTesting(7);
    const auto first = root.Derive(KeyPurpose::kNoise, 0).Block(0, 0);
    EXPECT_NE(root.Derive(KeyPurpose::kNoise, 1).Block(0, 0), first);
    for (int bit = 1; bit < 63; ++bit) {
      EXPECT_NE(root.Derive(KeyPurpose::kNoise, uint64_t{1} << bit).Block(0, 0), first) << bit;
    }
    EXPECT_NE(root.Derive(KeyPurpose::kSampling, 0).Block(0, 0), first);
    EXPECT_NE(RootKey::NonPrivateForTesting(8).Derive(KeyPurpose::kNoise, 0).Block(0, 0), first);
  }
}

TEST(RootKey, OfTheKernelIsNewEachTime) {
  for (const int64_t targets : {int64_t{0}, kWithoutAes}) {
    const OnlyTargets only(targets);
    const auto one = RootKey::FromKernel(), other = RootKey::FromKernel();
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_FALSE(one->non_private());
    EXPECT_NE(one->Derive(KeyPurpose::kNoise, 0).Block(0, 0),
              other->Derive(KeyPurpose::kNoise, 0).Block(0, 0));
  }
}

TEST(RootKey, MovedFromIsWipedAndMarkedNonPrivate) {
  auto root = RootKey::FromKernel();
  ASSERT_TRUE(root.ok());
  const RootKey taken = *std::move(root);
  EXPECT_FALSE(taken.non_private());
  EXPECT_TRUE(root->non_private());  // NOLINT(bugprone-use-after-move): that is the question
  // What the key of zeros derives.
  const size_t size = KeyBytes(root->generator());
  const std::vector<uint8_t> zeros(size);
  std::vector<uint64_t> words(size / 8);
  KeyStream(root->generator(), zeros).Words(1, 0, absl::MakeSpan(words));
  std::vector<uint8_t> derived;
  for (size_t i = 0; i < size; ++i) {
    derived.push_back(static_cast<uint8_t>(words[i / 8] >> (8 * (i % 8))));
  }
  EXPECT_EQ(root->Derive(KeyPurpose::kNoise, 0).Block(0, 0),
            KeyStream(root->generator(), derived).Block(0, 0));
}

TEST(RootKey, IsWipedWhenDestroyed) {
  alignas(RootKey) unsigned char storage[sizeof(RootKey)] = {};
  const auto bytes = [&] {
    return std::string(reinterpret_cast<const char*>(storage), sizeof(storage));
  };
  auto* root = new (storage) RootKey(RootKey::NonPrivateForTesting(7));
  EXPECT_THAT(bytes(), HasSubstr("non-priv"));
  root->~RootKey();
  EXPECT_THAT(bytes(), Not(HasSubstr("non-priv")));
}

TEST(RootKey, CannotBeCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<RootKey>);
  EXPECT_FALSE(std::is_copy_assignable_v<RootKey>);
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

// Calls `work` in a child that has process id 1 in a namespace of its own; the exit code it ends
// with, or -1 where that is not allowed.
int ExitCodeAsProcessOne(const std::function<int()>& work) {
  if (unshare(CLONE_NEWPID) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) _exit(getpid() == 1 ? work() : 2);
  int status = 0;
  return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 3;
}

TEST(RootKey, RefusesToDrawInAChildWithTheSameId) {
  // All in a child, for who has left its namespace can have no children in it.
  const pid_t child = fork();
  if (child == 0) {
    _exit(ExitCodeAsProcessOne([] {
      const auto root = RootKey::FromKernel();
      if (!root.ok() || !root->CheckSafeToDraw().ok()) return 4;
      return ExitCodeAsProcessOne([&] { return root->CheckSafeToDraw().ok() ? 5 : 42; });
    }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 255) GTEST_SKIP() << "namespaces of process ids are not allowed here";
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
