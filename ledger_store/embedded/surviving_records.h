// Every record that can still be read in a store's folder, whether RocksDB opens it or not: each
// table file by itself, and the logs record by record. Nothing in the folder is changed.
//
//  1. What is visited was whole under the checksum of its block or log record.
//  2. A damaged block costs the records in it, and no others. Only if good blocks between two
//     damaged ones hold fewer keys than the first of them may they be passed over too.
//  3. The store only ever adds or replaces by what is longer, so that no order of the files is
//     needed to tell which record under a key is the latest.
// Takes the memory of the logs: a few hundred MiB at most. Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"

namespace dpledger::embedded {

// What cannot be read: a file, or a part of one.
struct Damage {
  std::string place;  // "000012.sst" or "000012.log: bytes 300 to 420"
  std::string what;
};

class SurvivingRecords {
 public:
  // NOT_FOUND if there is no such folder or no store in it; errors of the disk. What is damaged is
  // no error: damage().
  static absl::StatusOr<std::unique_ptr<SurvivingRecords>> Open(const std::string& folder);

  using Visit = std::function<absl::Status(std::string_view key, std::string_view value)>;
  // The records with begin <= key < end, each key once, in order. An error of `visit` ends it.
  absl::Status Scan(std::string_view begin, std::string_view end, const Visit& visit);
  absl::Status ScanPrefix(const std::string& prefix, const Visit& visit);
  // Nothing if there is none, or it lies in a damaged block.
  std::optional<std::string> Get(const std::string& key);

  // Reads every block of every table file; calls `progress` with the bytes read so far.
  void VerifyTables(const std::function<void(uint64_t bytes)>& progress);

  // What was found damaged until now.
  const std::vector<Damage>& damage() const { return damage_; }
  // Bytes at the ends of logs that look like writes a crash interrupted, by file. No damage.
  const std::map<std::string, uint64_t>& torn() const { return torn_; }

 private:
  struct TableFile {
    std::string name;
    uint64_t bytes = 0;
    std::unique_ptr<rocksdb::SstFileReader> reader;
    // Keys behind which a block cannot be read, to those from which on it can again.
    std::map<std::string, std::string> holes;
    std::unique_ptr<rocksdb::Iterator> finder;  // of Get; null until it is asked
  };
  class TableCursor;

  SurvivingRecords();

  void AddTable(const std::string& folder, const std::string& name);
  absl::Status AddLog(const std::string& folder, const std::string& name);
  absl::Status CheckManifest(const std::string& folder, const std::string& name);
  void AddDamage(std::string place, std::string what);

  rocksdb::Options options_;
  std::vector<TableFile> tables_;            // by number
  std::map<std::string, std::string> logs_;  // what is in them
  std::vector<Damage> damage_;
  std::set<std::string> reported_;
  std::map<std::string, uint64_t> torn_;
  std::map<std::string, uint64_t> torn_logs_;  // of the logs until now, behind which none goes on
};

// The smallest string that no string with this prefix reaches; "" if there is none.
std::string PrefixEnd(std::string prefix);

}  // namespace dpledger::embedded
