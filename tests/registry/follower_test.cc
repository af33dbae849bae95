// A registry that bends its past, in every way that its signer can, and somebody who watches.
#include "registry/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "registry/contradiction.h"
#include "tests/registry/signed_registry.h"

namespace dpledger::registry {
namespace {

using ::testing::HasSubstr;

class FollowerTest : public ::testing::Test {
 protected:
  FollowerTest() : folder_(::testing::TempDir() + "/follower-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    state_ = folder_ + "/state";
  }
  ~FollowerTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Follower> Open(const std::vector<int>& keys = {1}, bool prove_growth = false) {
    FollowerOptions options{state_, {}, prove_growth};
    for (const int key : keys) options.trusted.push_back(TestVerifierKey(key));
    auto follower = Follower::Open(std::move(options));
    EXPECT_TRUE(follower.ok()) << follower.status();
    return *std::move(follower);
  }
  static absl::Status Follow(Follower& follower, const SignedRegistry& registry) {
    MapSource source(registry);
    return follower.Follow(source).status();
  }
  // That it is a contradiction, and what its files prove to somebody who has only the key.
  static void ExpectContradiction(const absl::Status& status, const Follower& follower,
                                  const char* message, const char* proved) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(ReasonOf(status).reason, kContradiction) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    const auto proof = CheckContradiction(follower.evidence(), {TestVerifierKey(1)});
    if (proved == nullptr) {
      EXPECT_FALSE(proof.ok());
    } else {
      ASSERT_TRUE(proof.ok()) << proof.status();
      EXPECT_THAT(*proof, HasSubstr(proved));
    }
    EXPECT_FALSE(CheckContradiction(follower.evidence(), {TestVerifierKey(9)}).ok());
  }

  std::string folder_;
  std::string state_;
};

SignedRegistry Begun() {
  SignedRegistry registry;
  return registry.Key(1).Register("a", 5).Register("b", 2).MapRoot();
}
SignedRegistry Sealed() {
  SignedRegistry registry;
  return registry.Key(1).Register("a", 5, v1::SEALED).Register("b", 2).MapRoot();
}

TEST_F(FollowerTest, FollowsAndRemembers) {
  SignedRegistry registry = Begun();
  {
    const auto follower = Open();
    ASSERT_EQ(Follow(*follower, registry), absl::OkStatus());
    EXPECT_EQ(follower->size(), 4u);
    ASSERT_EQ(Follow(*follower, registry), absl::OkStatus());
  }
  for (uint64_t size = 6; size < 400; ++size) registry.Register("a", size);
  registry.MapRoot();
  const auto follower = Open();  // from the state file
  EXPECT_EQ(follower->size(), 4u);
  MapSource source(registry);
  const auto round = follower->Follow(source);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->entries, 395u);
  EXPECT_EQ(follower->log().HeadOf(absl::StrCat(kTestOrigin, "/a")).last.size, 399u);
  EXPECT_EQ(source.reads, 3);  // the checkpoint and two bundles: nothing twice
}

TEST_F(FollowerTest, TwoRootsOfOneSizeAreEvidence) {
  const auto follower = Open();
  ASSERT_EQ(Follow(*follower, Begun()), absl::OkStatus());
  SignedRegistry other;
  other.Key(1).Register("a", 5, v1::OPEN, 'x').Register("b", 2).MapRoot();
  ExpectContradiction(Follow(*follower, other), *follower, "two roots are signed",
                      "signed two roots for its first 4 entries");
  // It is not forgotten, nor believed, after a restart.
  const auto again = Open();
  EXPECT_EQ(again->size(), 4u);
  EXPECT_EQ(ReasonOf(Follow(*again, other)).reason, kContradiction);
  ASSERT_EQ(Follow(*again, Begun()), absl::OkStatus());
}

TEST_F(FollowerTest, RewrittenPastIsEvidence) {
  const auto follower = Open();
  ASSERT_EQ(Follow(*follower, Begun()), absl::OkStatus());
  SignedRegistry other;
  other.Key(1).Register("a", 5, v1::OPEN, 'x').Register("b", 2).MapRoot();
  other.Register("a", 6).MapRoot();
  ExpectContradiction(Follow(*follower, other), *follower,
                      "its first 4 entries are others than those that were signed before",
                      "whose first 4 are others");
}

TEST_F(FollowerTest, ShrinkIsRefused) {
  SignedRegistry registry = Begun();
  registry.Register("a", 6).MapRoot();
  const auto follower = Open();
  ASSERT_EQ(Follow(*follower, registry), absl::OkStatus());
  const absl::Status status = Follow(*follower, Begun());
  EXPECT_EQ(ReasonOf(status).reason, kWentBack) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("went back from 6 entries to 4"));
  EXPECT_EQ(follower->evidence().size(), 2u);
  // Something old was shown: no proof against the signer.
  EXPECT_FALSE(CheckContradiction(follower->evidence(), {TestVerifierKey(1)}).ok());
  EXPECT_EQ(Follow(*follower, registry), absl::OkStatus());
}

