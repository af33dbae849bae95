#include "registry/registry_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/ed25519.h"

namespace dpledger::registry {
namespace {

using ::testing::HasSubstr;

constexpr char kOrigin[] = "registry.example";
constexpr int64_t kMinute = 1'700'000'040;

std::string KeyText(int number) {
  const auto key = *merkle::Ed25519PrivateKey::FromSeed(std::string(32, static_cast<char>(number)));
  return merkle::VerifierKey{kOrigin, merkle::SignatureType::kEd25519, key.public_key()}.ToText();
}

// Entries of a registry, each as it must be until `edit` changes it.
class Entries {
 public:
  using Edit = std::function<void(v1::LedgerEntry&)>;

  std::string Next(const Edit& edit) {
    v1::LedgerEntry entry;
    entry.set_sequence(log.size());
    entry.mutable_recorded_time()->set_seconds(kMinute);
    edit(entry);
    return entry.SerializeAsString();
  }
  absl::Status Take(const Edit& edit) { return log.Take(Next(edit)); }
  absl::Status Key(int number) {
    return Take(
        [&](v1::LedgerEntry& e) { e.mutable_key_rotate()->set_verifier_key(KeyText(number)); });
  }
  absl::Status Register(const std::string& ledger, uint64_t size, v1::LedgerState state = v1::OPEN,
                        char root = 'r') {
    return Take([&](v1::LedgerEntry& e) {
      v1::Registered& registered = *e.mutable_registered();
      registered.set_origin(absl::StrCat(kOrigin, "/", ledger));
      registered.set_size(size);
      registered.set_root_hash(std::string(32, root));
      registered.set_state(state);
    });
  }
  absl::Status MapRoot(int more_ledgers = 0) {
    return Take([&](v1::LedgerEntry& e) {
      e.mutable_map_root()->set_ledgers(log.map().size() + static_cast<uint64_t>(more_ledgers));
      e.mutable_map_root()->set_root_hash(merkle::ToBytes(log.map().Root()));
    });
  }

