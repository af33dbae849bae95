// The fault-injecting file system itself: it loses what was not synced, keeps what was, and fails
// the call that it was told to fail. DPLEDGER_FAULT_SEED repeats a run, DPLEDGER_FAULT_ROUNDS makes
// it longer.
#include "tests/fault/fault_fs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/cli/process.h"
#include "tests/fault/power_rounds.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kRecordBytes = 100;
// Digits that no other record has in this order.
std::string RecordText(uint64_t number) {
  std::string text = absl::StrCat("record ", number, ":");
  while (text.size() < kRecordBytes) absl::StrAppend(&text, number * 7919 + text.size());
  return text.substr(0, kRecordBytes - 1) + "\n";
}

std::string Slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

int Open(const std::string& path, int flags = O_RDWR | O_CREAT) {
  return open(path.c_str(), flags | O_CLOEXEC, 0600);
}

// 0, or the errno of a failed write, or -1 after a short one.
int Put(int fd, const std::string& text) {
  const ssize_t count = write(fd, text.data(), text.size());
  return count < 0 ? errno : static_cast<size_t>(count) == text.size() ? 0 : -1;
}

int ErrorOf(int result) { return result < 0 ? errno : 0; }

int SyncFolder(const std::string& path) {
  const int fd = Open(path, O_RDONLY | O_DIRECTORY);
  const int error = ErrorOf(fsync(fd));
  close(fd);
  return error;
}

class FaultFsTest : public ::testing::Test {
 protected:
  void SetUp() override { Mount({}); }

  void Mount(const FaultFs::Options& options) {
    disk_.reset();
    auto disk = FaultFs::Mount(backing_, folder_.File("mount"), options);
    if (absl::IsUnavailable(disk.status())) GTEST_SKIP() << disk.status();
    ASSERT_TRUE(disk.ok()) << disk.status();
    disk_ = *std::move(disk);
  }

  std::string Seen(const std::string& name) const { return disk_->path() + "/" + name; }
  std::string Stored(const std::string& name) const { return backing_ + "/" + name; }
  void Cut(Survival survival = Survival::kNothing, uint64_t seed = 0) {
    ASSERT_TRUE(disk_->Cut(survival, seed).ok());
    ASSERT_TRUE(disk_->Unmount().ok());
  }
  void Fail(FaultRule rule) {
    const absl::Status status = disk_->Fail(rule);
    ASSERT_TRUE(status.ok()) << status;
  }

  TemporaryFolder folder_;
  const std::string backing_ = folder_.File("disk");
  std::unique_ptr<FaultFs> disk_;
};

TEST_F(FaultFsTest, KeepsEverythingAtACleanUnmount) {
  std::filesystem::create_directories(Seen("a/b"));
  std::ofstream(Seen("a/b/file")) << RecordText(1);
  std::filesystem::create_symlink("b/file", Seen("a/soft"));
  std::filesystem::create_hard_link(Seen("a/b/file"), Seen("hard"));
  std::filesystem::rename(Seen("hard"), Seen("a/harder"));
  std::filesystem::permissions(Seen("a/b/file"), std::filesystem::perms(0640));
  EXPECT_EQ(std::filesystem::hard_link_count(Seen("a/harder")), 2u);
  ASSERT_TRUE(disk_->Unmount().ok());
  EXPECT_EQ(Slurp(Stored("a/b/file")), RecordText(1));
  EXPECT_EQ(Slurp(Stored("a/soft")), RecordText(1));
  EXPECT_EQ(std::filesystem::hard_link_count(Stored("a/harder")), 2u);
  EXPECT_EQ(std::filesystem::status(Stored("a/b/file")).permissions(),
            std::filesystem::perms(0640));
  Mount({});
  EXPECT_EQ(Slurp(Seen("a/harder")), RecordText(1));
  EXPECT_EQ(std::filesystem::remove_all(Seen("a")), 5u);
  ASSERT_TRUE(disk_->Unmount().ok());
  EXPECT_TRUE(std::filesystem::is_empty(backing_));
}

