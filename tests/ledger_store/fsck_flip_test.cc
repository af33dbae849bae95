// Bits flipped and files cut short, anywhere in a store's folder and its second place: what fsck
// and a server say of it, and what recover saves. DPLEDGER_FAULT_ROUNDS and DPLEDGER_FAULT_SEED:
// see tests/fault/power_rounds.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/fault/power_rounds.h"
#include "tests/ledger_store/damaged_store.h"

namespace dpledger {
namespace {

// RocksDB writes these for people, and never reads them: OPTIONS-* repeats options that
// rocksdb_options.h gives it at every start; IDENTITY is a random name that is compared with
// nothing; LOCK is empty.
bool IsForPeople(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return absl::StartsWith(name, "OPTIONS-") || name == "IDENTITY" || name == "LOCK";
}

// "table", "log", ...
std::string KindOf(const std::string& path) {
  if (IsForPeople(path)) return "text for people";
  if (absl::EndsWith(path, ".sst")) return "table";
  if (absl::EndsWith(path, ".log")) return "write-ahead log";
  if (absl::StrContains(path, "MANIFEST-")) return "MANIFEST";
  if (absl::EndsWith(path, "CURRENT")) return "CURRENT";
  if (absl::EndsWith(path, "SYNCED")) return "SYNCED";
  return "second place";
}

struct Counts {
  int rounds = 0;
  int refused = 0;  // the server does not start
  int at_read = 0;  // it starts, and says DATA_LOSS to some question
  int by_fsck = 0;
  int by_receipt = 0;  // the server starts without the end of a ledger, of which nothing was signed
  int by_nobody = 0;
  int lost = 0;  // rounds in which recover lacked an entry
  uint64_t most_lost = 0;
  int stores = 0;  // rounds in which recover kept a store
};

class Damage : public DamagedStore {
 protected:
  void TearDown() override {
    for (const auto& [kind, c] : counts_) {
      std::cout << kind << ": " << c.rounds << " rounds, " << c.refused << " refused at start, "
                << c.at_read << " when read, " << c.by_fsck << " by fsck, " << c.by_receipt
                << " served without unsigned entries, " << c.by_nobody
                << " by nobody; recover lacked entries in " << c.lost << ", at most " << c.most_lost
                << ", and kept a store in " << c.stores << "\n";
    }
  }

  // Judges a copy in which `path` was damaged. Removes it.
  Saved Judge(const std::string& copy, const std::string& path, bool flipped) {
    Counts& counts = counts_[KindOf(path)];
    ++counts.rounds;
    const auto before = FilesIn(copy);
    const FsckReport report = FsckOf(copy);
    Saved saved = Recovered(copy);
    EXPECT_TRUE(FilesIn(copy) == before) << "fsck or recover changed the folder";
    const Served served = Serve(copy);

    EXPECT_EQ(served.wrong, 0u);
    EXPECT_TRUE(saved.recovered.ok()) << saved.recovered.status();
    const bool detected = !report.clean() || !served.open.ok() || served.errors > 0;
    counts.refused += !served.open.ok();
    counts.at_read += served.errors > 0;
    counts.by_fsck += !report.clean();
    counts.by_receipt += served.tail_missing > 0;
    counts.by_nobody += !detected && served.tail_missing == 0;
    counts.lost += saved.missing > 0;
    counts.most_lost = std::max(counts.most_lost, saved.missing);
    EXPECT_TRUE(saved.missing <= served.tail_missing || !saved.recovered->report.clean());
    if (IsForPeople(path)) {
      EXPECT_FALSE(detected) << ::testing::PrintToString(Texts(report)) << served.open;
      EXPECT_EQ(saved.missing, 0u);
    } else if (flipped) {
      // No server starts without what was acknowledged.
      EXPECT_EQ(served.tail_missing, 0u) << path;
      // Of whatever a server refuses, fsck says why.
      EXPECT_FALSE(report.clean()) << served.open;
    } else {
      EXPECT_TRUE(served.open.ok() || !report.clean()) << served.open;
    }
    if (saved.recovered.ok() && saved.recovered->has_store) {
      ++counts.stores;
      std::filesystem::remove_all(StoreIn(copy));
      std::filesystem::rename(copy + ".saved/store", StoreIn(copy));
      const Served kept = Serve(copy);
      EXPECT_TRUE(kept.open.ok()) << kept.open;
      EXPECT_EQ(kept.errors + kept.wrong, 0u);
    }
    std::filesystem::remove_all(copy);
    std::filesystem::remove_all(copy + ".saved");
    return saved;
  }

