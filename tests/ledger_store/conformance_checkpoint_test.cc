// Every engine: what is signed of ledgers, and the run-length tables kept beside them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/ledger_store/conformance_test.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const std::string kOther = "projects/p/ledgers/b";

uint64_t Lease(CheckpointStore& checkpoints) {
  const absl::StatusOr<uint64_t> epoch = checkpoints.AcquireLease("signer", absl::Hours(1));
  EXPECT_TRUE(epoch.ok()) << epoch.status();
  return epoch.ok() ? *epoch : 0;
}

SignedLog Signed(const std::string& log, uint64_t size, uint64_t registry_index = 0) {
  SignedLog signed_log;
  signed_log.log = log;
  signed_log.checkpoint.set_note(absl::StrCat("note of ", log, " at ", size, "\n"));
  signed_log.checkpoint.set_size(size);
  signed_log.checkpoint.set_registry_index(registry_index);
  signed_log.tiles[{0, 0}] = std::string(size * merkle::kHashBytes, 'h');
  return signed_log;
}

// One registry entry for each of the ledgers, after `registry_size` others.
Publication Publishing(CheckpointStore& checkpoints, uint64_t registry_size,
                       const std::vector<SignedLog>& ledgers) {
  Publication publication;
  publication.lease_epoch = Lease(checkpoints);
  publication.registry_size = registry_size;
  for (const SignedLog& ledger : ledgers) {
    publication.registry_entries.push_back(absl::StrCat("entry of ", ledger.log));
    publication.logs.push_back(ledger);
  }
  publication.logs.push_back(Signed(kRegistryLog, registry_size + ledgers.size()));
  return publication;
}

std::vector<std::string> UnsignedNames(CheckpointStore& checkpoints, size_t limit = 100) {
  const absl::StatusOr<UnsignedLedgers> found = checkpoints.Unsigned("", limit);
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<std::string> names;
  for (const v1::Ledger& ledger : found->ledgers) names.push_back(ledger.name());
  std::sort(names.begin(), names.end());
  return names;
}

void ExpectNothingSigned(CheckpointStore& checkpoints, const std::string& log) {
  EXPECT_TRUE(absl::IsNotFound(checkpoints.Latest(log).status())) << log;
  EXPECT_TRUE(absl::IsNotFound(checkpoints.ReadTile(log, {0, 0}).status())) << log;
}

using Names = std::vector<std::string>;

TEST_P(LedgerStoreConformance, NothingIsSignedAtFirst) {
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), Names{});
  CreateLedger(kLedger);
  for (int i = 0; i < 2; ++i) {
    ExpectNothingSigned(store_->checkpoints(), kLedger);
    ExpectNothingSigned(store_->checkpoints(), kRegistryLog);
    EXPECT_EQ(*store_->checkpoints().ReadRegistry(0, 9), Names{});
    EXPECT_EQ(UnsignedNames(store_->checkpoints()), Names{kLedger});
    Reopen();
  }
  for (const auto& status :
       {store_->checkpoints().Latest(kOther).status(),
        store_->checkpoints().ReadTile(kOther, {0, 0}).status(),
        store_->checkpoints().Publish(Publishing(store_->checkpoints(), 0, {Signed(kOther, 1)}))}) {
    EXPECT_TRUE(IsError(status, StatusCode::kNotFound, "LEDGER_NOT_FOUND", kOther));
  }
}

