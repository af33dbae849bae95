// The spool alone: what it keeps over restarts, crashes, damage and a failing disk.
#include "client/spool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "tests/cli/process.h"
#include "tests/support/descriptors.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ReplaceDescriptor;
using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr char kLedger[] = "projects/default/ledgers/adult";
constexpr char kWriter[] = "trainer";

Spool::Options OptionsFor(const TemporaryFolder& folder) {
  return {.folder = folder.path(), .ledger = kLedger, .writer = kWriter};
}

// Round `round`: a sampling event and a sum query under request id "request-<round>".
v1::AppendBatchRequest Batch(uint64_t round) {
  v1::AppendBatchRequest batch;
  batch.set_ledger(kLedger);
  batch.set_writer(kWriter);
  batch.set_request_id(absl::StrCat("request-", round));
  v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
  sampling.set_round(round);
  sampling.mutable_scheme()->mutable_poisson()->set_probability(0.01);
  v1::SumQueryEvent& query = *batch.add_entries()->mutable_event()->mutable_sum_query();
  query.set_round(round);
  query.mutable_query()->set_l2_norm_bound(1);
  query.mutable_query()->set_noise_stddev(1.5);
  return batch;
}

std::unique_ptr<Spool> OpenOrDie(const Spool::Options& options) {
  auto spool = Spool::Open(options);
  EXPECT_TRUE(spool.ok()) << spool.status();
  return spool.ok() ? *std::move(spool) : nullptr;
}

void AppendRounds(Spool& spool, uint64_t first, uint64_t end) {
  for (uint64_t round = first; round < end; ++round) {
    ASSERT_EQ(spool.Append(Batch(round)).status(), absl::OkStatus());
  }
}

// The spool holds exactly the batches of rounds [first, end), at the positions of the same numbers.
void ExpectHolds(Spool& spool, uint64_t first, uint64_t end) {
  EXPECT_EQ(spool.state().acknowledged, first);
  ASSERT_EQ(spool.state().end, end);
  for (uint64_t round = first; round < end; ++round) {
    const auto batch = spool.Read(round);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->SerializeAsString(), Batch(round).SerializeAsString());
  }
}

std::string PathIn(const TemporaryFolder& folder) {
  return folder.File("default~adult~trainer.spool");
}

// A spool file with `rounds` batches, and where each of its records ends.
struct Sample {
  std::string bytes;
  std::vector<size_t> ends;
};
Sample MakeSample(uint64_t rounds) {
  const TemporaryFolder folder;
  Sample sample;
  const auto spool = OpenOrDie(OptionsFor(folder));
  sample.ends.push_back(std::filesystem::file_size(spool->path()));
  for (uint64_t round = 0; round < rounds; ++round) {
    AppendRounds(*spool, round, round + 1);
    sample.ends.push_back(std::filesystem::file_size(spool->path()));
  }
  sample.bytes = *ReadFile(spool->path());
  return sample;
}

absl::StatusOr<std::unique_ptr<Spool>> OpenBytes(const TemporaryFolder& folder,
                                                 const std::string& bytes) {
  std::ofstream(PathIn(folder), std::ios::binary | std::ios::trunc) << bytes;
  return Spool::Open(OptionsFor(folder));
}

TEST(Spool, KeepsBatchesInOrderOverReopening) {
  const TemporaryFolder folder;
  AppendRounds(*OpenOrDie(OptionsFor(folder)), 0, 3);
  AppendRounds(*OpenOrDie(OptionsFor(folder)), 3, 5);
  const auto spool = OpenOrDie(OptionsFor(folder));
  ExpectHolds(*spool, 0, 5);
  EXPECT_EQ(spool->path(), PathIn(folder));
  EXPECT_EQ(spool->state().entries, 10u);
  EXPECT_EQ(spool->state().next_round, 5u);
}

