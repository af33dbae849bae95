// `dpledger-server backup` beside a server that trainers write to, and `restore`, as users run
// them.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "server/snapshot_door.h"
#include "tests/cli/process.h"
#include "tests/ledger_store/requests.h"
#include "tests/support/await_that.h"

namespace dpledger::server {
namespace {

namespace fs = std::filesystem;
using dpledger::testing::AwaitFirstLine;
using dpledger::testing::BinaryPath;
using dpledger::testing::RunProgram;
using dpledger::testing::RunResult;
using dpledger::testing::StartProgram;
using dpledger::testing::StopProgram;
using dpledger::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Receipts = std::map<std::string, v1::Receipt>;  // by request id

class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(v1::LedgerService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}
  void Create(const std::string& ledger) {
    grpc::ClientContext context;
    v1::Ledger made;
    ASSERT_TRUE(stub_->CreateLedger(&context, CreateRequest(ledger, "create"), &made).ok());
  }
  // The n-th round of a writer; the id is made of both, so that it can be asked for again.
  grpc::Status Append(const std::string& ledger, int writer, int n,
                      v1::AppendBatchResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return stub_->AppendBatch(
        &context,
        RoundBatch(ledger, absl::StrCat("w", writer), absl::StrCat("w", writer, "-", n),
                   static_cast<uint64_t>(n)),
        response);
  }