TEST_P(LedgerStoreConformance, PublicationIsReadBack) {
  CreateLedger(kLedger);
  CreateLedger(kOther);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  Publication publication =
      Publishing(store_->checkpoints(), 0, {Signed(kLedger, 3, 0), Signed(kOther, 1, 1)});
  publication.logs[0].tiles[{1, 0}] = std::string(32, 'x');
  ASSERT_TRUE(store_->checkpoints().Publish(publication).ok());
  for (int i = 0; i < 2; ++i) {
    for (const SignedLog& log : publication.logs) {
      const absl::StatusOr<v1::StoredCheckpoint> latest = store_->checkpoints().Latest(log.log);
      ASSERT_TRUE(latest.ok()) << latest.status();
      EXPECT_EQ(latest->SerializeAsString(), log.checkpoint.SerializeAsString());
      for (const auto& [tile, hashes] : log.tiles) {
        EXPECT_EQ(*store_->checkpoints().ReadTile(log.log, tile), hashes);
      }
    }
    EXPECT_EQ(*store_->checkpoints().ReadRegistry(0, 9), publication.registry_entries);
    EXPECT_EQ(UnsignedNames(store_->checkpoints()), Names{});
    Reopen();
  }
  for (const merkle::TileId& tile : {merkle::TileId{0, 1}, merkle::TileId{2, 0},
                                     merkle::TileId{256, 0}, merkle::TileId{-1, 0}}) {
    EXPECT_TRUE(absl::IsNotFound(store_->checkpoints().ReadTile(kLedger, tile).status()))
        << tile.level << " " << tile.index;
  }
}

TEST_P(LedgerStoreConformance, TilesAndCheckpointsGrow) {
  CreateLedger(kLedger);
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", absl::StrCat("r", round), round)).ok());
    const uint64_t size = 1 + 2 * round;
    ASSERT_TRUE(store_->checkpoints()
                    .Publish(Publishing(store_->checkpoints(), round - 1,
                                        {Signed(kLedger, size, round - 1)}))
                    .ok());
    EXPECT_EQ(store_->checkpoints().Latest(kLedger)->size(), size);
    EXPECT_EQ(store_->checkpoints().ReadTile(kLedger, {0, 0})->size(), size * merkle::kHashBytes);
    Reopen();
  }
  // The same size again is no step back: another key may have signed it.
  EXPECT_TRUE(store_->checkpoints()
                  .Publish(Publishing(store_->checkpoints(), 3, {Signed(kLedger, 7, 3)}))
                  .ok());
}

TEST_P(LedgerStoreConformance, RefusedPublicationLeavesNothing) {
  CreateLedger(kLedger);
  CreateLedger(kOther);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  const auto refused = [&](const Publication& publication, const char* message) {
    return IsError(store_->checkpoints().Publish(publication), StatusCode::kInvalidArgument,
                   "INVALID_FIELD", message);
  };
  EXPECT_TRUE(refused(Publishing(store_->checkpoints(), 0, {Signed(kLedger, 3), Signed(kOther, 2)}),
                      "checkpoint.size: of projects/p/ledgers/b must be in [0, 1], got 2"));
  EXPECT_TRUE(
      refused(Publishing(store_->checkpoints(), 0, {Signed(kLedger, 3), Signed(kLedger, 2)}),
              "logs: must name projects/p/ledgers/a only once"));
  Publication registry_too_long = Publishing(store_->checkpoints(), 0, {Signed(kLedger, 3)});
  registry_too_long.logs.back().checkpoint.set_size(2);
  EXPECT_TRUE(refused(registry_too_long, "of the registry must be in [0, 1], got 2"));
  for (int i = 0; i < 2; ++i) {
    for (const std::string& log : {kLedger, kOther, std::string(kRegistryLog)}) {
      ExpectNothingSigned(store_->checkpoints(), log);
    }
    EXPECT_EQ(*store_->checkpoints().ReadRegistry(0, 9), Names{});
    EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kLedger, kOther}));
    Reopen();
  }
  ASSERT_TRUE(store_->checkpoints()
                  .Publish(Publishing(store_->checkpoints(), 0, {Signed(kLedger, 3)}))
                  .ok());
  EXPECT_TRUE(refused(Publishing(store_->checkpoints(), 1, {Signed(kLedger, 2)}),
                      "checkpoint.size: of projects/p/ledgers/a must be in [3, 3], got 2"));
  EXPECT_EQ(store_->checkpoints().Latest(kLedger)->size(), 3u);
  EXPECT_EQ(store_->checkpoints().ReadRegistry(0, 9)->size(), 1u);
}

