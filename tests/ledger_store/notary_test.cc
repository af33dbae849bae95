// What a notary signs, and what it refuses to sign.
#include "ledger_store/evidence/notary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>

#include "ledger_store/evidence/log_reader.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile_tree.h"
#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using merkle::Hash;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kOther = "projects/p/ledgers/b";

class NotaryTest : public SignedStore {
 protected:
  // Root and tiles of a log's checkpoint, against the tree over its entries.
  void ExpectTreeOfEntries(const Notary& notary, const std::string& log) {
    const SignedCheckpoint latest = Latest(notary, log);
    const std::vector<std::string> entries = Entries(log);
    const uint64_t size = latest.checkpoint.size;
    ASSERT_GE(entries.size(), size);
    EXPECT_EQ(latest.checkpoint.root, TreeHash(entries, 0, size));
    for (const merkle::SizedTile& tile : merkle::ReferenceTiles(size)) {
      const auto stored = store_->checkpoints().ReadTile(log, tile.id);
      ASSERT_TRUE(stored.ok()) << stored.status();
      ASSERT_EQ(stored->size(), tile.width * size_t{32});
      const size_t leaves = size_t{1} << (8 * tile.id.level);
      for (int i = 0; i < tile.width; ++i) {
        const Hash node = TreeHash(entries, (tile.id.index * 256 + i) * leaves, leaves);
        ASSERT_EQ(stored->substr(i * size_t{32}, 32), merkle::ToBytes(node))
            << log << " " << merkle::TilePath(tile.id.level, tile.id.index, tile.width) << " " << i;
      }
    }
  }
  v1::LedgerEntry RegistryEntry(uint64_t index) {
    v1::LedgerEntry entry;
    const std::vector<std::string> entries = Entries(kRegistryLog);
    EXPECT_TRUE(index < entries.size() && entry.ParseFromString(entries[index]));
    return entry;
  }

  Tampering tampering_;
};

TEST_F(NotaryTest, NewRegistryNamesItsKeyAndIsSignedAtOnce) {
  const auto notary = MustOpen(Options(), *store_);
  const SignedCheckpoint registry = Latest(*notary, kRegistryLog);
  const merkle::VerifierKey key{DefaultOrigin(KeyFromByte('a')->public_key()),
                                merkle::SignatureType::kEd25519, KeyFromByte('a')->public_key()};
  EXPECT_EQ(registry.checkpoint.size, 2u);
  EXPECT_EQ(registry.checkpoint.origin, key.name);
  EXPECT_EQ(registry.note.substr(0, key.name.size() + 3), key.name + "\n2\n");
  EXPECT_EQ(RegistryEntry(0).key_rotate().verifier_key(), key.ToText());
  EXPECT_EQ(RegistryEntry(0).recorded_time().seconds(), 1'700'000'040);
  EXPECT_EQ(RegistryEntry(1).map_root().ledgers(), 0u);
  EXPECT_EQ(RegistryEntry(1).map_root().root_hash(), std::string(32, '\0'));
  ExpectTreeOfEntries(*notary, kRegistryLog);
}

TEST_F(NotaryTest, SignsWhatLedgersHoldAndEntersItInTheRegistry) {
  Create(kLedger);
  AppendNotes(kLedger, 5);
  const auto notary = MustOpen(Options(), *store_);
  const SignedCheckpoint latest = Latest(*notary, kLedger);
  const std::string origin = Latest(*notary, kRegistryLog).checkpoint.origin;
  EXPECT_EQ(latest.checkpoint.origin, origin + "/" + kLedger);
  EXPECT_EQ(latest.checkpoint.size, 6u);
  EXPECT_EQ(latest.head.last.index, 1u);
  const v1::LedgerEntry entry = RegistryEntry(1);
  EXPECT_EQ(entry.sequence(), 1u);
  EXPECT_EQ(entry.registered().origin(), latest.checkpoint.origin);
  EXPECT_EQ(entry.registered().size(), 6u);
  EXPECT_EQ(entry.registered().root_hash(), store_->Get(kLedger)->root_hash());
  EXPECT_EQ(entry.registered().state(), v1::OPEN);

  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  ASSERT_TRUE(store_->Seal(seal).ok());
  EXPECT_EQ(MustSign(*notary).entries, 1u);
  EXPECT_EQ(RegistryEntry(3).registered().state(), v1::SEALED);
}

TEST_F(NotaryTest, SignsNothingWhereNothingIsNew) {
  Create(kLedger);
  const auto notary = MustOpen(Options(), *store_);
  const std::string before = Latest(*notary, kRegistryLog).note;
  EXPECT_EQ(MustSign(*notary).ledgers, 0u);
  EXPECT_EQ(Latest(*notary, kRegistryLog).note, before);
  EXPECT_THAT(Entries(kRegistryLog), SizeIs(3));
}

TEST_F(NotaryTest, TilesAreThoseOfTheTreeOverTheEntriesHoweverTheyCame) {
  std::mt19937 random(7);
  Create(kLedger);
  Create(kOther);
  auto notary = MustOpen(Options(), *store_);
  for (int round = 0; round < 40; ++round) {
    AppendNotes(kLedger, std::uniform_int_distribution(0, 60)(random));
    if (round % 3 == 0) AppendNotes(kOther, std::uniform_int_distribution(0, 300)(random));
    if (round % 8 == 7) {  // a restart
      notary.reset();
      OpenStore();
      notary = MustOpen(Options(), *store_);
    }
    MustSign(*notary);
    EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, store_->Get(kLedger)->size());
  }
  ASSERT_GT(store_->Get(kLedger)->size(), 600u);
  ASSERT_GT(store_->Get(kOther)->size(), 600u);
  ExpectTreeOfEntries(*notary, kLedger);
  ExpectTreeOfEntries(*notary, kOther);
  ExpectTreeOfEntries(*notary, kRegistryLog);
}

