// What a store must hold to be served, whose key signs it, and the files beside it.
#include "ledger_store/evidence/start_check.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/proof.h"
#include "registry/signing_key_file.h"
#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StartCheck : public SignedStore {
 protected:
  // The folder as it was at that moment, as a backup holds it.
  void Backup() {
    store_.reset();
    std::filesystem::copy(StoreFolder(), folder_.path() + "/backup",
                          std::filesystem::copy_options::recursive);
    OpenStore();
  }
  void Restore() {
    store_.reset();
    std::filesystem::remove_all(StoreFolder());
    std::filesystem::copy(folder_.path() + "/backup", StoreFolder(),
                          std::filesystem::copy_options::recursive);
    OpenStore();
  }
  absl::Status Open(const NotaryOptions& options) {
    return Notary::Open(options, *store_).status();
  }
};

TEST_F(StartCheck, StoreThatLostSignedEntriesIsRefused) {
  Create(kLedger);
  MustOpen(Options(), *store_);
  Backup();
  AppendNotes(kLedger, 10);
  MustOpen(Options(), *store_);
  Restore();
  const absl::Status refused = Open(Options());
  EXPECT_TRUE(
      IsError(refused, StatusCode::kDataLoss, "STORE_WENT_BACK",
              "its registry has 3 entries, the checkpoint in " + CheckpointPath() + " says 5"));
  EXPECT_TRUE(IsError(refused, StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "`dpledger-server recover --help`"));
  // By the copy before alone, too, when it says more.
  std::filesystem::rename(CheckpointPath(), CheckpointPath() + ".previous");
  EXPECT_TRUE(IsError(Open(Options()), StatusCode::kDataLoss, "STORE_WENT_BACK", "says 5"));
  // The control: nothing else in the folder could have told.
  std::filesystem::remove(CheckpointPath() + ".previous");
  EXPECT_EQ(Open(Options()), absl::OkStatus());
}

// Servers that started together on a new database took what the first of them had just published
// for damage.
TEST_F(StartCheck, RegistryThatBeginsBetweenTwoLooksIsNoDamage) {
  Tampering tampering;
  bool begun = false;
  tampering.checkpoint = [&](const std::string&, absl::StatusOr<v1::StoredCheckpoint>& seen) {
    if (begun) return;
    begun = true;
    EXPECT_TRUE(absl::IsNotFound(seen.status()));
    MustOpen(Options(), *store_);
  };
  TamperedStore store(*store_, &tampering);
  EXPECT_EQ(Notary::Open(Options(), store).status(), absl::OkStatus());
  // The control: entries whose checkpoint stays away.
  tampering.checkpoint = [](const std::string&, absl::StatusOr<v1::StoredCheckpoint>& seen) {
    seen = absl::NotFoundError("none");
  };
  EXPECT_TRUE(IsError(Notary::Open(Options(), store).status(), StatusCode::kDataLoss, "",
                      "the registry: it has entries but no checkpoint"));
}

TEST_F(StartCheck, EmptyStoreBesideACheckpointIsRefused) {
  MustOpen(Options(), *store_);
  store_.reset();
  std::filesystem::remove_all(StoreFolder());
  OpenStore();
  EXPECT_TRUE(IsError(Open(Options()), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "If the ledgers were removed on purpose, remove " + CheckpointPath()));
  EXPECT_THAT(*store_->checkpoints().ReadRegistry(0, 1), IsEmpty());
}

TEST_F(StartCheck, StoreWithAnotherHistoryIsRefused) {
  Create(kLedger);
  MustOpen(Options(), *store_);
  Backup();
  AppendNotes(kLedger, 1);
  MustOpen(Options(), *store_);
  Restore();
  AppendNotes(kLedger, 2);
  NotaryOptions elsewhere = Options();
  elsewhere.checkpoint_file += ".elsewhere";
  MustOpen(elsewhere, *store_);
  EXPECT_TRUE(IsError(Open(Options()), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "another root at size 5 than the checkpoint in"));
}