TEST(Spool, ForgetsAcknowledgedBatchesAndKeepsTheirNumbers) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    AppendRounds(*spool, 0, 5);
    ASSERT_EQ(spool->Acknowledge(3), absl::OkStatus());
    ASSERT_EQ(spool->Acknowledge(2), absl::OkStatus());  // an old one changes nothing
    ExpectHolds(*spool, 3, 5);
  }
  const auto spool = OpenOrDie(OptionsFor(folder));
  ExpectHolds(*spool, 3, 5);
  EXPECT_EQ(spool->state().entries, 10u);
  EXPECT_EQ(spool->state().acknowledged_entries, 6u);
  EXPECT_EQ(spool->Read(2).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(spool->Read(5).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(spool->Acknowledge(6).code(), absl::StatusCode::kOutOfRange);
}

internal::AcknowledgedTree TreeOfSize(uint64_t size, uint8_t root) {
  internal::AcknowledgedTree tree{size, {}};
  tree.root.fill(root);
  return tree;
}

TEST(Spool, KeepsTheLargestReceipt) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    EXPECT_EQ(spool->state().receipt.size, 0u);
    AppendRounds(*spool, 0, 5);
    ASSERT_EQ(spool->Acknowledge(1, TreeOfSize(3, 'a')), absl::OkStatus());
    ASSERT_EQ(spool->Acknowledge(3, TreeOfSize(9, 'b')), absl::OkStatus());
    ASSERT_EQ(spool->Acknowledge(4, TreeOfSize(5, 'c')), absl::OkStatus());  // of a repetition
    ASSERT_EQ(spool->Acknowledge(4), absl::OkStatus());
    EXPECT_EQ(spool->state().receipt, TreeOfSize(9, 'b'));
    const absl::Status other = spool->Acknowledge(5, TreeOfSize(9, 'x'));
    EXPECT_EQ(other.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(other.message()), HasSubstr("two different histories of 9 entries"));
    EXPECT_EQ(spool->state().acknowledged, 4u);
  }
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    EXPECT_EQ(spool->state().receipt, TreeOfSize(9, 'b'));
    // A receipt alone, once everything is acknowledged.
    ASSERT_EQ(spool->Acknowledge(5), absl::OkStatus());
    ASSERT_EQ(spool->Acknowledge(5, TreeOfSize(12, 'd')), absl::OkStatus());
  }
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    EXPECT_EQ(spool->state().receipt, TreeOfSize(12, 'd'));
    ASSERT_EQ(spool->Confirm(10, 5), absl::OkStatus());  // writes the file anew
  }
  EXPECT_EQ(OpenOrDie(OptionsFor(folder))->state().receipt, TreeOfSize(12, 'd'));
}