TEST_F(NotaryTest, SignsALedgerThatIsFarBehindPieceByPiece) {
  Create(kLedger);
  Create(kOther);
  AppendNotes(kLedger, 999);
  AppendNotes(kOther, 3);
  NotaryOptions options = Options();
  options.max_entries = 300;
  auto notary = *Notary::Open(options, *store_);
  std::vector<uint64_t> sizes;
  bool more = true;
  while (more) {
    const auto round = notary->Sign();
    ASSERT_TRUE(round.ok()) << round.status();
    more = round->more;
    sizes.push_back(Latest(*notary, kLedger).checkpoint.size);
    // The one that has little waits for nobody.
    EXPECT_EQ(Latest(*notary, kOther).checkpoint.size, 4u);
    EXPECT_EQ(RegistryEntry(Latest(*notary, kLedger).head.last.index).registered().size(),
              sizes.back());
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(300, 600, 900, 1000));
  ExpectTreeOfEntries(*notary, kLedger);
}

TEST_F(NotaryTest, LedgersThatAreAlwaysBusyKeepNobodyWaiting) {
  const std::vector<std::string> names = {kLedger, kOther, "projects/p/ledgers/c"};
  for (const std::string& name : names) Create(name);
  NotaryOptions options = Options();
  options.max_ledgers = 2;
  const auto notary = MustOpen(options, *store_);
  for (int i = 0; i < 2; ++i) {
    AppendNotes(kLedger, 1);
    AppendNotes(kOther, 1);
    const auto round = notary->Sign();
    ASSERT_TRUE(round.ok()) << round.status();
    EXPECT_EQ(round->ledgers, 2u);
    EXPECT_TRUE(round->more);
  }
  for (const std::string& name : names) EXPECT_GE(Latest(*notary, name).checkpoint.size, 1u);
}

// The head's root and the entries' bytes disagree, wherever the changed entry lies.
class ChangedEntry : public NotaryTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(ChangedEntry, IsNotSignedWhileTheOthersAre) {
  Create(kLedger);
  Create(kOther);
  TamperedStore store(*store_, &tampering_);
  NotaryOptions options = Options();
  options.max_entries = 100;
  const auto notary = MustOpen(options, store);
  AppendNotes(kLedger, 500);
  AppendNotes(kOther, 3);
  tampering_.entries = [](const std::string& ledger, uint64_t first, auto& entries) {
    const uint64_t changed = GetParam();
    if (ledger == kLedger && changed >= first && changed < first + entries.size()) {
      entries[changed - first].back() ^= 1;
    }
  };
  const auto round = notary->Sign();
  EXPECT_TRUE(IsError(round.status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: its 501 stored entries hash to the root "));
  EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, 1u);
  EXPECT_EQ(Latest(*notary, kOther).checkpoint.size, 4u);

  // Not even when the bytes are well again: something is wrong with what keeps them.
  tampering_ = {};
  AppendNotes(kLedger, 1);
  EXPECT_TRUE(IsError(notary->Sign().status(), StatusCode::kDataLoss, "",
                      "is damaged, and not signed any more"));
  EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, 1u);
}
INSTANTIATE_TEST_SUITE_P(FirstMiddleLast, ChangedEntry, ::testing::Values(1, 250, 500));