TEST_F(StartCheck, OneDamagedCopyIsMadeGoodByTheOther) {
  Create(kLedger);
  auto notary = MustOpen(Options(), *store_);
  AppendNotes(kLedger, 1);
  MustSign(*notary);
  for (const std::string& damaged : {CheckpointPath(), CheckpointPath() + ".previous"}) {
    const std::string good = *ReadFile(damaged);
    for (const std::string& bad :
         {std::string(), good.substr(0, good.size() / 2), "x" + good.substr(1)}) {
      ASSERT_EQ(WriteFileDurably(damaged, bad), absl::OkStatus());
      EXPECT_EQ(Open(Options()), absl::OkStatus());
    }
    ASSERT_EQ(WriteFileDurably(damaged, good), absl::OkStatus());
  }
  ASSERT_EQ(WriteFileDurably(CheckpointPath(), ""), absl::OkStatus());
  ASSERT_EQ(WriteFileDurably(CheckpointPath() + ".previous", "x"), absl::OkStatus());
  EXPECT_TRUE(IsError(Open(Options()), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      CheckpointPath() + ": no copy of the checkpoint in it verifies"));
}

TEST_F(StartCheck, CheckpointOfAnotherRegistryIsRefused) {
  MustOpen(Options(), *store_);
  store_.reset();
  std::filesystem::remove_all(StoreFolder());
  std::filesystem::rename(CheckpointPath(), CheckpointPath() + ".kept");
  OpenStore();
  MustOpen(Options('b'), *store_);
  std::filesystem::remove(CheckpointPath() + ".previous");
  std::filesystem::rename(CheckpointPath() + ".kept", CheckpointPath());
  EXPECT_TRUE(IsError(Open(Options('b')), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "belongs to another store"));
}

TEST_F(StartCheck, SecondPlaceFollowsEveryRoundAndKeepsTheLastTwo) {
  Create(kLedger);
  const auto notary = MustOpen(Options(), *store_);
  const CheckpointFile file(CheckpointPath());
  const std::string first = Latest(*notary, kRegistryLog).note;
  EXPECT_THAT(*file.Read(), ElementsAre(first));
  AppendNotes(kLedger, 1);
  MustSign(*notary);
  EXPECT_THAT(*file.Read(), ElementsAre(Latest(*notary, kRegistryLog).note, first));
}

TEST_F(StartCheck, NothingIsShownThatTheSecondPlaceDoesNotHold) {
  Create(kLedger);
  const auto notary = MustOpen(Options(), *store_);
  AppendNotes(kLedger, 1);
  // A folder that is not empty cannot be replaced by a file.
  std::filesystem::remove(CheckpointPath());
  std::filesystem::create_directories(CheckpointPath() + ".previous/x");
  std::filesystem::create_directories(CheckpointPath() + "/x");
  EXPECT_TRUE(IsError(notary->Sign().status(), StatusCode::kInternal, "CHECKPOINT_FILE_FAILED",
                      "the checkpoint's second place cannot be written: rename "));
  EXPECT_EQ(Latest(*notary, kRegistryLog).checkpoint.size, 3u);
  EXPECT_FALSE(notary->Latest(kLedger)->has_value());
}

TEST_F(StartCheck, KeyChangesOnlyBesideTheOneBefore) {
  Create(kLedger);
  MustOpen(Options('a'), *store_);
  EXPECT_TRUE(IsError(Open(Options('b')), StatusCode::kFailedPrecondition, "KEY_MISMATCH",
                      "give that file as --previous-signing-key beside the new --signing-key"));
  NotaryOptions rotating = Options('b');
  rotating.previous_key = KeyFromByte('c');
  EXPECT_TRUE(IsError(Open(rotating), StatusCode::kFailedPrecondition, "KEY_MISMATCH", ""));
  rotating.previous_key = KeyFromByte('a');
  const auto notary = MustOpen(rotating, *store_);

  const auto signers = [&](const std::string& log) {
    const merkle::Note note = *merkle::Note::Parse(Latest(*notary, log).note);
    std::vector<size_t> by;
    const auto verified = merkle::VerifyNote(note, notary->registry()->keys);
    EXPECT_TRUE(verified.ok()) << verified.status();
    if (!verified.ok()) return by;
    for (const merkle::VerifiedSignature& signature : *verified) {
      by.push_back(signature.key);
    }
    return by;
  };
  ASSERT_THAT(notary->registry()->keys, SizeIs(2));
  EXPECT_EQ(notary->registry()->keys[1].public_key, KeyFromByte('b')->public_key());
  EXPECT_EQ(notary->registry()->keys[1].name, DefaultOrigin(KeyFromByte('a')->public_key()));
  EXPECT_EQ(Latest(*notary, kRegistryLog).checkpoint.size, 5u);
  EXPECT_THAT(signers(kRegistryLog), ElementsAre(0, 1));
  EXPECT_THAT(signers(kLedger), ElementsAre(0));  // not signed since: still good
  AppendNotes(kLedger, 1);
  MustSign(*notary);
  EXPECT_THAT(signers(kRegistryLog), ElementsAre(1));
  EXPECT_THAT(signers(kLedger), ElementsAre(1));

  EXPECT_EQ(Open(Options('b')), absl::OkStatus());
  EXPECT_TRUE(IsError(Open(Options('a')), StatusCode::kFailedPrecondition, "KEY_MISMATCH",
                      "does not sign any more"));
  NotaryOptions back = Options('a');
  back.previous_key = KeyFromByte('b');
  EXPECT_TRUE(IsError(Open(back), StatusCode::kFailedPrecondition, "KEY_MISMATCH",
                      "does not sign any more"));
}