TEST(SpoolFormat, ReadsWhatWasWrittenWithoutReceipts) {
  const std::string position("\x05\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(internal::EncodeAcknowledgement({5, {}}), position);
  EXPECT_EQ(internal::DecodeAcknowledgement(position)->position, 5u);
  EXPECT_EQ(internal::DecodeAcknowledgement(position)->receipt.size, 0u);
  const std::string receipt =
      absl::StrCat(std::string("\x09\0\0\0\0\0\0\0", 8), std::string(32, 'b'));
  EXPECT_EQ(internal::EncodeAcknowledgement({5, TreeOfSize(9, 'b')}),
            absl::StrCat(position, receipt));
  EXPECT_EQ(internal::DecodeAcknowledgement(absl::StrCat(position, receipt))->receipt,
            TreeOfSize(9, 'b'));
  internal::SpoolHeader header{.first_position = 5, .ledger = kLedger, .writer = kWriter};
  const std::string without = internal::EncodeHeader(header);
  EXPECT_EQ(internal::DecodeHeader(without)->receipt.size, 0u);
  header.receipt = TreeOfSize(9, 'b');
  EXPECT_EQ(internal::EncodeHeader(header), absl::StrCat(without, receipt));
  EXPECT_EQ(internal::DecodeHeader(absl::StrCat(without, receipt))->receipt, TreeOfSize(9, 'b'));
  // A part of a receipt, more than one, or one of nothing.
  for (size_t length = 1; length < receipt.size(); ++length) {
    EXPECT_FALSE(
        internal::DecodeAcknowledgement(absl::StrCat(position, receipt.substr(0, length))));
    EXPECT_FALSE(internal::DecodeHeader(absl::StrCat(without, receipt.substr(0, length))));
  }
  EXPECT_FALSE(internal::DecodeAcknowledgement(absl::StrCat(position, receipt, "x")));
  EXPECT_FALSE(internal::DecodeHeader(absl::StrCat(without, receipt, "x")));
  EXPECT_FALSE(internal::DecodeAcknowledgement(absl::StrCat(position, std::string(40, '\0'))));
}

TEST(Spool, RefusesABatchOfAnotherWriter) {
  const TemporaryFolder folder;
  const auto spool = OpenOrDie(OptionsFor(folder));
  v1::AppendBatchRequest batch = Batch(0);
  batch.set_writer("another");
  const absl::Status status = spool->Append(batch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another"));
  ExpectHolds(*spool, 0, 0);
}

// Such a batch could be stored, and every later Open would have to call it damaged.
TEST(Spool, RefusesWhatItCouldNotReadBack) {
  const TemporaryFolder folder;
  const auto spool = OpenOrDie(OptionsFor(folder));
  v1::AppendBatchRequest batch = Batch(0);
  batch.mutable_entries(1)->mutable_event()->mutable_sum_query()->mutable_query()->set_group(
      "\xff");
  const absl::Status status = spool->Append(batch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not UTF-8"));
  ExpectHolds(*spool, 0, 0);
}

TEST(Spool, CutsATailTornAtAnyByte) {
  const Sample sample = MakeSample(2);
  const TemporaryFolder folder;
  for (size_t size = sample.ends[0]; size < sample.bytes.size(); ++size) {
    const auto spool = OpenBytes(folder, sample.bytes.substr(0, size));
    ASSERT_TRUE(spool.ok()) << size << ": " << spool.status();
    const uint64_t whole = size >= sample.ends[1] ? 1 : 0;
    ExpectHolds(**spool, 0, whole);
    EXPECT_EQ(std::filesystem::file_size(PathIn(folder)), sample.ends[whole]);
  }
}

TEST(Spool, GoesOnAfterACutTail) {
  const Sample sample = MakeSample(3);
  const TemporaryFolder folder;
  {
    auto spool = OpenBytes(folder, sample.bytes.substr(0, sample.bytes.size() - 1));
    ASSERT_TRUE(spool.ok()) << spool.status();
    AppendRounds(**spool, 2, 4);
  }
  ExpectHolds(*OpenOrDie(OptionsFor(folder)), 0, 4);
}

// After a loss of power a file can be as long as it was meant to be, with zeros for sectors that
// did not arrive.
TEST(Spool, CutsSectorsThatNeverArrived) {
  const Sample sample = MakeSample(6);
  const TemporaryFolder folder;
  const size_t last = sample.ends[5];
  for (size_t boundary = (last + 511) / 512 * 512; boundary < sample.bytes.size();
       boundary += 512) {
    std::string bytes = sample.bytes;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(boundary), bytes.end(), '\0');
    auto spool = OpenBytes(folder, bytes);
    ASSERT_TRUE(spool.ok()) << boundary << ": " << spool.status();
    ExpectHolds(**spool, 0, 5);
  }
  std::string bytes = sample.bytes;
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(last), bytes.end(), '\0');
  auto spool = OpenBytes(folder, bytes);
  ASSERT_TRUE(spool.ok()) << spool.status();
  ExpectHolds(**spool, 0, 5);
}

// Zeros at the end explain a record that reaches into them, and none before it: that one was
// synced.
TEST(Spool, NoticesDamageInFrontOfSectorsThatNeverArrived) {
  const Sample sample = MakeSample(4);
  const TemporaryFolder folder;
  const std::string bytes = sample.bytes + std::string(1536, '\0');
  {
    const auto whole = OpenBytes(folder, bytes);  // the control
    ASSERT_TRUE(whole.ok()) << whole.status();
    ExpectHolds(**whole, 0, 4);
  }
  for (const size_t record : {size_t{0}, sample.ends[0], sample.ends[2]}) {
    for (const size_t within : {1, 20}) {  // in its head; in what it holds
      std::string damaged = bytes;
      damaged[record + within] ^= 1;
      const absl::Status status = OpenBytes(folder, damaged).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << record << " + " << within;
    }
  }
}

// What cannot be read is not the file's end: a tail is cut there.
TEST(Spool, DoesNotTakeAnErrorOfTheDiskForTheEnd) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/proc/self/mem", PathIn(folder));  // nothing is mapped at 0
  const absl::Status status = Spool::Open(OptionsFor(folder)).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("read ", PathIn(folder), ": Input/output error")));
}

