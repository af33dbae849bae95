// Opens a RocksDB folder as a store: its lock, its format version, and RocksDB's errors as this
// project's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace dpledger::embedded {

// Opens or makes the database in `folder`. FAILED_PRECONDITION if a server has it open
// (STORE_IN_USE), or if it has another format version; DATA_LOSS if it is damaged; UNAVAILABLE for
// other errors of the disk.
absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenDatabase(const std::string& folder,
                                                          rocksdb::Env* env);

// That the database has a format that this program reads; gives one that is empty its version.
// FAILED_PRECONDITION naming both formats; DATA_LOSS if the version is gone.
absl::Status CheckVersion(rocksdb::DB& db, const std::string& folder);

// DATA_LOSS for damaged data, UNAVAILABLE for any other error. Precondition: `status` is not OK.
absl::Status DiskError(std::string_view operation, const rocksdb::Status& status);

// Reads the record under `key`. NOT_FOUND if there is none; otherwise errors as DiskError.
absl::Status GetRecord(rocksdb::DB& db, const std::string& key,
                       google::protobuf::MessageLite& record);

inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace dpledger::embedded