TEST_F(StartCheck, NotaryWhoseKeyWasReplacedSignsNoMore) {
  Create(kLedger);
  const auto old = MustOpen(Options('a'), *store_);
  NotaryOptions rotating = Options('b');
  rotating.previous_key = KeyFromByte('a');
  MustOpen(rotating, *store_);
  AppendNotes(kLedger, 1);
  EXPECT_TRUE(IsError(old->Sign().status(), StatusCode::kFailedPrecondition, "KEY_MISMATCH",
                      "does not sign any more"));
}

TEST_F(StartCheck, OriginIsKept) {
  NotaryOptions options = Options();
  for (const std::string& bad : {std::string("a b"), std::string("a+b"), std::string("a\nb"),
                                 std::string("\xff"), std::string(257, 'a')}) {
    options.origin = bad;
    EXPECT_TRUE(IsError(Open(options), StatusCode::kInvalidArgument, "INVALID_FIELD",
                        "log_origin: must be UTF-8 of at most 256 bytes without spaces"));
  }
  options.origin = "ledgers.example/eu";
  EXPECT_EQ(Latest(*MustOpen(options, *store_), kRegistryLog).checkpoint.origin, options.origin);
  EXPECT_EQ(Open(options), absl::OkStatus());
  EXPECT_EQ(Latest(*MustOpen(Options(), *store_), kRegistryLog).checkpoint.origin, options.origin);
  options.origin = "ledgers.example/us";
  EXPECT_TRUE(IsError(Open(options), StatusCode::kFailedPrecondition, "ORIGIN_MISMATCH",
                      "is signed as ledgers.example/eu, and that name cannot change"));
}

class KeyFile : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/key"; }
  TempFolder folder_;
};

TEST_F(KeyFile, IsMadeForItsOwnerAloneAndReadBack) {
  EXPECT_TRUE(absl::IsNotFound(ReadSigningKey(path()).status()));
  const auto made = MakeSigningKey(path());
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat status;
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, mode_t{0600});
  EXPECT_EQ(ReadSigningKey(path())->public_key(), made->public_key());
  EXPECT_EQ(MakeSigningKey(path())->public_key(), made->public_key());
  EXPECT_EQ(ReadSigningKey(path())->public_key(), made->public_key());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

// Processes that start together each made a key of their own and kept it in memory, while the file
// held one: 3 of 25 first starts of three servers lost ledgers that they had acknowledged.
TEST_F(KeyFile, OfProcessesThatStartTogetherIsOne) {
  constexpr int kProcesses = 8, kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const std::string file = absl::StrCat(path(), i);
    int start[2], keys[2];
    ASSERT_EQ(::pipe(start), 0);
    ASSERT_EQ(::pipe(keys), 0);
    for (int p = 0; p < kProcesses; ++p) {
      if (::fork() != 0) continue;
      char go;
      ::close(start[1]);
      (void)!::read(start[0], &go, 1);  // until all are there
      const auto key = MakeSigningKey(file);
      const std::string kept =
          key.ok() ? merkle::ToBytes(key->public_key()) : std::string(merkle::kHashBytes, '\0');
      (void)!::write(keys[1], kept.data(), kept.size());
      ::_exit(0);
    }
    ::close(start[0]);
    ::close(start[1]);
    ::close(keys[1]);
    std::string all;
    char part[4096];
    for (ssize_t n; (n = ::read(keys[0], part, sizeof(part))) > 0;) all.append(part, n);
    ::close(keys[0]);
    for (int p = 0; p < kProcesses; ++p) ::wait(nullptr);
    const std::string one = merkle::ToBytes(ReadSigningKey(file)->public_key());
    std::string expected;
    for (int p = 0; p < kProcesses; ++p) expected += one;
    ASSERT_EQ(all, expected) << "try " << i;
  }
}

