// RocksDB's log files read without RocksDB: whole ones, and damage of every kind.
#include "ledger_store/embedded/log_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rocksdb/db.h"
#include "tests/ledger_store/damaged_store.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::embedded {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LogScanner : public ::testing::Test {
 protected:
  // A log as RocksDB writes it, of records of these sizes.
  std::string Written(const std::vector<size_t>& sizes) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, folder_.path() + "/db", &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(db->Put({}, absl::StrCat("key ", i), std::string(sizes[i], 'v')).ok());
    }
    EXPECT_TRUE(db->FlushWAL(true).ok());
    for (const auto& [path, content] : FilesIn(folder_.path() + "/db")) {
      if (path.ends_with(".log")) return content;
    }
    return "";
  }
  LogScan Scan(const std::string& content) {
    const std::string path = folder_.path() + "/log";
    WriteTo(path, content);
    sizes_.clear();
    auto scan = ScanLog(path, [&](std::string_view record) { sizes_.push_back(record.size()); });
    EXPECT_TRUE(scan.ok()) << scan.status();
    return scan.ok() ? *std::move(scan) : LogScan();
  }

  TempFolder folder_{MemoryFolder()};
  std::vector<size_t> sizes_;  // of the records found
};

TEST(Crc32c, IsTheDocuments) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("1234", "56789"), 0xe3069283u);
}

TEST_F(LogScanner, ReadsWhatRocksDbWrites) {
  const LogScan scan = Scan(Written({10, 100'000, 20, 32'700, 40'000, 5}));
  EXPECT_THAT(scan.damage, IsEmpty());
  EXPECT_EQ(scan.torn_bytes, 0u);
  EXPECT_EQ(scan.records, 6u);
  EXPECT_EQ(sizes_[1] - sizes_[0], 100'000u - 10 + 2);  // a longer varint
}

// Every single bit of a log of small records is told from a torn end.
TEST_F(LogScanner, FindsEveryFlippedBit) {
  const std::string whole = Written({10, 20, 30, 15});
  for (size_t place = 0; place < whole.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string content = whole;
      content[place] = static_cast<char>(content[place] ^ (1 << bit));
      const LogScan scan = Scan(content);
      ASSERT_THAT(scan.damage, SizeIs(1)) << "byte " << place << " bit " << bit;
      ASSERT_EQ(scan.records, 3u);
      ASSERT_EQ(scan.torn_bytes, 0u);
    }
  }
}

TEST_F(LogScanner, TakesAnEndThatIsCutForTorn) {
  const std::string whole = Written({10, 40'000, 30});
  for (size_t length = 0; length <= whole.size(); length += 13) {
    const LogScan scan = Scan(whole.substr(0, length));
    ASSERT_THAT(scan.damage, IsEmpty()) << length;
    ASSERT_EQ(scan.file_bytes, length);
  }
  // Zeros at the end are what a file system leaves that made the file longer first.
  const LogScan zeros = Scan(whole + std::string(100'000, '\0'));
  EXPECT_THAT(zeros.damage, IsEmpty());
  EXPECT_EQ(zeros.torn_bytes, 100'000u);
  EXPECT_EQ(zeros.records, 3u);
}

TEST_F(LogScanner, NamesAHoleAndReadsOnBehindIt) {
  std::string content = Written({10, 40'000, 40'000, 40'000, 30});
  content.replace(32'768, 32'768, std::string(32'768, '\0'));
  const LogScan scan = Scan(content);
  ASSERT_THAT(scan.damage, SizeIs(1));
  EXPECT_EQ(scan.damage[0].begin, 32'768u);
  EXPECT_THAT(sizes_, SizeIs(3));  // the first, and the last two
}

// What a power cut leaves of a write whose later pages reached the disk first. No flipped bit makes
// a header of zeros.
TEST_F(LogScanner, HoleWhereTheLastRecordBeginsIsTorn) {
  std::string content = Written({100, 200});
  ASSERT_THAT(Scan(content).damage, IsEmpty());
  const size_t header = content.size() - sizes_.back() - 7;
  for (size_t i = 0; i < 50; ++i) content[header + i] = 0;
  const LogScan scan = Scan(content);
  EXPECT_THAT(scan.damage, IsEmpty());
  EXPECT_EQ(scan.records, 1u);
  EXPECT_EQ(scan.torn_bytes, content.size() - header);
}

TEST_F(LogScanner, LogsOfAFolderAreWholeUpToTheLast) {
  const std::string content = Written({10, 20, 30});
  const std::string cut = content.substr(0, content.size() - 5);
  std::string damaged = content;
  damaged[30] = static_cast<char>(damaged[30] ^ 1);
  const auto check = [&](const std::string& ninth, const std::string& tenth) {
    WriteTo(folder_.path() + "/9.log", ninth);
    WriteTo(folder_.path() + "/10.log", tenth);
    return CheckLogs(folder_.path());
  };
  EXPECT_THAT(check(content, content)->torn, IsEmpty());
  const auto last = check(content, cut);
  ASSERT_TRUE(last.ok() && last->torn.size() == 1);
  EXPECT_THAT(last->torn.front().path, EndsWith("/10.log"));
  EXPECT_EQ(last->torn.front().whole_bytes, Written({10, 20}).size());
  const auto before = check(cut, "");  // a crash in the first start after a power cut
  ASSERT_TRUE(before.ok() && before->torn.size() == 1);
  EXPECT_THAT(before->torn.front().path, EndsWith("/9.log"));
  EXPECT_TRUE(IsError(check(cut, content).status(), absl::StatusCode::kDataLoss, "",
                      "/9.log: ends within a record, but 10.log goes on behind it"));
  EXPECT_TRUE(IsError(check(content, damaged).status(), absl::StatusCode::kDataLoss, "",
                      "a record does not match its checksum"));
  EXPECT_TRUE(check(content, cut).ok());
  WriteTo(folder_.path() + "/MANIFEST-000005", damaged);
  EXPECT_TRUE(IsError(CheckLogs(folder_.path()).status(), absl::StatusCode::kDataLoss, "",
                      "/MANIFEST-000005: bytes "));
  EXPECT_TRUE(CheckLogs(folder_.path() + "/none").ok());
}

}  // namespace
}  // namespace dpledger::embedded
