// Opens a store's RocksDB folder read-only: no file in it is made, written, renamed or removed,
// RocksDB's own log included. The logs are replayed in memory. Thread safe as RocksDB is.
#pragma once

#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace dpledger::embedded {

struct ReadOnlyDatabase {
  rocksdb::Status status;             // the result of opening
  std::unique_ptr<rocksdb::Env> env;  // db uses it
  std::unique_ptr<rocksdb::DB> db;    // null unless status is OK
};

// Uses the server's options, except for the recovery mode.
ReadOnlyDatabase OpenReadOnly(const std::string& folder, rocksdb::WALRecoveryMode recovery);

}  // namespace dpledger::embedded