TEST_P(LedgerStoreConformance, SecondSignerIsTold) {
  CreateLedger(kLedger);
  const Publication first = Publishing(store_->checkpoints(), 0, {Signed(kLedger, 1)});
  ASSERT_TRUE(store_->checkpoints().Publish(first).ok());
  // As a signer that did not see the first publication.
  EXPECT_TRUE(IsError(store_->checkpoints().Publish(first), StatusCode::kAborted, "SIGNER_REPLACED",
                      "registry_size: the registry has 1 entries, got 0"));
  Publication ahead = Publishing(store_->checkpoints(), 2, {Signed(kLedger, 1)});
  EXPECT_TRUE(IsError(store_->checkpoints().Publish(ahead), StatusCode::kAborted, "SIGNER_REPLACED",
                      "registry_size: the registry has 1 entries, got 2"));
  Publication other_lease = Publishing(store_->checkpoints(), 1, {Signed(kLedger, 1)});
  ++other_lease.lease_epoch;
  EXPECT_TRUE(IsError(store_->checkpoints().Publish(other_lease), StatusCode::kAborted,
                      "SIGNER_REPLACED", "lease_epoch"));
  EXPECT_EQ(store_->checkpoints().ReadRegistry(0, 9)->size(), 1u);
  EXPECT_TRUE(store_->checkpoints()
                  .Publish(Publishing(store_->checkpoints(), 1, {Signed(kLedger, 1)}))
                  .ok());
}

TEST_P(LedgerStoreConformance, UnsignedAreTheLedgersLongerThanTheirCheckpoints) {
  for (const std::string& name : {kLedger, kOther, std::string("projects/p/ledgers/c")}) {
    CreateLedger(name);
  }
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kLedger, kOther, "projects/p/ledgers/c"}));
  EXPECT_EQ(UnsignedNames(store_->checkpoints(), 2).size(), 2u);
  // The first at an older size than it has.
  ASSERT_TRUE(
      store_->checkpoints()
          .Publish(Publishing(store_->checkpoints(), 0, {Signed(kLedger, 2), Signed(kOther, 1)}))
          .ok());
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kLedger, "projects/p/ledgers/c"}));
  Reopen();
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kLedger, "projects/p/ledgers/c"}));
  const absl::StatusOr<UnsignedLedgers> found = store_->checkpoints().Unsigned("", 9);
  for (v1::Ledger ledger : found->ledgers) {
    ledger.clear_writers();
    EXPECT_EQ(ledger.SerializeAsString(),
              store_->Get(ledger.name(), kNoWriters)->SerializeAsString());
  }
  ASSERT_TRUE(store_->checkpoints()
                  .Publish(Publishing(store_->checkpoints(), 2,
                                      {Signed(kLedger, 3), Signed("projects/p/ledgers/c", 1)}))
                  .ok());
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), Names{});
  // Refused requests and repeated ones add nothing to sign.
  ASSERT_FALSE(store_->Append(RoundBatch(kLedger, "w", "r2", 1)).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), Names{});
  // A fork is to sign, and its parent with the notice.
  v1::ForkLedgerRequest fork;
  fork.set_parent(kOther);
  fork.set_name("projects/p/ledgers/d");
  fork.set_request_id("fork");
  ASSERT_TRUE(store_->Fork(fork, PointOf(*store_, kOther, 1)).ok());
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kOther, "projects/p/ledgers/d"}));
  Reopen();
  EXPECT_EQ(UnsignedNames(store_->checkpoints()), (Names{kOther, "projects/p/ledgers/d"}));
}