TEST_F(NotaryTest, ChangedTilesAreNotCarriedOn) {
  Create(kLedger);
  AppendNotes(kLedger, 300);
  TamperedStore store(*store_, &tampering_);
  const auto notary = MustOpen(Options(), store);
  AppendNotes(kLedger, 1);
  tampering_.tile = [](const std::string& log, const merkle::TileId& id, std::string& tile) {
    if (log == kLedger && id == merkle::TileId{0, 1}) tile[32 * 7 + 3] ^= 4;
  };
  EXPECT_TRUE(IsError(notary->Sign().status(), StatusCode::kDataLoss, "",
                      "the stored tiles do not have the root that was signed at size 301"));
  tampering_ = {};
  EXPECT_TRUE(IsError(Notary::Open(Options('b'), store).status(), StatusCode::kFailedPrecondition,
                      "KEY_MISMATCH", "is signed with"));
  EXPECT_EQ(MustSign(*MustOpen(Options(), store)).ledgers, 0u);  // the control: signed by Open
  EXPECT_EQ(Latest(*MustOpen(Options(), store), kLedger).checkpoint.size, 302u);
}

// Neither whole nor in part, at any level: a reader gets what was signed, or an error.
TEST_F(NotaryTest, ChangedTilesAreNotHandedOut) {
  Create(kLedger);
  AppendNotes(kLedger, 699);
  TamperedStore store(*store_, &tampering_);
  const SignedCheckpoint latest = Latest(*MustOpen(Options(), store), kLedger);
  for (const merkle::SizedTile& tile : merkle::ReferenceTiles(latest.checkpoint.size)) {
    for (const int width : {1, tile.width / 2, tile.width - 1, tile.width}) {
      if (width == 0) continue;
      const std::string path = merkle::TilePath(tile.id.level, tile.id.index, width);
      tampering_ = {};
      const auto served = LogReader(store, kLedger, latest).ReadPath(path);
      ASSERT_TRUE(served.ok()) << path << ": " << served.status();
      EXPECT_EQ(*served,
                store_->checkpoints().ReadTile(kLedger, tile.id)->substr(0, width * size_t{32}));
      for (int changed = 0; changed < width; changed += 1 + width / 9) {
        tampering_.tile = [&](const std::string&, const merkle::TileId& id, std::string& bytes) {
          if (id == tile.id) bytes[static_cast<size_t>(32 * changed + changed % 32)] ^= 4;
        };
        EXPECT_TRUE(IsError(LogReader(store, kLedger, latest).ReadPath(path).status(),
                            StatusCode::kDataLoss, "", "do not lead to the root"))
            << path << ", hash " << changed;
      }
    }
  }
}

TEST_F(NotaryTest, OtherCheckpointThanTheRegistryNamesIsRefused) {
  Create(kLedger);
  AppendNotes(kLedger, 3);
  TamperedStore store(*store_, &tampering_);
  auto notary = MustOpen(Options(), store);
  const v1::StoredCheckpoint old = *store_->checkpoints().Latest(kLedger);
  AppendNotes(kLedger, 3);
  MustSign(*notary);
  tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
    if (log == kLedger) checkpoint = old;
  };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "its stored checkpoint, of 4 entries, is not the one of 7 entries that entry "
                      "3 of the registry names"));
  tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
    if (log == kLedger) checkpoint = absl::NotFoundError("");
  };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "names a checkpoint of it at size 7, but the store has none"));
  tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
    if (log == kLedger) checkpoint->mutable_note()->replace(0, 1, "x");
  };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "its stored checkpoint is not one that was signed"));
  tampering_ = {};
  EXPECT_TRUE(Notary::Open(Options(), store).ok());
}