TEST_F(FaultFsTest, LosesWhatWasNotSynced) {
  const int fd = Open(Seen("file"));
  EXPECT_EQ(Put(fd, "synced "), 0);
  EXPECT_EQ(fdatasync(fd), 0);
  EXPECT_EQ(Put(fd, "not synced"), 0);
  EXPECT_EQ(Slurp(Seen("file")), "synced not synced");
  ASSERT_TRUE(disk_->Cut(Survival::kNothing, 0).ok());
  EXPECT_EQ(Put(fd, "x"), EIO);
  EXPECT_EQ(ErrorOf(fsync(fd)), EIO);
  EXPECT_EQ(ErrorOf(Open(Seen("other"))), EIO);
  close(fd);
  ASSERT_TRUE(disk_->Unmount().ok());
  EXPECT_EQ(Slurp(Stored("file")), "synced ");
}

TEST_F(FaultFsTest, LosesTruncationAndChangesOfModeThatWereNotSynced) {
  const int fd = Open(Seen("file"));
  EXPECT_EQ(Put(fd, RecordText(1)), 0);
  EXPECT_EQ(fsync(fd), 0);
  EXPECT_EQ(ftruncate(fd, 3), 0);
  EXPECT_EQ(fchmod(fd, 0644), 0);
  EXPECT_EQ(Slurp(Seen("file")), "rec");
  Cut();
  close(fd);
  EXPECT_EQ(Slurp(Stored("file")), RecordText(1));
  EXPECT_EQ(std::filesystem::status(Stored("file")).permissions(), std::filesystem::perms(0600));
}

TEST_F(FaultFsTest, SyncOfANewFileKeepsItsNameAndItsFolders) {
  std::filesystem::create_directories(Seen("a/b"));
  std::ofstream(Seen("a/unsynced")) << "x";
  const int fd = Open(Seen("a/b/file"));
  EXPECT_EQ(fdatasync(fd), 0);
  close(fd);
  Cut();
  EXPECT_TRUE(std::filesystem::exists(Stored("a/b/file")));
  EXPECT_FALSE(std::filesystem::exists(Stored("a/unsynced")));
}

// The same renaming with and without sync of the folder; what the disk holds as CURRENT.
class RenameTest : public FaultFsTest {
 protected:
  std::string CurrentAfterCut(bool sync_folder) {
    for (const std::string name : {"CURRENT", "tmp"}) {
      const int fd = Open(Seen(name));
      EXPECT_EQ(Put(fd, name == "tmp" ? "new" : "old"), 0);
      EXPECT_EQ(fsync(fd), 0);
      close(fd);
    }
    EXPECT_EQ(rename(Seen("tmp").c_str(), Seen("CURRENT").c_str()), 0);
    const int fd = Open(Seen("CURRENT"));
    EXPECT_EQ(fsync(fd), 0);  // of the file: not enough
    close(fd);
    if (sync_folder) {
      EXPECT_EQ(SyncFolder(disk_->path()), 0);
    }
    Cut();
    EXPECT_EQ(std::filesystem::exists(Stored("tmp")), !sync_folder);
    return Slurp(Stored("CURRENT"));
  }
};
TEST_F(RenameTest, IsKeptWithSyncOfTheFolder) { EXPECT_EQ(CurrentAfterCut(true), "new"); }
TEST_F(RenameTest, CanBeLostWithoutSyncOfTheFolder) { EXPECT_EQ(CurrentAfterCut(false), "old"); }