TEST(Spool, NoticesEveryFlippedBitAndSaysWhere) {
  const Sample sample = MakeSample(3);
  const TemporaryFolder folder;
  std::ofstream(PathIn(folder), std::ios::binary) << sample.bytes;
  std::fstream file(PathIn(folder), std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](size_t offset, char byte) {
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte).flush();
  };
  for (size_t i = 0; i < 8 * sample.bytes.size(); ++i) {
    put(i / 8, static_cast<char>(sample.bytes[i / 8] ^ (1 << (i % 8))));
    const auto spool = Spool::Open(OptionsFor(folder));
    put(i / 8, sample.bytes[i / 8]);
    ASSERT_EQ(spool.status().code(), absl::StatusCode::kDataLoss) << "bit " << i;
    size_t record = 0;
    for (const size_t end : sample.ends) record = i / 8 >= end ? end : record;
    ASSERT_THAT(std::string(spool.status().message()),
                HasSubstr(absl::StrCat(PathIn(folder), ": damaged at offset ", record, ":")));
  }
}

TEST(Spool, NoticesALostOrRepeatedRecord) {
  const Sample sample = MakeSample(3);
  const TemporaryFolder folder;
  const std::string first = sample.bytes.substr(0, sample.ends[1]);
  const std::string last = sample.bytes.substr(sample.ends[2]);
  EXPECT_EQ(OpenBytes(folder, first + last).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenBytes(folder, sample.bytes + last).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Spool, RefusesTheFileOfAnotherLedger) {
  const TemporaryFolder folder;
  const Sample sample = MakeSample(1);
  std::ofstream(folder.File("default~other~trainer.spool"), std::ios::binary) << sample.bytes;
  Spool::Options options = OptionsFor(folder);
  options.ledger = "projects/default/ledgers/other";
  EXPECT_EQ(Spool::Open(options).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Spool, IsHeldByOneProcess) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    const pid_t child = fork();
    if (child == 0) {
      const auto second = Spool::Open(OptionsFor(folder));
      _exit(second.status().code() == absl::StatusCode::kFailedPrecondition &&
                    absl::StrContains(second.status().message(), "another recorder")
                ? 0
                : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a second process opened the spool";
    EXPECT_EQ(Spool::Open(OptionsFor(folder)).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(Spool::Open(OptionsFor(folder)).ok());
}

// A worker that was forked while the spool was open, and lives on, has its descriptors.
TEST(Spool, IsFreeForTheNextWhileAForkedWorkerLives) {
  const TemporaryFolder folder;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  auto spool = OpenOrDie(OptionsFor(folder));
  const pid_t worker = fork();
  if (worker == 0) {
    close(pipes[1]);
    spool.reset();  // which frees it for nobody
    char end;
    _exit(read(pipes[0], &end, 1) == 0 ? 0 : 1);
  }
  const auto held = Spool::Open(OptionsFor(folder));
  spool.reset();
  const auto next = Spool::Open(OptionsFor(folder));
  close(pipes[1]);
  close(pipes[0]);
  int status = 0;
  ASSERT_EQ(waitpid(worker, &status, 0), worker);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(held.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(next.ok()) << next.status();
}

// Appends rounds for ever and tells each one's number through `pipe` once Append said that it is
// durable.
[[noreturn]] void WriteUntilKilled(const Spool::Options& options, int pipe) {
  auto spool = Spool::Open(options);
  if (!spool.ok()) _exit(1);
  for (uint64_t round = (*spool)->state().next_round;; ++round) {
    if (!(*spool)->Append(Batch(round)).ok()) _exit(2);
    if (round % 2 == 0 && !(*spool)->Sync().ok()) _exit(2);
    if (write(pipe, &round, sizeof(round)) != sizeof(round)) _exit(3);
    if (round % 7 == 0 && !(*spool)->Acknowledge(round / 2).ok()) _exit(4);
  }
}

TEST(Spool, KeepsWhatAKilledWriterWasPromised) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  uint64_t promised_end = 0;
  for (int kills = 0; kills < 10; ++kills) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) WriteUntilKilled(OptionsFor(folder), pipes[1]);
    close(pipes[1]);
    // The kill comes while the writer goes on after the last number that is waited for.
    uint64_t round = 0;
    for (uint32_t left = random() % 30 + 1; left > 0; --left) {
      ASSERT_EQ(read(pipes[0], &round, sizeof(round)), static_cast<ssize_t>(sizeof(round)));
    }
    kill(child, SIGKILL);
    while (read(pipes[0], &round, sizeof(round)) == sizeof(round)) {
    }
    close(pipes[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended with " << status;
    promised_end = round + 1;
    const auto spool = OpenOrDie(OptionsFor(folder));
    const Spool::State state = spool->state();
    EXPECT_GE(state.end, promised_end);
    EXPECT_LE(state.end, promised_end + 1);
    ExpectHolds(*spool, state.acknowledged, state.end);
  }
}

TEST(Spool, AcceptsNothingMoreAfterAFailedSync) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    AppendRounds(*spool, 0, 2);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    ReplaceDescriptor(spool->path(), pipes[1]);  // writable, not syncable
    ASSERT_EQ(spool->Append(Batch(2)).status(), absl::OkStatus());
    const absl::Status failed = spool->Sync();
    EXPECT_THAT(std::string(failed.message()), HasSubstr("fdatasync"));
    EXPECT_EQ(spool->Sync(), failed);
    EXPECT_EQ(spool->Append(Batch(2)).status(), failed);
    EXPECT_EQ(spool->Confirm(0, 0), failed);
    close(pipes[0]);
    close(pipes[1]);
  }
  ExpectHolds(*OpenOrDie(OptionsFor(folder)), 0, 2);
}

TEST(Spool, AcceptsNothingMoreAfterAFailedWrite) {
  const TemporaryFolder folder;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    AppendRounds(*spool, 0, 2);
    const rlimit small = {std::filesystem::file_size(spool->path()) + 20, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const absl::Status failed = spool->Append(Batch(2)).status();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(std::string(failed.message()), HasSubstr("write"));
    EXPECT_EQ(spool->Append(Batch(2)).status(), failed);
  }
  signal(SIGXFSZ, old_handler);
  ExpectHolds(*OpenOrDie(OptionsFor(folder)), 0,
              2);  // what was written of the third is a torn tail
}

// A disk that is full has no room for what could not be written whole.
TEST(Spool, LeavesNothingOfAFileThatItCouldNotWrite) {
  const TemporaryFolder folder;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    const rlimit small = {20, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const absl::Status failed = spool->Confirm(7, 12);  // writes the file anew
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(std::string(failed.message()), HasSubstr("write"));
  }
  signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(std::filesystem::exists(PathIn(folder) + ".tmp"));
  EXPECT_FALSE(OpenOrDie(OptionsFor(folder))->state().confirmed);
}

TEST(Spool, IsBoundedAndFreesWhatIsAcknowledged) {
  const TemporaryFolder folder;
  Spool::Options options = OptionsFor(folder);
  options.bound_bytes = 2000;
  const auto spool = OpenOrDie(options);
  uint64_t round = 0;
  absl::Status full;
  while ((full = spool->Append(Batch(round)).status()).ok()) ++round;
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()),
              HasSubstr(absl::StrCat(round, " batches wait for the server, bound_bytes is 2000")));
  ExpectHolds(*spool, 0, round);
  EXPECT_EQ(ReasonOf(full).reason, "SPOOL_FULL");
  // The file is not written anew for the room of one batch.
  ASSERT_EQ(spool->Acknowledge(1), absl::OkStatus());
  EXPECT_EQ(spool->Append(Batch(round)).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_EQ(spool->Acknowledge(5), absl::OkStatus());
  AppendRounds(*spool, round, round + 5);
  EXPECT_EQ(spool->Append(Batch(round + 5)).status().code(), absl::StatusCode::kResourceExhausted);
  ExpectHolds(*spool, 5, round + 5);
  EXPECT_LE(std::filesystem::file_size(spool->path()), 2000u);
}

TEST(Spool, SaysWhenABatchCanNeverFit) {
  const TemporaryFolder folder;
  Spool::Options options = OptionsFor(folder);
  options.bound_bytes = 200;
  const auto spool = OpenOrDie(options);
  const absl::Status never = spool->Append(Batch(0)).status();
  EXPECT_EQ(never.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(never.message()), HasSubstr("0 batches wait for the server"));
  EXPECT_EQ(ReasonOf(never).reason, "");
}

// A spool that is never synced: after a loss of power any sector may be missing.
TEST(Spool, CutsHolesWhereNothingWasSynced) {
  const Sample sample = MakeSample(12);
  const TemporaryFolder folder;
  Spool::Options options = OptionsFor(folder);
  options.synced = false;
  for (size_t sector = 512; sector + 512 < sample.bytes.size(); sector += 512) {
    std::string bytes = sample.bytes;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(sector), 512, '\0');
    // Control: one that is synced has no such holes.
    EXPECT_EQ(OpenBytes(folder, bytes).status().code(), absl::StatusCode::kDataLoss) << sector;
    std::ofstream(PathIn(folder), std::ios::binary | std::ios::trunc) << bytes;
    const auto spool = OpenOrDie(options);
    uint64_t whole = 0;
    while (sample.ends[whole + 1] <= sector) ++whole;
    ExpectHolds(*spool, 0, whole);
    AppendRounds(*spool, whole, whole + 2);
    ExpectHolds(*spool, 0, whole + 2);
  }
  // The rest of a sector, behind records that were durable already.
  for (size_t whole = 0; whole + 3 < sample.ends.size(); ++whole) {
    const size_t lost = sample.ends[whole];
    std::string bytes = sample.bytes;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(lost),
              bytes.begin() + static_cast<ptrdiff_t>(lost / 512 * 512 + 512), '\0');
    EXPECT_EQ(OpenBytes(folder, bytes).status().code(), absl::StatusCode::kDataLoss) << lost;
    std::ofstream(PathIn(folder), std::ios::binary | std::ios::trunc) << bytes;
    ExpectHolds(*OpenOrDie(options), 0, whole);
  }
  // A flipped bit is no hole.
  std::string bytes = sample.bytes;
  bytes[sample.ends[3] + 20] ^= 1;
  std::ofstream(PathIn(folder), std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_EQ(Spool::Open(options).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Spool, ClearsOutAcknowledgedRecords) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    v1::AppendBatchRequest big;
    for (uint64_t round = 0; round < 40; ++round) {
      big = Batch(round);
      for (int i = 0; i < 4000; ++i) *big.add_entries() = big.entries(1);
      ASSERT_EQ(spool->Append(big).status(), absl::OkStatus());
      ASSERT_EQ(spool->Acknowledge(round), absl::OkStatus());  // one is always left
      EXPECT_LE(std::filesystem::file_size(spool->path()), (1u << 20) + 4 * big.ByteSizeLong());
    }
    EXPECT_GT(40 * big.ByteSizeLong(), 2u << 20) << "the test writes too little to tell";
  }
  const auto spool = OpenOrDie(OptionsFor(folder));
  EXPECT_EQ(spool->state().acknowledged, 39u);
  EXPECT_EQ(spool->state().end, 40u);
  EXPECT_EQ(spool->state().entries, 40u * 4002);
  EXPECT_EQ(spool->state().next_round, 40u);
  EXPECT_EQ(spool->Read(39)->request_id(), "request-39");
}

