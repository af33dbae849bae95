// Snapshots of a store that is written to, backups made of them, and what is restored.
#include "ledger_store/embedded/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/damaged_store.h"

namespace dpledger {
namespace {

namespace fs = std::filesystem;
using embedded::BackupManifest;
using embedded::CopyProgress;
using embedded::MakeBackup;
using embedded::RestoreBackup;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const CopyProgress kSilent;

BackupManifest About() {
  return {.created = absl::FromUnixSeconds(1'700'000'000), .version = "1.2.3", .files = {}};
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

class Backup : public SignedStore {
 protected:
  std::string Path(const char* name) const { return absl::StrCat(folder_.path(), "/", name); }
  // A store of 300 entries, signed but for the last five, and its backup.
  void MakeSample() {
    Create(kLedger);
    AppendNotes(kLedger, 295);
    MustOpen(Options(), *store_);
    AppendNotes(kLedger, 5);
    entries_ = ReadAll(*store_, kLedger);
    ASSERT_EQ(store_->SnapshotTo(Path("snapshot")), absl::OkStatus());
    const auto made = MakeBackup(Path("snapshot"), Path("backup"), About(), kSilent);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  std::vector<std::string> EntriesOf(const std::string& folder) {
    auto store = OpenEmbeddedStore({.folder = folder, .clock = &clock_});
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? ReadAll(**store, kLedger) : std::vector<std::string>();
  }
  FsckReport FsckOf(const std::string& folder) {
    FsckReport report;
    FsckOptions options;
    options.checkpoint_file = CheckpointPath();
    EXPECT_EQ(embedded::FsckFolder(folder, options, report), absl::OkStatus());
    return report;
  }

  std::vector<std::string> entries_;
};

TEST_F(Backup, HoldsWhatWasAcknowledgedBeforeWhileWritersGoOn) {
  ASSERT_TRUE(store_->Create(CreateRequest(kLedger)).ok());
  AcknowledgedLoad load({store_.get()}, kLedger, 4);
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    load.Await(load.count() + 200);
    const Acknowledged before = load.acknowledged();
    const std::string name = absl::StrCat("backup", round);
    ASSERT_EQ(store_->SnapshotTo(Path("snapshot")), absl::OkStatus());
    ASSERT_TRUE(MakeBackup(Path("snapshot"), Path(name.c_str()), About(), kSilent).ok());
    fs::remove_all(Path("snapshot"));
    load.Await(load.count() + 20);  // the store is none the worse for it
    const std::string restored = Path((name + "-store").c_str());
    ASSERT_TRUE(RestoreBackup(Path(name.c_str()), restored, kSilent).ok());
    const FsckReport report = FsckOf(restored);
    EXPECT_TRUE(report.clean()) << report.findings()[0].place << report.findings()[0].what;
    auto store = OpenEmbeddedStore({.folder = restored, .clock = &clock_});
    ASSERT_TRUE(store.ok()) << store.status();
    const std::string root = (*store)->Get(kLedger)->root_hash();
    EXPECT_THAT(WrongWith(ReadAll(**store, kLedger), root, before), IsEmpty());
  }
  load.Stop(absl::Seconds(10));
  EXPECT_THAT(load.surprises(), IsEmpty());
  // The control: what was acknowledged after the first backup is not in it.
  auto first = OpenEmbeddedStore({.folder = Path("backup0-store"), .clock = &clock_});
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(
      WrongWith(ReadAll(**first, kLedger), (*first)->Get(kLedger)->root_hash(), load.acknowledged())
          .empty());
}

TEST_F(Backup, PassesTheStartCheckWithTheSecondPlaceOfItsTimeAndNotWithALaterOne) {
  MakeSample();
  ASSERT_TRUE(RestoreBackup(Path("backup"), Path("restored"), kSilent).ok());
  const auto open = [&] {
    auto store = OpenEmbeddedStore({.folder = Path("restored"), .clock = &clock_});
    EXPECT_TRUE(store.ok()) << store.status();
    return Notary::Open(Options(), **store).status();
  };
  EXPECT_EQ(open(), absl::OkStatus());
  // The store goes on, and signs what the backup does not have.
  AppendNotes(kLedger, 10);
  MustOpen(Options(), *store_);
  fs::remove_all(Path("restored"));
  ASSERT_TRUE(RestoreBackup(Path("backup"), Path("restored"), kSilent).ok());
  EXPECT_TRUE(IsError(open(), absl::StatusCode::kDataLoss, "STORE_WENT_BACK", "less than"));
}

TEST_F(Backup, HasItsOwnFilesAndNothingThatStandsBesideAStore) {
  WriteTo(Path("store.signing-key"), "a secret");
  MakeSample();
  EXPECT_THAT(NamesIn(Path("backup")), UnorderedElementsAre("BACKUP", "store"));
  const auto manifest = BackupManifest::Parse(*ReadFile(Path("backup/BACKUP")));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  std::set<std::string> named;
  for (const auto& file : manifest->files) {
    named.insert(file.name);
    EXPECT_EQ(file.bytes, fs::file_size(Path("backup/store/") + file.name));
  }
  EXPECT_EQ(named, NamesIn(Path("backup/store")));
  EXPECT_EQ(named.count("SYNCED"), 1u);
  EXPECT_EQ(named.count("LOCK"), 0u);
  for (const std::string& name : named) {
    EXPECT_THAT(*ReadFile(Path("backup/store/") + name), ::testing::Not(HasSubstr("a secret")));
  }
  EXPECT_TRUE(FsckOf(Path("backup/store")).clean());
  EXPECT_EQ(EntriesOf(Path("backup/store")), entries_);
}

// The synced record tells of a copy that has lost the end of its log.
TEST_F(Backup, KnowsHowFarItWent) {
  MakeSample();
  ASSERT_TRUE(RestoreBackup(Path("backup"), Path("restored"), kSilent).ok());
  EXPECT_EQ(EntriesOf(Path("restored")), entries_);
  fs::remove_all(Path("restored"));
  ASSERT_TRUE(RestoreBackup(Path("backup"), Path("restored"), kSilent).ok());
  int cut = 0;
  for (const std::string& name : NamesIn(Path("restored"))) {
    if (!name.ends_with(".log")) continue;
    fs::resize_file(Path("restored/") + name, 0);
    ++cut;
  }
  ASSERT_GT(cut, 0);
  EXPECT_TRUE(IsError(OpenEmbeddedStore({.folder = Path("restored"), .clock = &clock_}).status(),
                      absl::StatusCode::kDataLoss, "STORE_WENT_BACK", "end of the log"));
}

TEST_F(Backup, SnapshotThatFailsLeavesTheStoreAsItWas) {
  Create(kLedger);
  fs::create_directory(Path("taken"));
  WriteTo(Path("taken/file"), "somebody's");
  EXPECT_FALSE(store_->SnapshotTo(Path("taken/file/under")).ok());
  EXPECT_FALSE(store_->SnapshotTo(Path("none/snapshot")).ok());
  EXPECT_EQ(*ReadFile(Path("taken/file")), "somebody's");
  EXPECT_TRUE(store_->Healthy());
  AppendNotes(kLedger, 1);
  EXPECT_EQ(ReadAll(*store_, kLedger).size(), 2u);
}

TEST_F(Backup, EveryChangedByteIsNoticedAndNothingIsLeft) {
  MakeSample();
  int tried = 0;
  for (const std::string& name : NamesIn(Path("backup/store"))) {
    const std::string path = Path("backup/store/") + name;
    const std::string content = *ReadFile(path);
    for (const size_t at : {size_t{0}, content.size() / 2, content.size() - 1}) {
      if (content.empty()) continue;
      SCOPED_TRACE(absl::StrCat(name, " at ", at));
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      WriteTo(path, changed);
      EXPECT_TRUE(IsError(RestoreBackup(Path("backup"), Path("restored"), kSilent).status(),
                          absl::StatusCode::kDataLoss, "", name));
      ++tried;
    }
    WriteTo(path, content + "x");
    EXPECT_TRUE(
        absl::IsDataLoss(RestoreBackup(Path("backup"), Path("restored"), kSilent).status()));
    fs::remove(path);
    EXPECT_TRUE(
        absl::IsNotFound(RestoreBackup(Path("backup"), Path("restored"), kSilent).status()));
    EXPECT_FALSE(fs::exists(Path("restored")));
    EXPECT_FALSE(fs::exists(Path("restored.partial")));
    WriteTo(path, content);
  }
  EXPECT_GT(tried, 9);
  // The control, beside a file that the manifest does not name.
  WriteTo(Path("backup/store/000099.sst"), "more");
  EXPECT_TRUE(RestoreBackup(Path("backup"), Path("restored"), kSilent).ok());
  EXPECT_FALSE(fs::exists(Path("restored/000099.sst")));
}

TEST_F(Backup, TakesNoNameThatIsTakenAndKeepsNothingOfACopyThatWasEnded) {
  MakeSample();
  EXPECT_TRUE(IsError(MakeBackup(Path("snapshot"), Path("backup"), About(), kSilent).status(),
                      absl::StatusCode::kAlreadyExists, "", "is there already"));
  EXPECT_TRUE(IsError(RestoreBackup(Path("backup"), StoreFolder(), kSilent).status(),
                      absl::StatusCode::kAlreadyExists, "", "is there already"));
  fs::create_directory(Path("other.partial"));
  EXPECT_TRUE(IsError(MakeBackup(Path("snapshot"), Path("other"), About(), kSilent).status(),
                      absl::StatusCode::kAlreadyExists, "", "other.partial"));
  EXPECT_TRUE(fs::exists(Path("other.partial")));
  EXPECT_TRUE(absl::IsNotFound(
      MakeBackup(Path("snapshot"), Path("no/such/parent"), About(), kSilent).status()));
  EXPECT_TRUE(IsError(MakeBackup(Path("backup"), Path("third"), About(), kSilent).status(),
                      absl::StatusCode::kNotFound, "", "there is no store"));
  EXPECT_TRUE(IsError(RestoreBackup(Path("snapshot"), Path("third"), kSilent).status(),
                      absl::StatusCode::kNotFound, "", "backup"));

  uint64_t copied = 0;
  const CopyProgress end = [&](uint64_t bytes) -> absl::Status {
    copied = bytes;
    return absl::CancelledError("enough");
  };
  EXPECT_TRUE(
      absl::IsCancelled(MakeBackup(Path("snapshot"), Path("third"), About(), end).status()));
  EXPECT_GT(copied, 0u);
  EXPECT_TRUE(absl::IsCancelled(RestoreBackup(Path("backup"), Path("third"), end).status()));
  EXPECT_FALSE(fs::exists(Path("third")));
  EXPECT_FALSE(fs::exists(Path("third.partial")));
}

TEST(BackupManifest, IsReadAsItIsWritten) {
  BackupManifest manifest = About();
  manifest.files = {{"000004.log", 7, std::string(64, 'a')}, {"CURRENT", 0, std::string(64, '0')}};
  EXPECT_EQ(manifest.bytes(), 7u);
  const std::string text = manifest.ToText();
  EXPECT_EQ(text, absl::StrCat("dpledger-backup 1\ncreated 2023-11-14T22:13:20Z\nversion 1.2.3\n"
                               "file 7 ",
                               std::string(64, 'a'), " 000004.log\nfile 0 ", std::string(64, '0'),
                               " CURRENT\nend 2\n"));
  const auto read = BackupManifest::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ToText(), text);
  // Nothing that is cut is a manifest.
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(BackupManifest::Parse(text.substr(0, size)).ok()) << size;
  }
}

TEST(BackupManifest, LineThatIsNoneIsNamed) {
  const std::string head = "dpledger-backup 1\ncreated 2023-11-14T22:13:20Z\nversion 1\n";
  const std::string hash(64, 'a');
  const auto refusal = [](const std::string& text) { return BackupManifest::Parse(text).status(); };
  ASSERT_EQ(refusal(head + "end 0\n"), absl::OkStatus());
  EXPECT_TRUE(IsError(refusal("dpledger-backup 2" + head.substr(17) + "end 0\n"),
                      absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "line 1"));
  for (const std::string& file :
       {"file 1 " + hash + " ../x", "file 1 " + hash + " /etc/x", "file 1 " + hash + " .x",
        "file 1 " + hash + " ", "file 1 " + hash + " a b", "file -1 " + hash + " a",
        "file 01 " + hash + " a", "file 99999999999999999999 " + hash + " a",
        "file 1 " + std::string(64, 'A') + " a", "file 1 " + hash.substr(1) + " a",
        "file 1 " + hash + " " + std::string(101, 'a'), std::string("dir 1"), std::string()}) {
    EXPECT_TRUE(IsError(refusal(absl::StrCat(head, file, "\nend 1\n")),
                        absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "line 4"))
        << file;
  }
  const std::string one = "file 1 " + hash + " a\n";
  EXPECT_TRUE(IsError(refusal(absl::StrCat(head, one, one, "end 2\n")),
                      absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "line 5"));
  EXPECT_TRUE(IsError(refusal(absl::StrCat(head, one, "end 2\n")),
                      absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "line 5"));
}

}  // namespace
}  // namespace dpledger