 private:
  const std::unique_ptr<v1::LedgerService::Stub> stub_;
};

// Writers that append one round after the other until they are stopped.
class Load {
 public:
  Load(const std::string& address, std::string ledger, int writers) : ledger_(std::move(ledger)) {
    for (int writer = 0; writer < writers; ++writer) {
      threads_.emplace_back([this, address, writer] { Write(Client(address), writer); });
    }
  }
  ~Load() { Stop(); }
  void Stop() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void Await(size_t more) const {
    for (const size_t wanted = count_ + more; count_ < wanted;) {
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  Receipts receipts() const {
    absl::MutexLock lock(&mutex_);
    return receipts_;
  }
  // The 99th percentile of the appends since the last call, in milliseconds.
  double TakeSlowest() {
    absl::MutexLock lock(&mutex_);
    std::vector<double> took = std::exchange(milliseconds_, {});
    if (took.empty()) return 0;
    std::sort(took.begin(), took.end());
    return took[took.size() * 99 / 100];
  }

 private:
  void Write(Client client, int writer) {
    for (int n = 1; !stopping_; ++n) {
      v1::AppendBatchResponse response;
      const absl::Time begun = absl::Now();
      const grpc::Status status = client.Append(ledger_, writer, n, &response);
      if (!status.ok()) {
        ADD_FAILURE() << status.error_message();
        return;
      }
      absl::MutexLock lock(&mutex_);
      milliseconds_.push_back(absl::ToDoubleMilliseconds(absl::Now() - begun));
      receipts_[absl::StrCat("w", writer, "-", n)] = response.receipt();
      ++count_;
    }
  }

  const std::string ledger_;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> count_ = 0;
  mutable absl::Mutex mutex_;
  Receipts receipts_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> milliseconds_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

class BackupCommand : public ::testing::Test {
 protected:
  ~BackupCommand() override {
    if (pid_ > 0) StopProgram(pid_, SIGKILL);
  }
  // Starts a server on the store of that name; its address.
  std::string Start(const std::string& store) {
    fs::remove(File("port"));
    pid_ = StartProgram({BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file",
                         File("port"), "--store", File(store), "--checkpoint-seconds", "0.2"},
                        File("log"));
    return AwaitFirstLine(pid_, File("port"), File("log"));
  }
  void Stop(int signal = SIGTERM) { StopProgram(std::exchange(pid_, 0), signal); }
  static RunResult Server(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("dpledger-server"));
    return RunProgram(arguments);
  }
  std::string File(const std::string& name) const { return folder_.File(name); }
  void Copy(const std::string& from, const std::string& to) {
    fs::copy_file(File(from), File(to), fs::copy_options::overwrite_existing);
  }

  const TemporaryFolder folder_;
  pid_t pid_ = 0;
};

TEST_F(BackupCommand, OfAServerUnderLoadHoldsAllThatWasAcknowledged) {
  const std::string address = Start("store");
  Client(address).Create(kLedger);
  Load load(address, kLedger, 8);
  load.Await(500);
  load.TakeSlowest();
  load.Await(1000);
  const double quiet = load.TakeSlowest();

  // The second place of this moment: nothing that it tells of is missing from a backup that begins
  // now.
  testing::AwaitThat([&] { return fs::exists(File("store.checkpoint")); });
  Copy("store.checkpoint", "restored.checkpoint");
  const Receipts before = load.receipts();
  load.TakeSlowest();
  const RunResult made = Server({"backup", "--store", File("store"), "--to", File("backup")});
  const double meanwhile = load.TakeSlowest();
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("of a server that runs"));
  load.Await(500);
  absl::SleepFor(absl::Milliseconds(500));  // more is signed
  load.Stop();
  std::cout << "append p99: quiet " << quiet << " ms, during the backup " << meanwhile << " ms\n";
  Stop();
  EXPECT_FALSE(fs::exists(SnapshotFolder(File("store"))));

  const RunResult restored =
      Server({"restore", "--from", File("backup"), "--store", File("restored")});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  const RunResult fsck = Server({"fsck", "--store", File("restored")});
  EXPECT_EQ(fsck.exit_code, 0) << fsck.out;
  EXPECT_THAT(fsck.out, HasSubstr("clean"));
  EXPECT_EQ(fsck.out.find("note: there is no"), std::string::npos) << fsck.out;

  // With the second place as it is now, the start is refused: the store has gone back.
  Copy("restored.checkpoint", "kept.checkpoint");
  Copy("store.checkpoint", "restored.checkpoint");
  Copy("store.signing-key", "restored.signing-key");
  const RunResult refused = Server({"--listen", "127.0.0.1:0", "--store", File("restored")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("less than"));
  Copy("kept.checkpoint", "restored.checkpoint");
  fs::remove(File("restored.checkpoint.previous"));

  // Every request that was acknowledged gets the same receipt again.
  Client again(Start("restored"));
  size_t checked = 0;
  for (const auto& [id, receipt] : before) {
    const size_t dash = id.find('-');
    v1::AppendBatchResponse got;
    const grpc::Status status = again.Append(kLedger, std::stoi(id.substr(1, dash - 1)),
                                             std::stoi(id.substr(dash + 1)), &got);
    ASSERT_TRUE(status.ok()) << id << status.error_message();
    ASSERT_EQ(got.receipt().SerializeAsString(), receipt.SerializeAsString()) << id;
    ++checked;
  }
  EXPECT_GE(checked, 1500u);
}

TEST_F(BackupCommand, OfAStoreAtRestIsOneToo) {
  const std::string address = Start("store");
  Client(address).Create(kLedger);
  Stop();
  const RunResult made = Server({"backup", "--store", File("store"), "--to", File("backup")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out.find("of a server that runs"), std::string::npos);
  EXPECT_EQ(Server({"fsck", "--store", File("backup") + "/store"}).exit_code, 0);
}

TEST_F(BackupCommand, SaysWhatIsWrong) {
  const RunResult none = Server({"backup", "--store", File("none"), "--to", File("backup")});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("none"));
  EXPECT_EQ(Server({"backup", "--store", File("none")}).exit_code, 2);
  const RunResult postgres = Server({"backup", "--postgres", "x", "--to", File("backup")});
  EXPECT_EQ(postgres.exit_code, 2);
  EXPECT_THAT(postgres.err, HasSubstr("pg_basebackup"));
  Start("store");
  fs::create_directory(File("taken"));
  const RunResult taken = Server({"backup", "--store", File("store"), "--to", File("taken")});
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_THAT(taken.err, HasSubstr("is there already"));
  // Its socket is gone, and it still has the store.
  fs::remove(SnapshotSocket(File("store")));
  const RunResult mute = Server({"backup", "--store", File("store"), "--to", File("backup")});
  EXPECT_EQ(mute.exit_code, 1);
  EXPECT_THAT(mute.err, AllOf(HasSubstr("a server has this store open"), HasSubstr(".control")));
  EXPECT_FALSE(fs::exists(File("backup")));
}

void AwaitGone(const std::string& path) {
  for (int i = 0; i < 1000 && fs::exists(path); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(BackupCommand, SnapshotGoesWithTheProgramThatAskedForIt) {
  Start("store");
  const std::string folder = SnapshotFolder(File("store"));
  auto lease = SnapshotLease::Take(File("store"));
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE((*lease)->held());
  EXPECT_TRUE(fs::exists(folder + "/CURRENT"));
  const RunResult second = Server({"backup", "--store", File("store"), "--to", File("backup")});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another backup is being made"));
  lease->reset();
  AwaitGone(folder);

  // A server that is killed meanwhile leaves it to the next one.
  lease = SnapshotLease::Take(File("store"));
  ASSERT_TRUE(lease.ok()) << lease.status();
  Stop(SIGKILL);
  EXPECT_FALSE((*lease)->held());
  EXPECT_TRUE(fs::exists(folder));
  Start("store");
  EXPECT_FALSE(fs::exists(folder));
  // One that is told to stop waits for nobody.
  lease = SnapshotLease::Take(File("store"));
  ASSERT_TRUE(lease.ok()) << lease.status();
  Stop();
  EXPECT_FALSE((*lease)->held());
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_FALSE(fs::exists(SnapshotSocket(File("store"))));
}

TEST_F(BackupCommand, SocketIsTheOwnersAlone) {
  Start("store");
  EXPECT_EQ(fs::status(SnapshotSocket(File("store"))).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// A path of a socket has 108 bytes; a store's may have more.
TEST_F(BackupCommand, StoreMayHaveALongPath) {
  const std::string deep = absl::StrCat(std::string(60, 'd'), "/", std::string(60, 'e'));
  fs::create_directories(File(deep));
  Start(deep + "/store");
  const RunResult made = Server({"backup", "--store", File(deep + "/store"), "--to", File("b")});
  EXPECT_EQ(made.exit_code, 0) << made.err;
}

TEST_F(BackupCommand, InterruptedOneLeavesNothing) {
  const std::string address = Start("store");
  Client(address).Create(kLedger);
  // Ended at any moment it leaves a whole backup or none.
  for (int i = 0; i < 10; ++i) {
    const std::string to = File(absl::StrCat("backup", i));
    const pid_t backup = StartProgram(
        {BinaryPath("dpledger-server"), "backup", "--store", File("store"), "--to", to},
        File("backup.log"));
    absl::SleepFor(absl::Milliseconds(3 * i));
    StopProgram(backup, SIGINT);
    EXPECT_FALSE(fs::exists(to + ".partial"));
    if (fs::exists(to)) {
      EXPECT_EQ(Server({"fsck", "--store", to + "/store"}).exit_code, 0);
    }
    AwaitGone(SnapshotFolder(File("store")));
  }
}

}  // namespace
}  // namespace dpledger::server