TEST(Spool, RemembersItsLastRound) {
  const TemporaryFolder folder;
  const auto expect_last = [&](uint64_t round) {
    EXPECT_EQ(OpenOrDie(OptionsFor(folder))->LastRound().SerializeAsString(),
              Batch(round).SerializeAsString());
  };
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    EXPECT_EQ(spool->LastRound().entries_size(), 0);
    AppendRounds(*spool, 0, 3);
    v1::AppendBatchRequest no_round = Batch(3);
    no_round.clear_entries();
    no_round.add_entries()->mutable_resume();
    ASSERT_EQ(spool->Append(no_round).status(), absl::OkStatus());
    EXPECT_EQ(spool->LastRound().request_id(), "request-2");
    ASSERT_EQ(spool->Acknowledge(4), absl::OkStatus());
  }
  expect_last(2);
  ASSERT_EQ(OpenOrDie(OptionsFor(folder))->Confirm(7, 12), absl::OkStatus());  // a new file
  EXPECT_THAT(*ReadFile(PathIn(folder)), HasSubstr("request-2"));
  EXPECT_THAT(*ReadFile(PathIn(folder)), ::testing::Not(HasSubstr("request-1")));
  expect_last(2);
  AppendRounds(*OpenOrDie(OptionsFor(folder)), 12, 13);
  expect_last(12);
}