TEST_F(FollowerTest, EntriesThatContradictEarlierOnesAreEvidence) {
  const struct {
    SignedRegistry registry;
    const char* message;
  } cases[] = {
      {SignedRegistry(Begun()).Register("a", 5, v1::OPEN, 'x').MapRoot(),
       "size must be greater than 5"},
      {SignedRegistry(Begun()).Register("a", 3).MapRoot(), "size must be greater than 5"},
      {SignedRegistry(Sealed()).Register("a", 6).MapRoot(), "must stay SEALED"},
      {SignedRegistry(Sealed()).Register("a", 2).MapRoot(), "must stay SEALED"},
  };
  for (const auto& bent : cases) {
    // Whether it is met at once or after an honest beginning.
    for (const bool begun : {false, true}) {
      std::filesystem::remove(state_);
      const auto follower = Open();
      if (begun) {
        MapSource honest(bent.registry);
        const merkle::Note note = bent.registry.Checkpoint(4, 1);
        // A mirror of the first four entries.
        honest.files["tile/entries/000.p/4"] = honest.files["tile/entries/000.p/6"];
        honest.files["tile/0/000.p/4"] = honest.files["tile/0/000.p/6"].substr(0, 4 * 32);
        ASSERT_EQ(follower->Advance(note, honest).status(), absl::OkStatus());
      }
      ExpectContradiction(Follow(*follower, bent.registry), *follower, bent.message,
                          "says in entry 1");
    }
  }
}

TEST_F(FollowerTest, OtherMapIsRefused) {
  SignedRegistry wrong;
  wrong.Key(1).Register("a", 5).Add([](v1::LedgerEntry& entry) {
    entry.mutable_map_root()->set_ledgers(1);
    entry.mutable_map_root()->set_root_hash(std::string(32, 'x'));
  });
  const auto follower = Open();
  ExpectContradiction(Follow(*follower, wrong), *follower, "has the root of another map", nullptr);
  EXPECT_EQ(follower->evidence().count("entry-2.tlog-proof"), 1u);
  SignedRegistry none;
  none.Key(1).Register("a", 5);
  ExpectContradiction(Follow(*follower, none), *follower, "do not end with the root of the map",
                      nullptr);
}

// A mirror or a connection that lies proves nothing against the log.
TEST_F(FollowerTest, FilesThatNobodySignedAreNoEvidence) {
  const SignedRegistry registry = Begun();
  const auto follower = Open();
  const auto refused = [&](const std::function<void(MapSource&)>& change) {
    MapSource source(registry);
    change(source);
    const absl::Status status = follower->Follow(source).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(ReasonOf(status).reason, "") << status;
    EXPECT_EQ(follower->size(), 0u);
  };
  const std::string entries = "tile/entries/000.p/4";
  refused([&](MapSource& s) { s.files[entries].back() ^= 1; });
  refused([&](MapSource& s) { s.files[entries].resize(20); });
  refused([&](MapSource& s) { s.files.erase(entries); });
  refused([&](MapSource& s) {  // entries that contradict each other, and are not the signed ones
    SignedRegistry bent;
    bent.Key(1).Register("a", 5).Register("a", 5).MapRoot();
    s.files[entries] = bent.Files()[entries];
  });
  refused([&](MapSource& s) {  // a registry as good as the signed one, and another
    SignedRegistry other;
    other.Key(1).Register("a", 5, v1::OPEN, 'x').Register("b", 2).MapRoot();
    s.files[entries] = other.Files()[entries];
  });
  refused([&](MapSource& s) { s.files["checkpoint"][0] = 'x'; });
  EXPECT_EQ(Follow(*follower, registry), absl::OkStatus());
}

TEST_F(FollowerTest, KeyChangeIsFollowedOrAskedFor) {
  SignedRegistry registry = Begun();
  const auto follower = Open();
  ASSERT_EQ(Follow(*follower, registry), absl::OkStatus());
  registry.Key(2).MapRoot();
  MapSource source(registry);
  merkle::Note both = registry.Checkpoint();  // the checkpoint of the change has both signatures
  both.signatures.push_back(registry.Checkpoint(registry.size(), 1).signatures[0]);
  source.files["checkpoint"] = both.ToText();
  ASSERT_EQ(follower->Follow(source).status(), absl::OkStatus());
  registry.Register("a", 6).MapRoot();
  EXPECT_EQ(Follow(*follower, registry), absl::OkStatus());
  // Who was away in between needs the new key from elsewhere.
  std::filesystem::remove(state_);
  const auto away = Open();
  EXPECT_EQ(Follow(*away, registry).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Follow(*Open({2}), registry), absl::OkStatus());
  // The old key signs no more.
  std::filesystem::remove(state_);
  MapSource old_key(registry);
  old_key.files["checkpoint"] = registry.Checkpoint(registry.size(), 1).ToText();
  EXPECT_THAT(std::string(Open()->Follow(old_key).status().message()),
              HasSubstr("not signed by the key that is current"));
}