TEST_F(KeyFile, ThatOthersMayUseIsRefused) {
  ASSERT_TRUE(MakeSigningKey(path()).ok());
  for (const mode_t mode : {0640, 0604, 0620, 0601, 0660, 0644}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_TRUE(IsError(ReadSigningKey(path()).status(), StatusCode::kFailedPrecondition,
                        "KEY_FILE_EXPOSED", "group or others may use the secret"));
  }
  ASSERT_EQ(::chmod(path().c_str(), 0400), 0);
  EXPECT_TRUE(ReadSigningKey(path()).ok());
}

// A bundle holds every key that there was: one more than it takes, and no ledger could be taken
// away any more.
TEST_F(StartCheck, NoMoreKeysThanABundleTakes) {
  Create(kLedger);
  NotaryOptions options = Options();
  options.checkpoint_file.clear();  // writing it is most of what this would cost
  for (int i = 0; i < 256; ++i) {
    options.key = KeyFromByte(static_cast<char>(i));
    ASSERT_NE(MustOpen(options, *store_), nullptr) << i;
    options.previous_key = options.key;
  }
  options.key =
      std::make_shared<const merkle::Ed25519PrivateKey>(*merkle::Ed25519PrivateKey::Generate());
  EXPECT_TRUE(IsError(Notary::Open(options, *store_).status(), StatusCode::kResourceExhausted,
                      "TOO_MANY_KEYS", "has had 256 keys"));
  options.key = options.previous_key;
  EXPECT_NE(MustOpen(options, *store_), nullptr);
}

// As Kubernetes (fsGroup) and systemd (LoadCredential) put secrets in place for a user's process.
TEST_F(KeyFile, MayBeReadByAGroupOfOnesOwn) {
  constexpr uid_t kUser = 7070;
  constexpr gid_t kOtherGroup = 7071;
  ASSERT_TRUE(MakeSigningKey(path()).ok());
  struct Case {
    uid_t owner;
    gid_t group;
    mode_t mode;
    bool taken;
  };
  for (const Case& one :
       {Case{0, kUser, 0440, true}, Case{0, kUser, 0640, true}, Case{0, kUser, 0460, false},
        Case{0, kUser, 0444, false}, Case{kUser, kUser, 0600, true}, Case{kUser, kUser, 0660, true},
        Case{kUser, kOtherGroup, 0640, false}, Case{kUser, kUser, 0664, false}}) {
    if (::chown(path().c_str(), one.owner, one.group) != 0) {
      GTEST_SKIP() << "only root can give files away";
    }
    ASSERT_EQ(::chmod(path().c_str(), one.mode), 0);
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(kUser) != 0 || ::setuid(kUser) != 0) ::_exit(2);
      ::_exit(ReadSigningKey(path()).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), one.taken ? 0 : 1)
        << one.owner << ":" << one.group << " " << std::oct << one.mode;
  }
}

// Whoever owns a file can read it, whatever its mode is for others.
TEST_F(KeyFile, OfAnotherUserIsRefused) {
  ASSERT_TRUE(MakeSigningKey(path()).ok());
  constexpr uid_t kNobody = 65534;
  if (::chown(path().c_str(), kNobody, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  EXPECT_TRUE(IsError(ReadSigningKey(path()).status(), StatusCode::kFailedPrecondition,
                      "KEY_FILE_EXPOSED", "belongs to another user"));
  ASSERT_EQ(::chown(path().c_str(), ::geteuid(), static_cast<gid_t>(-1)), 0);
  EXPECT_TRUE(ReadSigningKey(path()).ok());
}

TEST_F(KeyFile, MustBeAFileWithAKey) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_TRUE(IsError(ReadSigningKey(path()).status(), StatusCode::kFailedPrecondition,
                      "KEY_FILE_EXPOSED", "must be in a regular file"));
  ASSERT_EQ(::unlink(path().c_str()), 0);
  ASSERT_TRUE(std::filesystem::create_directory(path()));
  EXPECT_TRUE(IsError(ReadSigningKey(path()).status(), StatusCode::kFailedPrecondition,
                      "KEY_FILE_EXPOSED", "must be in a regular file"));
  std::filesystem::remove(path());
  for (const std::string& content :
       {std::string(), std::string("secret words"), std::string(10'000, 'A')}) {
    ASSERT_EQ(WriteFileDurably(path(), content), absl::OkStatus());
    ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
    const absl::Status refused = ReadSigningKey(path()).status();
    EXPECT_TRUE(IsError(refused, StatusCode::kInvalidArgument, "",
                        path() + ": must hold one Ed25519 private key as PEM"));
    EXPECT_EQ(refused.message().find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace dpledger
