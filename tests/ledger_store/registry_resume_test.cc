// A notary that starts from the registry's signed end, without its entries: it stands where one
// that has read them all stands; it takes nothing that does not fit; and what nobody has read is
// looked at later. Beside it: where the registry registers a ledger, kept in blocks.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/evidence/registry.h"
#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"

namespace dpledger {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using All = std::map<std::string, v1::StoredCheckpoint>;

class RegistryResume : public SignedStore {
 protected:
  static std::string NameOf(int i) { return absl::StrCat("projects/p/ledgers/l", i); }
  // Several ledgers, several registrations each, one sealed, under two keys.
  RegistryResume() {
    auto notary = MustOpen(Options(), *store_);
    for (int i = 0; i < 5; ++i) Create(NameOf(i));
    for (int round = 0; round < 3; ++round) {
      for (int i = round; i < 5; ++i) AppendNotes(NameOf(i), 300);
      MustSign(*notary);
    }
    v1::SealLedgerRequest seal = SealRequest(NameOf(3));
    seal.add_missing_writers("w");
    EXPECT_EQ(store_->Seal(seal, "").status(), absl::OkStatus());
    NotaryOptions rotated = Options('b');
    rotated.previous_key = KeyFromByte('a');
    notary = MustOpen(rotated, *store_);
    AppendNotes(NameOf(4), 1);
    MustSign(*notary);
  }
  NotaryOptions Long() {
    NotaryOptions options = Options('b');
    options.read_at_most = 0;
    return options;
  }
  std::vector<uint64_t> IndicesOf(const std::string& ledger) {
    std::vector<uint64_t> indices;
    const std::vector<std::string> entries = Entries(kRegistryLog);
    for (size_t i = 0; i < entries.size(); ++i) {
      v1::LedgerEntry entry;
      entry.ParseFromString(entries[i]);
      if (entry.registered().origin().ends_with(absl::StrCat("/", ledger))) indices.push_back(i);
    }
    return indices;
  }
};

TEST_F(RegistryResume, StandsWhereOneStandsThatHasReadAll) {
  Tampering tampering;
  size_t read = 0;
  tampering.registry = [&](std::vector<std::string>& entries) { read += entries.size(); };
  TamperedStore store(*store_, &tampering);
  const auto resumed = MustOpen(Long(), store);
  EXPECT_THAT(resumed->why_read_whole(), IsEmpty());
  EXPECT_EQ(read, 6u) << "two keys, three behind the last key, and the last one";
  EXPECT_EQ(resumed->left_to_check().registry_entries, Entries(kRegistryLog).size());
  Registry whole;
  ASSERT_EQ(whole.CatchUp(store_->checkpoints()), absl::OkStatus());
  const PublicRegistry& shown = *resumed->registry();
  EXPECT_EQ(shown.checkpoint.note, whole.checkpoint().note);
  EXPECT_EQ(shown.keys, whole.keys());
  EXPECT_EQ(shown.map.Root(), whole.map().Root());
  EXPECT_EQ(resumed->last_recorded_time(), whole.last_recorded_time());
  Registry by_end;
  ASSERT_EQ(by_end.Resume(*store_), absl::OkStatus());
  EXPECT_EQ(by_end.ledgers(), whole.ledgers());
  EXPECT_EQ(by_end.Root(), whole.Root());
  EXPECT_EQ(by_end.key_entries(), whole.key_entries());
  EXPECT_EQ(by_end.ledgers().size(), 5u);
}

TEST_F(RegistryResume, GoesOnAsOneThatHasReadAll) {
  for (int round = 0; round < 4; ++round) {
    const auto notary = MustOpen(round % 2 == 0 ? Long() : Options('b'), *store_);
    EXPECT_THAT(notary->why_read_whole(), IsEmpty());
    const std::string ledger = NameOf(round == 3 ? 4 : round);  // 3 is sealed
    AppendNotes(ledger, 1 + 100 * round);
    if (round == 1) Create("projects/p/ledgers/more");
    MustSign(*notary);
    EXPECT_EQ(Latest(*notary, ledger).checkpoint.size, store_->Get(ledger)->size());
  }
  NotaryOptions third = Long();
  third.key = KeyFromByte('c');
  third.previous_key = KeyFromByte('b');
  EXPECT_EQ(MustOpen(third, *store_)->registry()->keys.size(), 3u);
  third.previous_key = nullptr;
  EXPECT_EQ(MustOpen(third, *store_)->registry()->keys.size(), 3u);
}

// Whatever of the rows is not as it was: the entries are read, and tell.
TEST_F(RegistryResume, TakesNothingThatDoesNotFit) {
  const std::vector<std::function<void(All&)>> changes = {
      [](All& all) { all[NameOf(1)].set_points(1); },
      [](All& all) { all[NameOf(1)].set_registry_index(2); },
      [](All& all) { all[NameOf(1)].set_state(v1::SEALED); },
      [](All& all) { all[NameOf(1)].mutable_chain()->back() ^= 1; },
      [](All& all) { all[NameOf(1)].mutable_chain()->pop_back(); },
      [](All& all) { all[NameOf(1)].set_size(7); },
      [](All& all) { all[NameOf(1)].set_note("x"); },
      [](All& all) { all[NameOf(1)].clear_points(); },
      [](All& all) { std::swap(all[NameOf(1)], all[NameOf(2)]); },
      [](All& all) { all.erase(NameOf(1)); },
      [](All& all) { all["projects/p/ledgers/other"] = all[NameOf(1)]; },
      [](All& all) { all.erase(kRegistryLog); },
      [](All& all) { all[kRegistryLog].mutable_key_entries()->RemoveLast(); },
      [](All& all) { all[kRegistryLog].clear_key_entries(); },
      [](All& all) { all[kRegistryLog].set_key_entries(0, 1); },
      [](All& all) { all[kRegistryLog].set_key_entries(0, uint64_t{1} << 62); },
      [](All& all) { all[kRegistryLog].set_size(all[kRegistryLog].size() - 1); },
      [](All& all) { all[kRegistryLog].mutable_note()->replace(0, 3, "dpl2"); },
      [](All& all) { all[kRegistryLog].mutable_note()->resize(100); }};
  for (size_t i = 0; i < changes.size(); ++i) {
    Tampering tampering;
    tampering.all_checkpoints = changes[i];
    TamperedStore store(*store_, &tampering);
    const auto notary = MustOpen(Long(), store);
    ASSERT_NE(notary, nullptr) << i;
    EXPECT_NE(notary->why_read_whole(), "") << i;
    EXPECT_EQ(notary->left_to_check().registry_entries, 0u) << i;
    EXPECT_EQ(notary->registry()->keys.size(), 2u) << i;
  }
}

// An entry that stands behind the signed end, and names somebody else's key.
TEST_F(RegistryResume, UnsignedEntryNamesNoKey) {
  const uint64_t size = Entries(kRegistryLog).size();
  const std::string origin =
      MustOpen(Options('b'), *store_)->registry()->checkpoint.checkpoint.origin;
  v1::LedgerEntry forged;
  forged.set_sequence(size);
  forged.mutable_recorded_time()->set_seconds(60);
  forged.mutable_key_rotate()->set_verifier_key(
      merkle::VerifierKey{origin, merkle::SignatureType::kEd25519, KeyFromByte('x')->public_key()}
          .ToText());
  Tampering tampering;
  tampering.registry = [&](std::vector<std::string>& entries) {
    if (entries.empty()) entries.push_back(forged.SerializeAsString());
  };
  tampering.all_checkpoints = [&](All& all) {
    const uint64_t last = all[kRegistryLog].key_entries(1);
    all[kRegistryLog].set_key_entries(1, size);
    all[kRegistryLog].add_key_entries(last);
  };
  TamperedStore store(*store_, &tampering);
  const auto notary = MustOpen(Long(), store);
  EXPECT_THAT(notary->why_read_whole(), HasSubstr("is missing"));
  EXPECT_EQ(notary->registry()->keys.size(), 2u);
}

TEST_F(RegistryResume, HiddenKeyIsNotBelieved) {
  Tampering tampering;
  tampering.all_checkpoints = [](All& all) {
    const uint64_t last = all[kRegistryLog].key_entries(1);
    all[kRegistryLog].clear_key_entries();
    all[kRegistryLog].add_key_entries(last);
  };
  TamperedStore store(*store_, &tampering);
  const auto notary = MustOpen(Long(), store);
  ASSERT_NE(notary, nullptr);
  EXPECT_THAT(notary->why_read_whole(), HasSubstr("entry 0"));
  EXPECT_EQ(notary->registry()->keys.size(), 2u);
}

// Where a key is replaced the one before signs too. With the new one's entry and signature hidden
// from the row, the old one would sign again; and who replaces it would name the new one twice.
TEST_F(RegistryResume, JustReplacedKeyDoesNotSignAgain) {
  for (const int ledgers : {0, 300}) {  // signed with the replacement
    for (int i = 0; i < ledgers; ++i) Create(absl::StrCat("projects/q/ledgers/m", i));
    NotaryOptions rotated = Long();
    rotated.key = KeyFromByte(ledgers == 0 ? 'c' : 'd');
    rotated.previous_key = KeyFromByte(ledgers == 0 ? 'b' : 'c');
    MustOpen(rotated, *store_);
    NotaryOptions old = Long();
    old.check_evidence_for = absl::ZeroDuration();
    old.checkpoint_file.clear();
    old.key = rotated.previous_key;
    std::vector<std::function<void(v1::StoredCheckpoint&)>> changes = {
        [](v1::StoredCheckpoint& own) { own.mutable_key_entries()->RemoveLast(); },
        [](v1::StoredCheckpoint& own) {
          own.mutable_key_entries()->SwapElements(own.key_entries_size() - 2,
                                                  own.key_entries_size() - 1);
        },
        [](v1::StoredCheckpoint& own) {
          own.add_key_entries(own.key_entries(own.key_entries_size() - 2));
        },
        [](v1::StoredCheckpoint& own) { own.add_key_entries(own.key_entries(0)); },
        [](v1::StoredCheckpoint& own) { own.add_key_entries(*own.key_entries().rbegin()); },
        [](v1::StoredCheckpoint& own) {
          merkle::Note note = *merkle::Note::Parse(own.note());
          ASSERT_EQ(note.signatures.size(), 2u);
          note.signatures.erase(note.signatures.begin());  // the new key's
          own.set_note(note.ToText());
        }};
    for (size_t i = 0; i < changes.size(); ++i) {
      Tampering tampering;
      tampering.all_checkpoints = [&](All& all) { changes[i](all[kRegistryLog]); };
      TamperedStore store(*store_, &tampering);
      const auto opened = Notary::Open(old, store);
      EXPECT_EQ(ReasonOf(opened.status()).reason, "KEY_MISMATCH") << i << " " << opened.status();
      const auto notary = MustOpen(rotated, store);
      ASSERT_NE(notary, nullptr) << i;
      EXPECT_NE(notary->why_read_whole(), "") << i;
    }
    // The control: the row as it was.
    EXPECT_EQ(MustOpen(rotated, *store_)->why_read_whole(), "");
    EXPECT_EQ(ReasonOf(Notary::Open(old, *store_).status()).reason, "KEY_MISMATCH");
  }
}

// The map's leaf has one byte of the state: 258 has the leaf of 2, SEALED, and is not SEALED. One
// that believed it would register a sealed ledger as open where late entries take two rounds.
TEST_F(RegistryResume, StateOfTheSameLeafIsNotBelieved) {
  Tampering tampering;
  tampering.all_checkpoints = [](All& all) {
    v1::StoredCheckpoint& sealed = all[NameOf(3)];
    EXPECT_EQ(sealed.state(), v1::SEALED);
    sealed.set_state(static_cast<v1::LedgerState>(sealed.state() + 256));
  };
  tampering.checkpoint = [](const std::string& log, auto& stored) {
    if (log == NameOf(3) && stored->state() == v1::SEALED)
      stored->set_state(static_cast<v1::LedgerState>(v1::SEALED + 256));
  };
  TamperedStore store(*store_, &tampering);
  EXPECT_TRUE(absl::IsDataLoss(Notary::Open(Long(), store).status()));
  tampering.checkpoint = nullptr;
  const auto notary = MustOpen(Long(), store);
  ASSERT_NE(notary, nullptr);
  EXPECT_THAT(notary->why_read_whole(), HasSubstr("holds no head of"));
}

TEST_F(RegistryResume, SeesDamageOfTheRegistrysEnd) {
  Tampering tampering;
  TamperedStore store(*store_, &tampering);
  tampering.registry = [&](std::vector<std::string>& entries) {
    if (!entries.empty()) entries.back().back() ^= 1;
  };
  EXPECT_TRUE(absl::IsDataLoss(Notary::Open(Long(), store).status()));
  tampering.registry = nullptr;
  tampering.tile = [&](const std::string& log, const merkle::TileId&, std::string& hashes) {
    if (log == kRegistryLog) hashes[0] ^= 1;
  };
  const auto opened = Notary::Open(Long(), store);  // the entries are whole
  ASSERT_EQ(opened.status(), absl::OkStatus());
  EXPECT_THAT((*opened)->why_read_whole(), HasSubstr("tiles"));
}

TEST_F(RegistryResume, KnowsWhereALedgerIsRegistered) {
  const auto notary = MustOpen(Options('b'), *store_);
  for (int i = 0; i < 600; ++i) {
    AppendNotes(NameOf(0), 1);
    if (i % 3 == 0) AppendNotes(NameOf(1), 1);
    MustSign(*notary);
  }
  CheckpointStore& checkpoints = store_->checkpoints();
  for (const std::string& ledger : {NameOf(0), NameOf(1), NameOf(4)}) {
    const std::vector<uint64_t> all = IndicesOf(ledger);
    EXPECT_EQ(*ReadRegistrations(checkpoints, ledger, 0, all.size()), all);
    EXPECT_EQ(Latest(*notary, ledger).head.points, all.size());
    for (const uint64_t index : {uint64_t{0}, all[0], all[0] + 1, all.back() / 2, all.back(),
                                 all.back() + 1, all[all.size() / 3]}) {
      EXPECT_EQ(*CountRegistrations(checkpoints, ledger, all.size(), index),
                std::lower_bound(all.begin(), all.end(), index) - all.begin());
    }
  }
  const std::vector<uint64_t> all = IndicesOf(NameOf(0));
  EXPECT_EQ(*ReadRegistrations(checkpoints, NameOf(0), 250, 520),
            std::vector<uint64_t>(all.begin() + 250, all.begin() + 520));
  EXPECT_TRUE(absl::IsDataLoss(
      ReadRegistrations(checkpoints, NameOf(0), all.size(), all.size() + 1).status()));
}

TEST_F(RegistryResume, TakesNoOtherSignersWorkForDamage) {
  registry::Head last{.points = 2, .last = {.index = 7}};
  const auto of = [](const std::vector<int>& indices) {
    std::string block;
    for (const int index : indices) block += std::string(7, '\0') + static_cast<char>(index);
    return block;
  };
  EXPECT_EQ(*WithRegistration(NameOf(0), last, of({3, 7}), 9), of({3, 7, 9}));
  EXPECT_EQ(*WithRegistration(NameOf(0), last, of({3, 7, 8}), 9), of({3, 7, 9}));
  for (const auto& wrong : {of({}), of({7}), of({7, 3}), of({3, 8})})
    EXPECT_TRUE(absl::IsDataLoss(WithRegistration(NameOf(0), last, wrong, 9).status()));
  last.points = 256;
  EXPECT_EQ(*WithRegistration(NameOf(0), last, of({3, 7}), 9), of({9})) << "a block of its own";
}

TEST_F(RegistryResume, PlacesThatDoNotRiseAreNotGivenOut) {
  Tampering tampering;
  tampering.tile = [](const std::string&, const merkle::TileId& id, std::string& block) {
    if (id == RegistrationsTile(0)) std::swap_ranges(block.begin(), block.begin() + 8, &block[8]);
  };
  TamperedStore store(*store_, &tampering);
  const uint64_t points = IndicesOf(NameOf(2)).size();
  ASSERT_GE(points, 2u);
  EXPECT_TRUE(
      absl::IsDataLoss(ReadRegistrations(store.checkpoints(), NameOf(2), 0, points).status()));
  EXPECT_TRUE(ReadRegistrations(store_->checkpoints(), NameOf(2), 0, points).ok());
}

// A witness's signature comes with a row of its own.
TEST_F(RegistryResume, StartsFromACosignedEnd) {
  NotaryOptions cosigned = Options('b');
  cosigned.cosigner = [](const std::string& note, uint64_t, const ConsistencyProver&) {
    return std::vector<merkle::NoteSignature>{
        *merkle::SignNote(merkle::Note::Parse(note)->text, "witness", *KeyFromByte('w'))};
  };
  MustOpen(cosigned, *store_);
  EXPECT_THAT(store_->checkpoints().Latest(kRegistryLog)->note(), HasSubstr("witness"));
  EXPECT_THAT(MustOpen(Long(), *store_)->why_read_whole(), IsEmpty());
}

TEST_F(RegistryResume, DoesNotGoOnFromWrongPlaces) {
  for (const int size : {1, 100}) {  // read together with others, and alone
    Tampering tampering;
    tampering.tile = [](const std::string&, const merkle::TileId& id, std::string& hashes) {
      if (id == RegistrationsTile(0)) hashes.back() ^= 1;
    };
    TamperedStore store(*store_, &tampering);
    const auto notary = MustOpen(Options('b'), store);
    AppendNotes(NameOf(0), size);
    const absl::Status refused = notary->Sign().status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(NameOf(0)));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("place of its registration"));
    MustOpen(Options('b'), *store_);
  }
}

}  // namespace
}  // namespace dpledger