TEST_F(NotaryTest, ChangedRegistryIsRefused) {
  Create(kLedger);
  TamperedStore store(*store_, &tampering_);
  MustOpen(Options(), store);
  tampering_.registry = [](std::vector<std::string>& entries) {
    v1::LedgerEntry entry;
    ASSERT_TRUE(entry.ParseFromString(entries[2]));
    entry.mutable_recorded_time()->set_seconds(entry.recorded_time().seconds() + 60);
    entries[2] = entry.SerializeAsString();
  };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "the registry: its 3 entries do not hash to the signed root"));
  tampering_.registry = [](std::vector<std::string>& entries) { entries.pop_back(); };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "the registry: has 2 entries, but 3 were signed"));
  tampering_ = {};
  EXPECT_TRUE(Notary::Open(Options(), store).ok());
}

TEST_F(NotaryTest, TwoNotariesNeverPublishOnTheSameRegistry) {
  Create(kLedger);
  TamperedStore store(*store_, &tampering_);
  const auto first = MustOpen(Options(), store);
  const auto second = MustOpen(Options(), *store_);
  AppendNotes(kLedger, 5);
  // The second publishes after the first has read what there is.
  tampering_.before_publish = [&](const Publication&) {
    tampering_.before_publish = nullptr;
    AppendNotes(kLedger, 5);
    MustSign(*second);
    return absl::OkStatus();
  };
  EXPECT_TRUE(IsError(first->Sign().status(), StatusCode::kAborted, "SIGNER_REPLACED",
                      "registry_size: the registry has 5 entries, got 3"));
  EXPECT_EQ(Latest(*second, kLedger).checkpoint.size, 11u);
  // It has not shown what it could not publish, and carries on from what the other did.
  EXPECT_FALSE(first->Latest(kLedger)->has_value());
  EXPECT_EQ(MustSign(*first).ledgers, 0u);
  EXPECT_EQ(Latest(*first, kLedger).checkpoint.size, 11u);
  AppendNotes(kLedger, 5);
  MustSign(*first);
  EXPECT_EQ(Latest(*first, kLedger).checkpoint.size, 16u);
  ExpectTreeOfEntries(*first, kRegistryLog);
}

TEST_F(NotaryTest, NoTwoCheckpointsOfNotariesSideBySideAreInconsistent) {
  Create(kLedger);
  MustOpen(Options(), *store_);
  constexpr int kRounds = 60;
  std::vector<std::vector<SignedCheckpoint>> shown(2);
  std::vector<int> replaced(2);
  const auto sign = [&](int i) {
    NotaryOptions options = Options();
    options.checkpoint_file += absl::StrCat(i);
    auto notary = *Notary::Open(options, *store_);
    for (int round = 0; round < kRounds; ++round) {
      v1::AppendBatchRequest batch =
          Batch(kLedger, absl::StrCat("w", i), absl::StrCat(i, "-", round));
      AddNote(batch, "n");
      ASSERT_TRUE(store_->Append(std::move(batch)).ok());
      const auto signed_round = notary->Sign();
      if (!signed_round.ok()) {
        ASSERT_TRUE(absl::IsAborted(signed_round.status())) << signed_round.status();
        ++replaced[i];
        continue;
      }
      shown[i].push_back(notary->registry()->checkpoint);
    }
  };
  std::thread other(sign, 1);
  sign(0);
  other.join();
  const auto notary = MustOpen(Options(), *store_);
  LogReader reader(*store_, kRegistryLog, Latest(*notary, kRegistryLog));
  for (const auto& checkpoints : shown) {
    for (const SignedCheckpoint& checkpoint : checkpoints) {
      EXPECT_EQ(*reader.RootAt("size", checkpoint.checkpoint.size), checkpoint.checkpoint.root);
    }
  }
  EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, 1u + 2 * kRounds);
}

TEST_F(NotaryTest, FollowsWhileAnotherHoldsTheLease) {
  Create(kLedger);
  TamperedStore store(*store_, &tampering_);
  tampering_.lease = [] {
    return WithReason(absl::UnavailableError("another signs"), {"SIGNER_ELSEWHERE", {}});
  };
  auto follower = *Notary::Open(Options(), store);
  EXPECT_TRUE(IsError(follower->Sign().status(), StatusCode::kUnavailable, "SIGNER_ELSEWHERE", ""));
  const auto notary = MustOpen(Options(), *store_);
  EXPECT_EQ(MustSign(*follower).ledgers, 0u);
  EXPECT_EQ(Latest(*follower, kLedger).note, Latest(*notary, kLedger).note);
  AppendNotes(kLedger, 1);
  MustSign(*notary);
  EXPECT_FALSE(follower->Latest(kLedger)->has_value());  // not before it has the registry's too
  MustSign(*follower);
  EXPECT_EQ(Latest(*follower, kLedger).checkpoint.size, 2u);
}

