// What copies of other servers' ledgers cost: held against the originals.
#include <gmock/gmock.h>

#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CopyCostTest : public ::testing::Test {
 protected:
  void MakeOriginal() {
    there_.Create("original");
    there_.Append("original", {RoundsEvent(100)});
    // Two writers with rounds of one number, to be kept apart here as there.
    there_.Append(RoundBatch(LedgerName("original"), "a", "a", 7));
    there_.Append(RoundBatch(LedgerName("original"), "b", "b", 7));
    there_.Append(
        "original",
        {accountant::FromText<v1::Event>("mechanism { gaussian { noise_multiplier: 5 } }")});
  }
  static v1::Import ImportOf(AccountedStore& from, const std::string& id, uint64_t size) {
    v1::Import import;
    import.set_origin("there.example/" + LedgerName(id));
    import.set_size(size);
    import.set_root_hash(merkle::ToBytes(from.RootOf(id, size)));
    import.set_checkpoint("a signed note");
    *import.mutable_declaration() =
        AccountedStore::Must(from.store().Get(LedgerName(id))).declaration();
    return import;
  }
  static void Create(AccountedStore& to, const std::string& id, const v1::Import& import) {
    v1::CreateLedgerRequest request;
    request.set_name(LedgerName(id));
    request.set_request_id("create-" + id);
    *request.mutable_import() = import;
    AccountedStore::Must(to.store().Create(request));
  }
  static void Fill(AccountedStore& to, const std::string& id,
                   const std::vector<std::string>& entries) {
    v1::AppendBatchRequest batch =
        Batch(LedgerName(id), "importer", absl::StrCat("fill-", ++fills_));
    for (const std::string& entry : entries) {
      batch.add_entries()->mutable_imported()->set_entry(entry);
    }
    to.Append(batch);
  }
  // `size` entries of the ledger `id` of `from`, as the ledger `copy` of `to`.
  static void Copy(AccountedStore& from, const std::string& id, uint64_t size, AccountedStore& to,
                   const std::string& copy) {
    Create(to, copy, ImportOf(from, id, size));
    Fill(to, copy, from.Entries(id, 0, size));
  }
  static std::vector<std::string> Warnings(const v1::ComputeEpsilonResponse& answer) {
    return {answer.details().warnings().begin(), answer.details().warnings().end()};
  }

  static int fills_;
  AccountedStore there_;
  AccountedStore here_;
};
int CopyCostTest::fills_ = 0;

constexpr uint64_t kOriginalSize = 7;

TEST_F(CopyCostTest, CostsWhatTheOriginalCosts) {
  MakeOriginal();
  Copy(there_, "original", kOriginalSize, here_, "copy");
  const v1::ComputeEpsilonResponse answer = here_.Answer({"copy"});
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), there_.EpsilonOf({"original"}));
  EXPECT_EQ(answer.details().entries(), kOriginalSize + 1);
  const std::vector<std::string> assumptions = {answer.details().assumptions().begin(),
                                                answer.details().assumptions().end()};
  EXPECT_THAT(assumptions,
              Contains("projects/p/ledgers/copy is a copy of the first 7 entries of "
                       "there.example/projects/p/ledgers/original; it is worth as much as the "
                       "signed checkpoint in its entry 0"));
  EXPECT_THAT(Warnings(answer), Contains(HasSubstr("was not sealed at 7 entries")));
}

TEST_F(CopyCostTest, OfASealedLedgerIsWhole) {
  MakeOriginal();
  v1::SealLedgerRequest seal = SealRequest(LedgerName("original"));
  for (const char* writer : {"w", "a", "b"}) seal.add_missing_writers(writer);
  AccountedStore::Must(there_.store().Seal(seal));
  Copy(there_, "original", kOriginalSize + 1, here_, "copy");
  EXPECT_THAT(Warnings(here_.Answer({"copy"})), Not(Contains(HasSubstr("not sealed"))));
}

TEST_F(CopyCostTest, IsRefusedUntilItIsComplete) {
  MakeOriginal();
  Create(here_, "copy", ImportOf(there_, "original", kOriginalSize));
  const std::vector<std::string> entries = there_.Entries("original", 0, kOriginalSize);
  Fill(here_, "copy", {entries.begin(), entries.begin() + 3});
  EXPECT_TRUE(IsError(here_.Ask({"copy"}).status(), StatusCode::kFailedPrecondition,
                      "IMPORT_INCOMPLETE", "copy: holds 3 of the 7 entries that it copies"));
  Fill(here_, "copy", {entries.begin() + 3, entries.end()});
  EXPECT_TRUE(here_.Ask({"copy"}).ok());
  EXPECT_TRUE(IsError(here_.Ask({"copy"}, 4).status(), StatusCode::kFailedPrecondition,
                      "IMPORT_INCOMPLETE", "copy: holds 3 of the 7 entries that it copies"));
  EXPECT_TRUE(here_.Ask({"copy"}, kOriginalSize + 1).ok());
}