TEST_F(FaultFsTest, FailsTheNthCallAndNoOther) {
  const int fd = Open(Seen("file"));
  Fail({.op = "write", .nth = 3, .error = ENOSPC});
  Fail({.op = "fdatasync", .nth = 2, .error = EIO});
  Fail({.op = "fsync", .nth = 1, .error = EIO});
  Fail({.op = "ftruncate", .nth = 2, .error = EIO});
  Fail({.op = "rename", .nth = 2, .error = ENOSPC, .path = "new"});
  Fail({.op = "create", .nth = 2, .error = EMFILE, .sticky = true});
  Fail({.op = "fsyncdir", .nth = 2, .error = EIO});
  const auto errors = [](auto call) {
    std::vector<int> found;
    for (int i = 0; i < 4; ++i) found.push_back(call(i));
    return found;
  };
  EXPECT_THAT(errors([&](int) { return Put(fd, "x"); }), ElementsAre(0, 0, ENOSPC, 0));
  EXPECT_THAT(errors([&](int) { return ErrorOf(fdatasync(fd)); }), ElementsAre(0, EIO, 0, 0));
  EXPECT_THAT(errors([&](int) { return ErrorOf(fsync(fd)); }), ElementsAre(EIO, 0, 0, 0));
  EXPECT_THAT(errors([&](int) { return ErrorOf(ftruncate(fd, 1)); }), ElementsAre(0, EIO, 0, 0));
  std::string at = Seen("file");
  EXPECT_THAT(errors([&](int i) {
                const std::string to = Seen(absl::StrCat(i == 1 ? "other" : "new", i));
                const int error = ErrorOf(rename(at.c_str(), to.c_str()));
                if (error == 0) at = to;
                return error;
              }),
              ElementsAre(0, 0, ENOSPC, 0));
  EXPECT_THAT(errors([&](int i) {
                const int other = Open(Seen(absl::StrCat("created", i)));
                const int error = ErrorOf(other);
                if (error == 0) close(other);
                return error;
              }),
              ElementsAre(0, EMFILE, EMFILE, EMFILE));
  EXPECT_THAT(errors([&](int) { return SyncFolder(disk_->path()); }), ElementsAre(0, EIO, 0, 0));
  const auto counts = disk_->Counts();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->at("write"), 4u);
  EXPECT_EQ(counts->at("fdatasync"), 4u);
  EXPECT_EQ(counts->at("create"), 5u);
  EXPECT_EQ(counts->at("struck"), 9u);
  ASSERT_TRUE(disk_->ClearFaults().ok());
  EXPECT_GE(Open(Seen("created4")), 0);
}

TEST_F(FaultFsTest, WritesLessThanAsked) {
  Fail({.op = "write", .nth = 2, .short_bytes = 3});
  const int fd = Open(Seen("file"));
  EXPECT_EQ(write(fd, "abcdef", 6), 6);
  EXPECT_EQ(write(fd, "ghijkl", 6), 3);
  EXPECT_EQ(write(fd, "jkl", 3), 3);
  close(fd);
  EXPECT_EQ(Slurp(Seen("file")), "abcdefghijkl");
}

// The story behind PostgreSQL's panic on a failed fsync: trying again succeeds and stores nothing.
TEST_F(FaultFsTest, ForgetsWhatAFailedSyncShouldHaveWritten) {
  const int fd = Open(Seen("file"));
  EXPECT_EQ(fsync(fd), 0);
  Fail({.op = "fsync", .error = EIO});
  EXPECT_EQ(Put(fd, "lost"), 0);
  EXPECT_EQ(ErrorOf(fsync(fd)), EIO);
  EXPECT_EQ(fsync(fd), 0);
  EXPECT_EQ(Slurp(Seen("file")), "lost");
  Cut();
  close(fd);
  EXPECT_EQ(Slurp(Stored("file")), std::string(4, '\0'));
}

TEST_F(FaultFsTest, RefusesRulesThatNoCallCanMeet) {
  EXPECT_EQ(disk_->Fail({.op = "wriet", .error = EIO}).message(),
            "op: must be a call of a file system, got wriet");
  EXPECT_EQ(disk_->Fail({.op = "write", .nth = 0, .error = EIO}).message(),
            "nth: must be >= 1, got 0");
  EXPECT_EQ(disk_->Fail({.op = "write"}).message(),
            "error: must be given unless short_bytes or cut is");
}

TEST_F(FaultFsTest, UnmountsUnderAnOpenFileOnlyWithoutPower) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can ask whether files are open";
  const int fd = Open(Seen("file"));
  const absl::Status busy = disk_->Unmount();
  EXPECT_EQ(busy.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(busy.message()), HasSubstr("a program still has files open"));
  EXPECT_EQ(Put(fd, "x"), 0);
  Cut();
  EXPECT_EQ(Put(fd, "x"), ENOTCONN);
  close(fd);
  Mount({});  // the mount point is free
  EXPECT_TRUE(disk_->Unmount().ok());
}