// Both saw an empty store; what one acknowledged under its key, the other could not open.
TEST_F(NotaryTest, DoesNotFollowARegistryThatAnotherKeyHasBegun) {
  TamperedStore store(*store_, &tampering_);
  tampering_.lease = [] {
    return WithReason(absl::UnavailableError("another signs"), {"SIGNER_ELSEWHERE", {}});
  };
  NotaryOptions options = Options();
  options.key = KeyFromByte('z');
  const auto stranger = *Notary::Open(options, store);
  MustOpen(Options(), *store_);
  EXPECT_TRUE(IsError(stranger->Sign().status(), StatusCode::kFailedPrecondition, "KEY_MISMATCH",
                      "is signed with"));
}

TEST_F(NotaryTest, ShowsNothingBeforeItIsPublished) {
  Create(kLedger);
  TamperedStore store(*store_, &tampering_);
  const auto notary = MustOpen(Options(), store);
  AppendNotes(kLedger, 1);
  tampering_.before_publish = [](const Publication&) {
    return absl::UnavailableError("the disk is away");
  };
  EXPECT_TRUE(absl::IsUnavailable(notary->Sign().status()));
  EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, 1u);
  EXPECT_EQ(Latest(*notary, kRegistryLog).checkpoint.size, 3u);
  tampering_ = {};
  MustSign(*notary);
  EXPECT_EQ(Latest(*notary, kLedger).checkpoint.size, 2u);
}

TEST_F(NotaryTest, CosignaturesAreAddedBeforeTheCheckpointIsShown) {
  Create(kLedger);
  const merkle::VerifierKey witness{"witness.example", merkle::SignatureType::kCosignature,
                                    KeyFromByte('w')->public_key()};
  NotaryOptions options = Options();
  const Notary* opened = nullptr;
  uint64_t known_size = 0;
  Hash known_root = merkle::EmptyRoot();
  options.cosigner = [&](const std::string& text, uint64_t size,
                         const ConsistencyProver& prove_from) {
    const merkle::Note note = *merkle::Note::Parse(text);
    const merkle::Checkpoint checkpoint = *merkle::ParseCheckpoint(note.text);
    EXPECT_EQ(checkpoint.size, size);
    EXPECT_EQ(opened->registry() != nullptr, known_size != 0);  // the last one is still shown
    if (known_size != 0) {
      EXPECT_EQ(opened->registry()->checkpoint.checkpoint.size, known_size);
    }
    const auto proof = prove_from(known_size);
    EXPECT_TRUE(proof.ok()) << proof.status();
    EXPECT_EQ(absl::OkStatus(),
              merkle::VerifyConsistency(known_size, known_root, size, checkpoint.root, *proof));
    EXPECT_TRUE(IsError(prove_from(size + 1).status(), StatusCode::kInvalidArgument,
                        "INVALID_FIELD", "old_size"));
    known_size = size;
    known_root = checkpoint.root;
    return std::vector{*merkle::CosignNote(note.text, witness.name, 1234, *KeyFromByte('w'))};
  };
  auto notary = *Notary::Open(options, *store_);
  opened = notary.get();
  MustSign(*notary);
  AppendNotes(kLedger, 1);
  MustSign(*notary);
  const SignedCheckpoint registry = Latest(*notary, kRegistryLog);
  EXPECT_EQ(registry.checkpoint.size, 5u);
  const auto signers = merkle::VerifyNote(*merkle::Note::Parse(registry.note),
                                          std::vector{notary->registry()->keys.back(), witness});
  ASSERT_TRUE(signers.ok()) << signers.status();
  EXPECT_THAT(*signers, SizeIs(2));
  EXPECT_EQ((*signers)[1].unix_seconds, 1234u);
  EXPECT_EQ(store_->checkpoints().Latest(kRegistryLog)->note(), registry.note);
}

// As a server with the key would not write it: without the map's root.
class HandMadeRegistry {
 public:
  explicit HandMadeRegistry(const std::string& origin) : origin_(origin) {
    const merkle::VerifierKey key{origin, merkle::SignatureType::kEd25519,
                                  KeyFromByte('a')->public_key()};
    Add([&](v1::LedgerEntry& e) { e.mutable_key_rotate()->set_verifier_key(key.ToText()); });
  }