// As many entries as the copy should have, but one of them is the end of the importer.
TEST_F(CopyCostTest, IsRefusedIfItsWriterStoppedEarly) {
  MakeOriginal();
  Create(here_, "copy", ImportOf(there_, "original", 3));
  Fill(here_, "copy", there_.Entries("original", 0, 2));
  v1::AppendBatchRequest end = Batch(LedgerName("copy"), "importer", "end");
  end.add_entries()->mutable_writer_closed()->set_entry_count(3);
  here_.Append(end);
  EXPECT_TRUE(IsError(here_.Ask({"copy"}).status(), StatusCode::kFailedPrecondition,
                      "IMPORT_INCOMPLETE", "copy: holds 2 of the 3 entries that it copies"));
}

TEST_F(CopyCostTest, WithOtherBytesIsDamaged) {
  MakeOriginal();
  Create(here_, "copy", ImportOf(there_, "original", kOriginalSize));
  std::vector<std::string> entries = there_.Entries("original", 0, kOriginalSize);
  v1::LedgerEntry cheaper;
  ASSERT_TRUE(cheaper.ParseFromString(entries[1]));
  cheaper.mutable_event()->mutable_rounds()->set_count(1);
  entries[1] = cheaper.SerializeAsString();
  Fill(here_, "copy", entries);
  EXPECT_TRUE(IsError(here_.Ask({"copy"}).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/copy: entry 7: the 7 copied entries do not have the "
                      "original's root hash"));
}

TEST_F(CopyCostTest, ThatDeclaresSomethingElseIsDamaged) {
  MakeOriginal();
  v1::Import import = ImportOf(there_, "original", kOriginalSize);
  import.mutable_declaration()->set_adjacency(v1::ZERO_OUT);
  Create(here_, "copy", import);
  Fill(here_, "copy", there_.Entries("original", 0, kOriginalSize));
  EXPECT_TRUE(IsError(here_.Ask({"copy"}).status(), StatusCode::kDataLoss, "",
                      "entry 1: the original's entry 0: declares something else than the import"));
}

TEST_F(CopyCostTest, OfAForkHasNoAnalysis) {
  MakeOriginal();
  there_.Fork("original", 2, "fork");
  Copy(there_, "fork", 1, here_, "copy");
  EXPECT_TRUE(IsError(here_.Ask({"copy"}).status(), StatusCode::kFailedPrecondition, "NO_ANALYSIS",
                      "copy: entry 1: the original's entry 0: a fork, whose cost includes the "
                      "first 2 entries of projects/p/ledgers/original, which are not in the copy"));
}

TEST_F(CopyCostTest, OfACopyIsReadDownToTheOriginal) {
  MakeOriginal();
  AccountedStore between;
  Copy(there_, "original", kOriginalSize, between, "copy");
  Copy(between, "copy", kOriginalSize + 1, here_, "copy");
  EXPECT_EQ(here_.EpsilonOf({"copy"}), there_.EpsilonOf({"original"}));
  // Of a part of the copy in between, the rest of the original is missing.
  Copy(between, "copy", 4, here_, "part");
  EXPECT_TRUE(IsError(here_.Ask({"part"}).status(), StatusCode::kFailedPrecondition,
                      "IMPORT_INCOMPLETE",
                      "part: holds 3 of the 7 entries that its original copies"));
}

TEST_F(CopyCostTest, ForksCarryTheCopy) {
  MakeOriginal();
  Copy(there_, "original", kOriginalSize, here_, "copy");
  here_.Fork("copy", kOriginalSize + 1, "child");
  here_.Append("child", {RoundsEvent(20)});
  there_.Append("original", {RoundsEvent(20)});
  const v1::ComputeEpsilonResponse answer = here_.Answer({"child"});
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), there_.EpsilonOf({"original"}));
  EXPECT_THAT(Warnings(answer), Contains(HasSubstr("was not sealed")));
}

TEST_F(CopyCostTest, IsNotCountedBesideItsOriginalOrItsLike) {
  const auto independent = [](v1::Declaration& declaration) {
    declaration.set_plan_independent(true);
  };
  here_.Create("original", independent);
  here_.Append("original", {RoundsEvent(100)});
  here_.Append("original", {RoundsEvent(1)});
  Copy(here_, "original", 2, here_, "copy");
  EXPECT_TRUE(IsError(here_.Ask({"original", "copy"}).status(), StatusCode::kFailedPrecondition,
                      "COPIES_OVERLAP",
                      "copy: is a copy of projects/p/ledgers/original: what both hold would count "
                      "twice"));
  Copy(here_, "original", 3, here_, "longer");
  EXPECT_TRUE(IsError(here_.Ask({"longer", "copy"}).status(), StatusCode::kFailedPrecondition,
                      "COPIES_OVERLAP", "and so does projects/p/ledgers/copy"));
  // The same name on another server is another ledger.
  there_.Create("original", independent);
  there_.Append("original", {RoundsEvent(7)});
  Copy(there_, "original", 2, here_, "other");
  EXPECT_EQ(here_.EpsilonOf({"original", "other"}), here_.EpsilonOfEvents({RoundsEvent(108)}));
}

}  // namespace
}  // namespace dpledger::server
