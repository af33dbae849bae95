// A store's RocksDB folder opened without the right to change it: no file is made, written, renamed
// or removed in it, RocksDB's own log included. What is in the logs is replayed in memory. Thread
// safe as RocksDB is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace dpledger::embedded {

struct ReadOnlyDatabase {
  rocksdb::Status status;               // of opening
  std::vector<std::string> complaints;  // what RocksDB says it dropped, with the file's name
  std::unique_ptr<rocksdb::Env> env;    // db uses it
  std::unique_ptr<rocksdb::DB> db;      // null unless status is OK
};

// With the server's options but for `recovery`.
ReadOnlyDatabase OpenReadOnly(const std::string& folder, rocksdb::WALRecoveryMode recovery);

}  // namespace dpledger::embedded
