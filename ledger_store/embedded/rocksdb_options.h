// Every RocksDB option that this store sets, each with its reason. All others have RocksDB's
// defaults.
#pragma once

#include <cstdarg>
#include <memory>

#include "ledger_store/store.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace dpledger::embedded {

// Logs of writes, the lock, the manifest, and what is being written.
inline constexpr int kOwnFiles = 32;

// RocksDB's own log would be a file in the store's folder: one that a full disk cannot take, at
// which an assertion of Debian's RocksDB 7.8.3 ends the process. What matters is in the errors it
// returns.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

inline rocksdb::Options DatabaseOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  options.create_if_missing = true;
  // Without a bound it takes all that the process has.
  options.max_open_files = static_cast<int>(kStoreDescriptors) - kOwnFiles;

  // Durability.
  // The default (point in time) silently drops everything after a flipped bit in the log: 7 of 8
  // such flips lost synced data unnoticed. This mode refused all of 16, and still opens after a
  // power cut in the middle of a record.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // Notices a missing or shortened log, but only one that was closed; synced_record.h notices the
  // newest.
  options.track_and_verify_wals_in_manifest = true;
  // The identity that synced_record.h compares: IDENTITY has no checksum, MANIFEST has.
  options.write_dbid_to_manifest = true;
  // A reused log file ends in old records, which the recovery mode above could not tell from
  // damage.
  options.recycle_log_file_num = 0;
  // After a write error the database stays read-only instead of trying again: the kernel drops
  // dirty pages after a failed fsync, so that a second one "succeeds" with the data lost.
  options.paranoid_checks = true;
  options.max_bgerror_resume_count = 0;

  // Speed and size. Bounds the logs that are replayed at opening (a second or so), and keeps sorted
  // files few.
  options.write_buffer_size = 64 << 20;
  options.max_write_buffer_number = 4;  // a slow flush does not stop the commit thread at once
  // Only the commit thread writes, so writes need neither concurrency nor waiting.
  options.allow_concurrent_memtable_write = false;
  options.enable_write_thread_adaptive_yield = false;
  // A ledger's entries come in ascending order: each is put beside the last of its table and ledger
  // (9 bytes of the key), without a search from the top.
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(9));
  // Halves the files (56 of 115 bytes an event) and costs little time.
  options.compression = rocksdb::kSnappyCompression;
  // Every append looks up a request id that is nearly always new: 10 bits a key answer 99 % of them
  // without a read; so do 2 % of a memtable's size, without a search.
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.02;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;  // the newest of 7.8: its filters and checksums
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  options.info_log = std::make_shared<NoLog>();
  return options;
}

inline rocksdb::WriteOptions DurableWrite() {
  rocksdb::WriteOptions options;
  options.sync = true;  // an acknowledgement means durable
  return options;
}

}  // namespace dpledger::embedded