TEST_F(FaultFsTest, MapsFiles) {
  std::ofstream(Seen("file")) << "private mapping";
  const int fd = Open(Seen("file"));
  void* mapping = mmap(nullptr, 15, PROT_READ, MAP_PRIVATE, fd, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  EXPECT_EQ(std::string(static_cast<char*>(mapping), 15), "private mapping");
  munmap(mapping, 15);
  close(fd);

  Mount({.page_cache = true});
  const int shared = Open(Seen("file"));
  mapping = mmap(nullptr, 15, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  std::string("shared  mapping").copy(static_cast<char*>(mapping), 15);
  EXPECT_EQ(msync(mapping, 15, MS_SYNC), 0);
  munmap(mapping, 15);
  close(shared);
  Cut();
  EXPECT_EQ(Slurp(Stored("file")), "shared  mapping");
}

TEST_F(FaultFsTest, LetsOtherUsersKeepTheirFolders) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kUser = 65534;
  std::filesystem::create_directory(Seen("data"));
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chown(Seen("data").c_str(), kUser, kUser), 0);
  ASSERT_EQ(chmod(Seen("data").c_str(), 0700), 0);
  const std::string allowed = Seen("data/file"), refused = Seen("file");
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(kUser, kUser, kUser) != 0 || setresuid(kUser, kUser, kUser) != 0) _exit(1);
    const int fd = Open(allowed);
    if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) != 0) _exit(2);
    _exit(ErrorOf(Open(refused)) == EACCES ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Cut();
  struct stat found = {};
  ASSERT_EQ(stat(Stored("data/file").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, kUser);
  ASSERT_EQ(stat(Stored("data").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, kUser);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
}

// A writer of records, until the power is cut at a random call.
class TornTest : public FaultFsTest {
 protected:
  // How many records it was told are stored.
  uint64_t WriteUntilCut(bool synced) {
    const int fd = Open(Seen("records"));
    uint64_t written = 0;
    for (;; ++written) {
      const std::string text = RecordText(written);
      if (Put(fd, text) != 0 || (synced && fdatasync(fd) != 0)) break;
    }
    close(fd);
    return written;
  }

  // How many of the first `count` records are whole.
  uint64_t Whole(uint64_t count) {
    const std::string text = Slurp(Stored("records"));
    uint64_t whole = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const bool there = (i + 1) * kRecordBytes <= text.size();
      whole += there && text.substr(i * kRecordBytes, kRecordBytes) == RecordText(i);
    }
    return whole;
  }

  // The records lost over some cuts, each on a disk of its own.
  uint64_t Lost(bool synced) {
    const uint64_t seed = FaultSeed();
    std::mt19937_64 random(seed);
    uint64_t lost = 0;
    for (int round = 0; round < FaultRounds(20); ++round) {
      if (round > 0) Mount({});
      Fail({.op = "any",
            .nth = 1 + random() % 300,
            .cut = true,
            .survival = static_cast<Survival>(round % 3),
            .seed = random()});
      const uint64_t acknowledged = WriteUntilCut(synced);
      EXPECT_TRUE(disk_->Unmount().ok());
      const uint64_t whole = Whole(acknowledged);
      if (synced) {
        EXPECT_EQ(whole, acknowledged) << "round " << round << " of seed " << seed;
      }
      lost += acknowledged - whole;
      std::filesystem::remove_all(backing_);
    }
    return lost;
  }
};
TEST_F(TornTest, LosesNothingThatWasSynced) { EXPECT_EQ(Lost(true), 0u); }
TEST_F(TornTest, LosesWhatWasNotSynced) { EXPECT_GT(Lost(false), 0u); }

// Unsynced overwriting of a synced file: each sector is the old or the new one, and both kinds
// appear; the same seed leaves the same.
TEST_F(FaultFsTest, TearsOverwrittenPagesBySeed) {
  const std::string before(64 * FileContent::kPageBytes, 'a');
  const std::string after(64 * FileContent::kPageBytes, 'b');
  const auto left = [&](uint64_t seed) {
    std::filesystem::remove_all(backing_);
    Mount({});
    const int fd = Open(Seen("file"));
    EXPECT_EQ(Put(fd, before), 0);
    EXPECT_EQ(fsync(fd), 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(Put(fd, after), 0);
    close(fd);
    Cut(Survival::kTorn, seed);
    return Slurp(Stored("file"));
  };
  const std::string torn = left(1);
  EXPECT_EQ(torn, left(1));
  EXPECT_NE(torn, left(2));
  ASSERT_EQ(torn.size(), before.size());
  size_t changed = 0;
  for (size_t i = 0; i < torn.size(); i += FileContent::kSectorBytes) {
    const std::string sector = torn.substr(i, FileContent::kSectorBytes);
    EXPECT_EQ(sector, std::string(FileContent::kSectorBytes, sector[0]));
    changed += sector[0] == 'b';
  }
  EXPECT_GT(changed, 0u);
  EXPECT_LT(changed, torn.size() / FileContent::kSectorBytes);
}

}  // namespace
}  // namespace dpledger::testing