  // How many bytes of entries may be lost with one byte of a file: those of the block that it is
  // in. A table's data come first; without what follows them nobody knows where its blocks are.
  static uint64_t MostLost(const std::string& copy, const std::string& path, uint64_t place) {
    constexpr uint64_t kLargestBatch = 80'000;
    constexpr uint64_t kTableBlock = 4096;
    constexpr uint64_t kLogBlock = 32768;
    if (KindOf(path) == "write-ahead log") return kLogBlock + 2 * kLargestBatch;
    if (KindOf(path) != "table") return 0;
    rocksdb::SstFileReader reader(embedded::DatabaseOptions(nullptr));
    EXPECT_TRUE(reader.Open(copy + "/" + path).ok());
    const bool is_data = place < reader.GetTableProperties()->data_size;
    return is_data ? kTableBlock + kLargestBatch : ~uint64_t{0};
  }

  std::map<std::string, Counts> counts_;
};

TEST_F(Damage, FlippedBitsAreFoundAndNothingWrongIsServed) {
  const uint64_t seed = testing::FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = testing::FaultRounds(60);
  for (int round = 0; round < rounds; ++round) {
    const std::string copy = NewCopy();
    const auto files = FilesIn(copy);
    size_t bytes = 0;
    for (const auto& [path, content] : files) bytes += content.size();
    size_t place = random() % bytes;
    auto file = files.begin();
    while (place >= file->second.size()) place -= (file++)->second.size();
    const int bit = static_cast<int>(random() % 8);
    std::string content = file->second;
    const uint64_t most_lost = MostLost(copy, file->first, place);
    content[place] = static_cast<char>(content[place] ^ (1 << bit));
    WriteTo(copy + "/" + file->first, content);
    SCOPED_TRACE(absl::StrCat("round ", round, " of DPLEDGER_FAULT_SEED=", seed, ": bit ", bit,
                              " of byte ", place, " of ", file->first, " (", content.size(), ")"));
    EXPECT_LE(Judge(copy, file->first, /*flipped=*/true).missing_bytes, most_lost);
  }
}

TEST_F(Damage, FilesCutShortAreFoundOrLackOnlyWhatWasNotSigned) {
  const uint64_t seed = testing::FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = (testing::FaultRounds(60) + 1) / 2;
  for (int round = 0; round < rounds; ++round) {
    const std::string copy = NewCopy();
    const auto files = FilesIn(copy);
    auto file = std::next(files.begin(), static_cast<ptrdiff_t>(random() % files.size()));
    if (file->second.empty()) continue;
    // Often near the end, where the last entries are not signed.
    const size_t size = file->second.size();
    const size_t most = random() % 2 == 0 ? size : std::min<size_t>(size, 2000);
    const size_t length = size - 1 - random() % most;
    std::filesystem::resize_file(copy + "/" + file->first, length);
    SCOPED_TRACE(absl::StrCat("round ", round, " of DPLEDGER_FAULT_SEED=", seed, ": ", file->first,
                              " cut from ", file->second.size(), " to ", length));
    Judge(copy, file->first, /*flipped=*/false);
  }
}

// The control: what the storage engine alone, in its default mode, passes over in silence.
TEST_F(Damage, EngineAloneMissesFlippedBits) {
  const uint64_t seed = testing::FaultSeed();
  std::mt19937_64 random(seed);
  const auto read_all = [](const std::string& folder, std::map<std::string, std::string>& records) {
    rocksdb::Options options = embedded::DatabaseOptions(nullptr);
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    rocksdb::DB* opened = nullptr;
    if (!rocksdb::DB::Open(options, folder, &opened).ok()) return false;
    const std::unique_ptr<rocksdb::DB> db(opened);
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      records[it->key().ToString()] = it->value().ToString();
    }
    return it->status().ok();
  };
  std::map<std::string, std::string> whole;
  ASSERT_TRUE(read_all(StoreIn(NewCopy()), whole));
  int missed = 0;
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const std::string copy = NewCopy();
    for (const auto& [path, content] : FilesIn(copy)) {
      if (KindOf(path) != "write-ahead log" || content.empty()) continue;
      std::string damaged = content;
      damaged[random() % damaged.size()] ^= 4;
      WriteTo(copy + "/" + path, damaged);
    }
    std::map<std::string, std::string> records;
    if (read_all(StoreIn(copy), records) && records != whole) ++missed;
  }
  std::cout << "the engine alone missed " << missed << " of " << kRounds << " flips in its log\n";
  EXPECT_GT(missed, 0);
}

}  // namespace
}  // namespace dpledger
