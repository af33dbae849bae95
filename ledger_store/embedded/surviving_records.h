// Reads every readable record in a store's folder, whether RocksDB opens it or not: each table file
// by itself, and the logs record by record. Changes nothing in the folder.
//
//  1. Every visited record matches the checksum of its block or log record.
//  2. A damaged block loses only its own records. One exception: good blocks between two damaged
//     ones may be lost too, if they hold fewer keys than the first damaged one.
//  3. The store only adds records, or replaces a record by a longer one. So the latest record under
//     a key can be told without knowing the order of the files.
// Memory: the logs' contents, a few hundred MiB at most. Not thread safe.
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

// An unreadable file, or part of one.
struct Damage {
  std::string place;  // "000012.sst" or "000012.log: bytes 300 to 420"
  std::string what;
};

class SurvivingRecords {
 public:
  // NOT_FOUND if there is no such folder or no store in it; errors of the disk. Damage is not an
  // error: see damage().
  static absl::StatusOr<std::unique_ptr<SurvivingRecords>> Open(const std::string& folder);

  using Visit = std::function<absl::Status(std::string_view key, std::string_view value)>;
  // Visits the records with begin <= key < end, each key once, in order. An error of `visit` ends
  // the scan.
  absl::Status Scan(std::string_view begin, std::string_view end, const Visit& visit);
  absl::Status ScanPrefix(const std::string& prefix, const Visit& visit);
  // nullopt if there is no record, or it lies in a damaged block.
  std::optional<std::string> Get(const std::string& key);

  // Reads every block of every table file; calls `progress` with the bytes read so far.
  void VerifyTables(const std::function<void(uint64_t bytes)>& progress);

  // The damage found so far.
  const std::vector<Damage>& damage() const { return damage_; }
  // By file: bytes at a log's end that look like a write interrupted by a crash. They are not
  // damage.
  const std::map<std::string, uint64_t>& torn() const { return torn_; }

 private:
  struct TableFile {
    std::string name;
    uint64_t bytes = 0;
    std::unique_ptr<rocksdb::SstFileReader> reader;
    // Unreadable ranges of keys: from the last readable key before to the first readable one after.
    std::map<std::string, std::string> holes;
    std::unique_ptr<rocksdb::Iterator> finder;  // for Get; null until its first call
  };
  class TableCursor;

  SurvivingRecords();

  void AddTable(const std::string& folder, const std::string& name);
  absl::Status AddLog(const std::string& folder, const std::string& name);
  absl::Status CheckManifest(const std::string& folder, const std::string& name);
  void AddDamage(std::string place, std::string what);

  rocksdb::Options options_;
  std::vector<TableFile> tables_;            // by number
  std::map<std::string, std::string> logs_;  // the logs' records, by key
  std::vector<Damage> damage_;
  std::set<std::string> reported_;
  std::map<std::string, uint64_t> torn_;
  std::map<std::string, uint64_t> torn_logs_;  // logs with a torn end that no later log follows
};

// The least string above all strings with this prefix; "" if there is none.
std::string PrefixEnd(std::string prefix);

}  // namespace dpledger::embedded