TEST(Spool, RemembersWhatTheServerConfirmed) {
  const TemporaryFolder folder;
  {
    const auto spool = OpenOrDie(OptionsFor(folder));
    EXPECT_FALSE(spool->state().confirmed);
    ASSERT_EQ(spool->Confirm(7, 12), absl::OkStatus());
    AppendRounds(*spool, 12, 13);
    EXPECT_EQ(spool->Confirm(7, 12).code(), absl::StatusCode::kFailedPrecondition);
  }
  const auto spool = OpenOrDie(OptionsFor(folder));
  EXPECT_TRUE(spool->state().confirmed);
  EXPECT_EQ(spool->state().entries, 9u);
  EXPECT_EQ(spool->state().acknowledged_entries, 7u);
  EXPECT_EQ(spool->state().next_round, 13u);
}

TEST(Spool, RefusesAFolderThatCannotBe) {
  const TemporaryFolder folder;
  Spool::Options options = OptionsFor(folder);
  options.folder = folder.Write("file", "") + "/below";
  const absl::Status status = Spool::Open(options).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("mkdir"));
  options.folder = "";
  EXPECT_EQ(Spool::Open(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Spool, MakesItsFolder) {
  const TemporaryFolder folder;
  Spool::Options options = OptionsFor(folder);
  options.folder = folder.File("a/b/c");
  AppendRounds(*OpenOrDie(options), 0, 1);
  ExpectHolds(*OpenOrDie(options), 0, 1);
}

}  // namespace
}  // namespace dpledger::client