TEST_P(LedgerStoreConformance, UnsignedComeInTurn) {
  const std::string prefix = "projects/p/ledgers/";
  for (const char* name : {"a", "b", "c", "d", "e"}) CreateLedger(prefix + name);
  const auto after = [&](const std::string& last, size_t limit) {
    std::string names;
    const absl::StatusOr<UnsignedLedgers> found = store_->checkpoints().Unsigned(last, limit);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const v1::Ledger& ledger : found->ledgers) {
      names += ledger.name().substr(prefix.size());
    }
    EXPECT_EQ(found->last, found->ledgers.empty() ? "" : found->ledgers.back().name());
    return names;
  };
  EXPECT_EQ(after("", 3), "abc");
  EXPECT_EQ(after(prefix + "c", 3), "dea");
  EXPECT_EQ(after(prefix + "bb", 9), "cdeab");
  EXPECT_EQ(after(prefix + "e", 2), "ab");
  EXPECT_EQ(after(prefix + "a", 0), "");
}

TEST_P(LedgerStoreConformance, RegistryIsReadInPages) {
  CreateLedger(kLedger);
  Publication publication = Publishing(store_->checkpoints(), 0, {});
  for (int i = 0; i < 300; ++i) publication.registry_entries.push_back(absl::StrCat("e", i));
  ASSERT_TRUE(store_->checkpoints().Publish(publication).ok());
  Reopen();
  EXPECT_EQ(*store_->checkpoints().ReadRegistry(0, 2), (Names{"e0", "e1"}));
  EXPECT_EQ(*store_->checkpoints().ReadRegistry(255, 3), (Names{"e255", "e256", "e257"}));
  EXPECT_EQ(*store_->checkpoints().ReadRegistry(299, 3), (Names{"e299"}));
  EXPECT_EQ(*store_->checkpoints().ReadRegistry(300, 3), Names{});
  EXPECT_EQ(*store_->checkpoints().ReadRegistry(~uint64_t{0}, 3), Names{});
  EXPECT_EQ(store_->checkpoints().ReadRegistry(0, 1000)->size(), 300u);
  EXPECT_TRUE(IsError(store_->checkpoints().Publish(publication), StatusCode::kAborted,
                      "SIGNER_REPLACED", "the registry has 300 entries"));
}

TEST_P(LedgerStoreConformance, LeaseIsGrantedAgainToItsHolder) {
  const uint64_t first = Lease(store_->checkpoints());
  EXPECT_GE(Lease(store_->checkpoints()), first);
  CreateLedger(kLedger);
  EXPECT_TRUE(store_->checkpoints()
                  .Publish(Publishing(store_->checkpoints(), 0, {Signed(kLedger, 1)}))
                  .ok());
}

TEST_P(LedgerStoreConformance, RunLengthTableIsKept) {
  EXPECT_TRUE(IsError(store_->GetHistory(kLedger).status(), StatusCode::kNotFound,
                      "LEDGER_NOT_FOUND", kLedger));
  EXPECT_TRUE(
      IsError(store_->PutHistory(kLedger, {}), StatusCode::kNotFound, "LEDGER_NOT_FOUND", kLedger));
  CreateLedger(kLedger);
  CreateLedger(kOther);
  EXPECT_TRUE(IsError(store_->GetHistory(kLedger).status(), StatusCode::kNotFound, "",
                      absl::StrCat(kLedger, ": has no run-length table yet")));
  v1::StoredHistory history;
  for (uint64_t size : {1, 3}) {
    history.set_version(1);
    history.set_size(size);
    history.add_mechanism_sequences(size);
    ASSERT_TRUE(store_->PutHistory(kLedger, history).ok());
    const absl::StatusOr<v1::StoredHistory> read = store_->GetHistory(kLedger);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->SerializeAsString(), history.SerializeAsString());
  }
  Reopen();
  EXPECT_EQ(store_->GetHistory(kLedger)->SerializeAsString(), history.SerializeAsString());
  EXPECT_TRUE(absl::IsNotFound(store_->GetHistory(kOther).status()));
  EXPECT_EQ(store_->Get(kLedger)->size(), 1u);
}

}  // namespace
}  // namespace dpledger