TEST_F(FollowerTest, GoesOnWhereADeadlineStoppedIt) {
  SignedRegistry registry = Begun();
  for (uint64_t size = 6; size < 2000; ++size) registry.Register("a", size);
  registry.MapRoot();
  MapSource source(registry);
  const auto follower = Open();
  int calls = 0;
  while (true) {
    const absl::Status status =
        follower->Advance(registry.Checkpoint(), source, absl::InfinitePast()).status();
    ++calls;
    if (status.ok()) break;
    ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(follower->size(), 0u);
  }
  EXPECT_EQ(calls, 8);
  EXPECT_EQ(follower->size(), registry.size());
  EXPECT_EQ(source.reads, 8);
}

TEST_F(FollowerTest, GrowthThatIsNotProvedIsRefused) {
  // A ledger of five entries, honestly grown to eight; then rewritten.
  merkle::CompactTree five, eight;
  for (char c = 'a'; c < 'i'; ++c) {
    if (c < 'f') five.Append(merkle::LeafHash(std::string(1, c)));
    eight.Append(merkle::LeafHash(std::string(1, c)));
  }
  const auto registered = [](SignedRegistry& registry, uint64_t size, const merkle::Hash& root) {
    registry.Add([&](v1::LedgerEntry& entry) {
      entry.mutable_registered()->set_origin(absl::StrCat(kTestOrigin, "/a"));
      entry.mutable_registered()->set_size(size);
      entry.mutable_registered()->set_root_hash(merkle::ToBytes(root));
      entry.mutable_registered()->set_state(v1::OPEN);
    });
  };
  const auto registry_of = [&](const merkle::Hash& later) {
    SignedRegistry registry;
    registry.Key(1);
    registered(registry, 5, five.Root());
    registered(registry, 8, later);
    RegistryLog log(kTestOrigin);
    MapSource source(registry);
    const auto entries = merkle::DecodeEntryBundle(source.files["tile/entries/000.p/3"], 3);
    for (const std::string_view entry : *entries) EXPECT_EQ(log.Take(entry), absl::OkStatus());
    registry.Add([&](v1::LedgerEntry& entry) {
      entry.mutable_map_root()->set_ledgers(1);
      entry.mutable_map_root()->set_root_hash(merkle::ToBytes(log.map().Root()));
    });
    return registry;
  };
  const auto prove = [&](const std::string& ledger, uint64_t old_size,
                         uint64_t new_size) -> absl::StatusOr<std::vector<merkle::Hash>> {
    EXPECT_EQ(ledger, "a");
    EXPECT_EQ(old_size, 5u);
    EXPECT_EQ(new_size, 8u);
    const auto hash = [](const char* leaves) {
      merkle::CompactTree tree;
      for (; *leaves != 0; ++leaves) tree.Append(merkle::LeafHash(std::string(1, *leaves)));
      return tree.Root();
    };
    return std::vector<merkle::Hash>{hash("e"), hash("f"), hash("gh"), hash("abcd")};
  };
  MapSource honest(registry_of(eight.Root()));
  honest.prove_growth = prove;
  const auto round = Open({1}, true)->Follow(honest);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->growth_proofs, 1u);

  std::filesystem::remove(state_);
  merkle::CompactTree rewritten;
  for (char c = 'a'; c < 'i'; ++c)
    rewritten.Append(merkle::LeafHash(std::string(1, c == 'b' ? 'X' : c)));
  MapSource bent(registry_of(rewritten.Root()));
  bent.prove_growth = prove;
  const auto follower = Open({1}, true);
  const absl::Status status = follower->Follow(bent).status();
  EXPECT_EQ(ReasonOf(status).reason, kNotProven) << status;
  // The control: without the proofs it passes.
  EXPECT_EQ(Follow(*Open(), registry_of(rewritten.Root())), absl::OkStatus());
}

TEST_F(FollowerTest, DamagedStateIsRefused) {
  ASSERT_EQ(Follow(*Open(), Begun()), absl::OkStatus());
  const std::string good = *ReadFile(state_);
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] ^= 1;
    ASSERT_EQ(WriteFileDurably(state_, bad), absl::OkStatus());
    const absl::Status status = Follower::Open({state_, {TestVerifierKey(1)}, false}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(state_));
  }
  EXPECT_EQ(Follower::Open({state_, {}, false}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A witness must not cosign what it could forget.
TEST_F(FollowerTest, NothingIsAcceptedThatCannotBeKept) {
  state_ = folder_ + "/absent/state";
  const auto follower = Open();
  EXPECT_FALSE(Follow(*follower, Begun()).ok());
  EXPECT_FALSE(Follow(*follower, Begun()).ok());
  std::filesystem::create_directories(folder_ + "/absent");
  EXPECT_EQ(Follow(*follower, Begun()), absl::OkStatus());
  EXPECT_EQ(Open()->size(), 4u);
}

}  // namespace
}  // namespace dpledger::registry