  RegistryLog log{kOrigin};
};

std::string Bytes(std::string_view hex) { return *HexDecode(hex); }

// docs/formats.md by hand.
TEST(Head, HasTheBytesOfTheDocument) {
  const Point point{7, 258, {}, v1::SEALED};
  const std::string bytes =
      Bytes("0000000000000007") + Bytes("0000000000000102") + std::string(32, '\0') + '\x02';
  EXPECT_EQ(point.ToBytes(), bytes);
  const merkle::Hash chain = merkle::Sha256({"\x03", std::string(32, '\0'), bytes});
  const Head head = *Head().After(point);
  EXPECT_EQ(head.ToBytes(), Bytes("0000000000000001") + bytes + merkle::ToBytes(chain));
  EXPECT_EQ(HeadLeaf("o", head),
            merkle::Sha256({"\x02", merkle::ToBytes(merkle::Sha256({"o"})), head.ToBytes()}));
  EXPECT_EQ(*ParsePoints(bytes + bytes), (std::vector<Point>{point, point}));
  EXPECT_FALSE(ParsePoints(bytes.substr(1)).ok());
  EXPECT_FALSE(ParsePoints(bytes.substr(0, 48) + '\x03').ok());
}

TEST(RegistryLog, TakesWhatARegistryMaySay) {
  Entries entries;
  ASSERT_EQ(entries.Key(1), absl::OkStatus());
  ASSERT_EQ(entries.MapRoot(), absl::OkStatus());
  ASSERT_EQ(entries.Register("a", 3), absl::OkStatus());
  EXPECT_EQ(entries.log.last_registered(), absl::StrCat(kOrigin, "/a"));
  ASSERT_EQ(entries.Register("b", 1, v1::SEALED), absl::OkStatus());
  EXPECT_FALSE(entries.log.ends_with_map());
  ASSERT_EQ(entries.MapRoot(), absl::OkStatus());
  EXPECT_TRUE(entries.log.ends_with_map());
  EXPECT_EQ(entries.log.last_registered(), "");
  ASSERT_EQ(entries.Register("b", 2, v1::SEALED), absl::OkStatus());  // late entries
  ASSERT_EQ(entries.Key(2), absl::OkStatus());
  ASSERT_EQ(entries.Register("a", 4, v1::SEALED), absl::OkStatus());
  ASSERT_EQ(entries.MapRoot(), absl::OkStatus());
  EXPECT_EQ(entries.log.keys().size(), 2u);
  const Head head = entries.log.HeadOf(absl::StrCat(kOrigin, "/a"));
  EXPECT_EQ(head.points, 2u);
  EXPECT_EQ(head.last.index, 7u);
  EXPECT_EQ(head.last.size, 4u);
}

// What a follower must never believe, each with the entry that it contradicts.
TEST(RegistryLog, RefusesWhatContradictsItself) {
  const auto contradiction = [](const absl::Status& status, const char* what) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
    EXPECT_EQ(ReasonOf(status).reason, kContradiction);
    EXPECT_EQ(ReasonOf(status).metadata["earlier"], "1");
    EXPECT_EQ(ReasonOf(status).metadata["later"], "2");
  };
  const auto begun = [](v1::LedgerState state) {
    Entries entries;
    EXPECT_EQ(entries.Key(1), absl::OkStatus());
    EXPECT_EQ(entries.Register("a", 4, state), absl::OkStatus());
    return entries;
  };
  contradiction(begun(v1::OPEN).Register("a", 4, v1::OPEN, 'x'), "size must be greater than 4");
  contradiction(begun(v1::OPEN).Register("a", 3), "size must be greater than 4");
  contradiction(begun(v1::SEALED).Register("a", 5), "must stay SEALED");
  contradiction(begun(v1::SEALED).Register("a", 2, v1::OPEN), "must stay SEALED");
  EXPECT_EQ(begun(v1::SEALED).Register("b", 2), absl::OkStatus());
}

TEST(RegistryLog, RefusesWhatIsNoEntry) {
  const auto begun = [] {
    Entries entries;
    EXPECT_EQ(entries.Key(1), absl::OkStatus());
    EXPECT_EQ(entries.Register("a", 4), absl::OkStatus());
    return entries;
  };
  const auto refused = [](const absl::Status& status, const char* what) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  };
  refused(Entries().Register("a", 1), "before the first key");
  refused(begun().Key(1), "used before");
  refused(begun().MapRoot(1), "another map");
  refused(begun().Register("", 1), "a ledger of this registry");
  refused(begun().Register("b", 0), "a ledger of this registry");
  refused(begun().Take([](v1::LedgerEntry& e) {
    *e.mutable_registered() = {};
    e.set_sequence(5);
  }),
          "says that it is entry 5");
  refused(begun().Take([](v1::LedgerEntry& e) {
    e.mutable_key_rotate()->set_verifier_key(KeyText(2));
    e.mutable_recorded_time()->set_seconds(kMinute - 60);
  }),
          "recorded before");
  refused(begun().Take([](v1::LedgerEntry& e) {
    e.mutable_key_rotate()->set_verifier_key(KeyText(2));
    e.set_writer("w");
  }),
          "one spelling");
  refused(begun().Take([](v1::LedgerEntry& e) { e.mutable_note()->set_text("n"); }),
          "one spelling");
  refused(begun().log.Take("nonsense"), "not a LedgerEntry");
  Entries twice = begun();
  refused(twice.log.Take(twice.Next([](v1::LedgerEntry& e) {
    e.mutable_map_root()->set_root_hash(std::string(32, 'x'));
  }) + std::string("\xda\x01\x00", 3)),
          "one spelling");
}

TEST(RegistryLog, AnEntryRefusedLeavesNothing) {
  Entries entries;
  ASSERT_EQ(entries.Key(1), absl::OkStatus());
  ASSERT_EQ(entries.Register("a", 4), absl::OkStatus());
  const merkle::Hash root = entries.log.map().Root();
  EXPECT_FALSE(entries.Register("a", 4, v1::OPEN, 'x').ok());
  EXPECT_FALSE(entries.MapRoot(1).ok());
  EXPECT_EQ(entries.log.size(), 2u);
  EXPECT_EQ(entries.log.map().Root(), root);
}

TEST(RegistryLog, GoesOnFromItsState) {
  Entries entries;
  ASSERT_EQ(entries.Key(1), absl::OkStatus());
  for (int i = 1; i < 40; ++i)
    ASSERT_EQ(entries.Register(absl::StrCat("l", i % 7), static_cast<uint64_t>(i)),
              absl::OkStatus());
  ASSERT_EQ(entries.MapRoot(), absl::OkStatus());
  Entries again;
  again.log = *RegistryLog::FromState(entries.log.ToState());
  EXPECT_EQ(again.log.map().Root(), entries.log.map().Root());
  EXPECT_TRUE(again.log.ends_with_map());
  for (Entries* of : {&entries, &again}) {
    EXPECT_FALSE(of->Register("l1", 36).ok());
    EXPECT_FALSE(of->Key(1).ok());
    EXPECT_EQ(of->Register("l1", 37), absl::OkStatus());
    EXPECT_EQ(of->MapRoot(), absl::OkStatus());
  }
  EXPECT_EQ(again.log.map().Root(), entries.log.map().Root());
  EXPECT_EQ(again.log.ToState().SerializeAsString(), entries.log.ToState().SerializeAsString());

  v1::RegistryState damaged = entries.log.ToState();
  damaged.mutable_ledgers(0)->set_root("short");
  EXPECT_EQ(RegistryLog::FromState(damaged).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace dpledger::registry