  HandMadeRegistry& Add(const std::function<void(v1::LedgerEntry&)>& edit) {
    v1::LedgerEntry entry;
    entry.set_sequence(tree_.size());
    entry.mutable_recorded_time()->set_seconds(1'700'000'040);
    edit(entry);
    publication.registry_entries.push_back(entry.SerializeAsString());
    tree_.Append(merkle::LeafHash(publication.registry_entries.back()));
    return *this;
  }
  HandMadeRegistry& Register(LedgerStore& store, const std::string& ledger, uint64_t size) {
    merkle::TileBuilder tree;
    const auto entries = ReadLog(store, ledger, 0, size);
    for (const std::string& entry : *entries) tree.Append(merkle::LeafHash(entry));
    Sign(ledger, tree);
    return Add([&](v1::LedgerEntry& entry) {
      entry.mutable_registered()->set_origin(origin_ + "/" + ledger);
      entry.mutable_registered()->set_size(size);
      entry.mutable_registered()->set_root_hash(merkle::ToBytes(tree.Root()));
      entry.mutable_registered()->set_state(v1::OPEN);
    });
  }
  absl::Status Publish(LedgerStore& store) {
    Sign(kRegistryLog, tree_);
    publication.lease_epoch = *store.checkpoints().AcquireLease("hand", absl::Hours(1));
    return store.checkpoints().Publish(publication);
  }

  Publication publication;

 private:
  void Sign(const std::string& log, merkle::TileBuilder& tree) {
    SignedLog& of = publication.logs.emplace_back();
    of.log = log;
    merkle::Note note;
    note.text = *merkle::CheckpointText({OriginOf(origin_, log), tree.size(), tree.Root(), {}});
    note.signatures = {*merkle::SignNote(note.text, origin_, *KeyFromByte('a'))};
    of.checkpoint.set_note(note.ToText());
    of.checkpoint.set_size(tree.size());
    if (log != kRegistryLog) of.checkpoint.set_registry_index(tree_.size());
    of.tiles = tree.TakeChanged();
  }

  const std::string origin_;
  merkle::TileBuilder tree_;
};

TEST_F(NotaryTest, RegistryThatDoesNotEndWithTheMapIsRefused) {
  Create(kLedger);
  AppendNotes(kLedger, 4);
  HandMadeRegistry made(DefaultOrigin(KeyFromByte('a')->public_key()));
  made.Register(*store_, kLedger, 5);
  ASSERT_EQ(made.Publish(*store_), absl::OkStatus());
  EXPECT_TRUE(IsError(Notary::Open(Options(), *store_).status(), StatusCode::kDataLoss, "",
                      "its 2 signed entries do not end with the map's root"));
}

TEST_F(NotaryTest, RegistryThatContradictsItselfIsRefusedWithBothEntries) {
  Create(kLedger);
  AppendNotes(kLedger, 4);
  const std::string origin = DefaultOrigin(KeyFromByte('a')->public_key());
  HandMadeRegistry made(origin);
  made.Add([&](v1::LedgerEntry& e) {
    e.mutable_registered()->set_origin(origin + "/" + kLedger);
    e.mutable_registered()->set_size(5);
    e.mutable_registered()->set_root_hash(std::string(32, 'x'));
    e.mutable_registered()->set_state(v1::SEALED);
  });
  made.Register(*store_, kLedger, 5);
  ASSERT_EQ(made.Publish(*store_), absl::OkStatus());
  EXPECT_TRUE(IsError(Notary::Open(Options(), *store_).status(), StatusCode::kDataLoss,
                      "REGISTRY_CONTRADICTION", "entry 2 contradicts entry 1"));
}

TEST_F(NotaryTest, SealedLedgerStaysSealedWhenLateEntriesCome) {
  Create(kLedger);
  const auto notary = MustOpen(Options(), *store_);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  ASSERT_TRUE(store_->Seal(seal).ok());
  MustSign(*notary);
  EXPECT_EQ(RegistryEntry(3).registered().state(), v1::SEALED);
  EXPECT_EQ(RegistryEntry(4).map_root().ledgers(), 1u);
  MustSign(*notary);
  EXPECT_THAT(Entries(kRegistryLog), SizeIs(5));
}

}  // namespace
}  // namespace dpledger
