// A start of a store with very many ledgers compares with the registry, and leaves signatures and
// tiles to a thread: what that finds, what it does not let pass, and what is refused all the same.
#include "server/signing/evidence_check.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"
#include "tests/support/await_that.h"

namespace dpledger::server {
namespace {

using ::testing::HasSubstr;

class EvidenceCheckTest : public SignedStore {
 protected:
  static std::string NameOf(int i) { return absl::StrCat("projects/p/ledgers/l", i); }
  EvidenceCheckTest() {
    for (int i = 0; i < kLedgers; ++i) {
      Create(NameOf(i));
      AppendNotes(NameOf(i), 3);
    }
    MustOpen(Options(), *store_);
  }
  // As with more ledgers than there is time for.
  NotaryOptions InNoTime() {
    NotaryOptions options = Options();
    options.check_evidence_for = absl::ZeroDuration();
    return options;
  }
  // What the thread finds damaged.
  std::map<std::string, std::string> Found(LedgerStore& store, const Notary& notary) {
    absl::Mutex mutex;
    std::map<std::string, std::string> found;
    EvidenceCheck check(&store, &notary, &log_,
                        [&](const std::string& ledger, const absl::Status& why) {
                          EXPECT_TRUE(absl::IsDataLoss(why)) << why;
                          absl::MutexLock lock(&mutex);
                          found[ledger] = std::string(why.message());
                        });
    testing::AwaitThat([&] { return check.left() == 0; });
    check.Stop();
    return found;
  }

  static constexpr int kLedgers = 9;
  Tampering tampering_;
  const Log log_{LogLevel::kError, 2};
};

TEST_F(EvidenceCheckTest, LooksAtWhatTheStartLeft) {
  tampering_.tile = [&](const std::string& log, const merkle::TileId&, std::string& hashes) {
    if (log == NameOf(4)) hashes[0] ^= 1;
  };
  tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
    if (log != NameOf(6) || !checkpoint.ok()) return;
    std::string& note = *checkpoint->mutable_note();
    note[note.size() - 6] = note[note.size() - 6] == 'A' ? 'B' : 'A';  // in the signature
  };
  TamperedStore store(*store_, &tampering_);
  // With time, the start refuses by itself.
  EXPECT_TRUE(absl::IsDataLoss(Notary::Open(Options(), store).status()));
  const auto notary = MustOpen(InNoTime(), store);
  EXPECT_EQ(notary->left_to_check().ledgers, 9u);
  const std::map<std::string, std::string> found = Found(store, *notary);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found.at(NameOf(4)), HasSubstr("root"));
  EXPECT_THAT(found.at(NameOf(6)), HasSubstr("not one that was signed"));
  EXPECT_TRUE(absl::IsDataLoss(notary->Latest(NameOf(6)).status())) << "whoever reads it is told";
}

TEST_F(EvidenceCheckTest, ReadsTheRegistryThatTheStartDidNot) {
  NotaryOptions options = Options();
  options.read_at_most = 0;
  Tampering damage;
  const size_t all = store_->checkpoints().ReadRegistry(0, 1000)->size();
  damage.registry = [&](std::vector<std::string>& entries) {
    if (entries.size() == all) entries[2].back() ^= 1;  // not where the end alone is read
  };
  TamperedStore store(*store_, &damage);
  const auto notary = MustOpen(options, store);
  EXPECT_GT(notary->left_to_check().registry_entries, 3u);
  const std::map<std::string, std::string> found = Found(store, *notary);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.at("the registry"), HasSubstr("2"));
  // The controls: without damage; and one that reads all at once refuses.
  EXPECT_TRUE(Found(*store_, *MustOpen(options, *store_)).empty());
  EXPECT_TRUE(absl::IsDataLoss(Notary::Open(Options(), store).status()));
}

// What the signed end cannot show of an edited row: a key that was replaced again.
TEST_F(EvidenceCheckTest, FindsAKeyThatTheRowHides) {
  NotaryOptions options = Options();
  for (const char key : {'b', 'c'}) {
    options.previous_key = options.key;
    options.key = KeyFromByte(key);
    MustOpen(options, *store_);
  }
  for (int i = 0; i < kLedgers; ++i) AppendNotes(NameOf(i), 1);
  MustOpen(options, *store_);
  options.read_at_most = 0;
  tampering_.all_checkpoints = [](auto& all) {
    auto& indices = *all[kRegistryLog].mutable_key_entries();
    EXPECT_EQ(indices.size(), 3);
    indices.erase(indices.begin() + 1);
  };
  TamperedStore store(*store_, &tampering_);
  const auto notary = MustOpen(options, store);
  EXPECT_EQ(notary->registry()->keys.size(), 2u);
  const std::map<std::string, std::string> found = Found(store, *notary);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.at("the registry"), HasSubstr("names a key"));
  EXPECT_TRUE(Found(*store_, *MustOpen(options, *store_)).empty());
}

TEST_F(EvidenceCheckTest, HasNothingToDoAfterAWholeStart) {
  const auto notary = MustOpen(Options(), *store_);
  EXPECT_EQ(notary->left_to_check().ledgers, 0u);
  EXPECT_TRUE(Found(*store_, *notary).empty());
  const auto hasty = MustOpen(InNoTime(), *store_);
  EXPECT_EQ(hasty->left_to_check().ledgers, 9u);
  EXPECT_TRUE(Found(*store_, *hasty).empty());
}

// Without time too: what the registry says is compared with every ledger.
TEST_F(EvidenceCheckTest, StartRefusesWhatIsNotAsRegistered) {
  v1::StoredCheckpoint other = *store_->checkpoints().Latest(NameOf(2));
  const std::vector<std::pair<std::string, std::function<void(v1::StoredCheckpoint&)>>> cases = {
      {"another's", [&](v1::StoredCheckpoint& checkpoint) { checkpoint = other; }},
      {"another size", [](v1::StoredCheckpoint& checkpoint) { checkpoint.set_size(2); }},
      {"another entry", [](v1::StoredCheckpoint& c) { c.set_registry_index(1); }},
      {"another root",
       [](v1::StoredCheckpoint& checkpoint) {
         std::string& note = *checkpoint.mutable_note();
         const size_t root = note.find('\n', note.find('\n') + 1) + 1;  // its third line
         note[root] = note[root] == 'A' ? 'B' : 'A';
       }},
      {"none", [](v1::StoredCheckpoint& checkpoint) { checkpoint.Clear(); }}};
  for (const auto& [what, change] : cases) {
    tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
      if (log == NameOf(5) && checkpoint.ok()) change(*checkpoint);
    };
    tampering_.all_checkpoints = [&](auto& all) { change(all[NameOf(5)]); };
    TamperedStore store(*store_, &tampering_);
    EXPECT_TRUE(absl::IsDataLoss(Notary::Open(InNoTime(), store).status())) << what;
  }
  tampering_.checkpoint = [&](const std::string& log, auto& checkpoint) {
    if (log == NameOf(5)) checkpoint = absl::NotFoundError("gone");
  };
  tampering_.all_checkpoints = [&](auto& all) { all.erase(NameOf(5)); };
  TamperedStore store(*store_, &tampering_);
  EXPECT_TRUE(absl::IsDataLoss(Notary::Open(InNoTime(), store).status())) << "gone";
}

}  // namespace
}  // namespace dpledger::server
