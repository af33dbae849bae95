// Reads RocksDB's log files (*.log, MANIFEST-*) without RocksDB: every whole record, and every
// damaged place. RocksDB itself stops at damage, or takes it for the end of the log: it takes a
// flipped bit in a length of the last block for a write that a power cut interrupted. Here such a
// tail counts as torn only if no whole record follows and no other length fits its checksum.
//
// The format: https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format. Blocks of 32
// KiB; a record has CRC-32C (masked, of type and payload), length and type, 7 bytes. Logs of reused
// files have another header; rocksdb_options.h turns them off.
//
// Reads a block at a time; a record may be as long as the file. Functions; thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::embedded {

struct LogScan {
  struct Damage {
    uint64_t begin = 0;  // bytes of the file
    uint64_t end = 0;
    std::string what;
  };
  uint64_t file_bytes = 0;
  uint64_t records = 0;
  uint64_t whole_bytes = 0;  // up to the end of the last whole record
  std::vector<Damage> damage;
  // Bytes at the end that are not a whole record: a crash leaves them of a write that was not
  // synced.
  uint64_t torn_bytes = 0;
};

// Calls `visit` with every whole record, in order. Damage is not an error but in the result; errors
// of the disk.
absl::StatusOr<LogScan> ScanLog(const std::string& path,
                                const std::function<void(std::string_view record)>& visit);

struct TornLog {
  std::string path;
  uint64_t whole_bytes = 0;  // LogScan's
};

// Whether RocksDB may replay the logs in `folder` (*.log, MANIFEST-*): DATA_LOSS naming the first
// place that is damaged, or a log that ends within a record though a later one has records. RocksDB
// alone may drop such an end, although it was acknowledged, as if it had never been synced, and may
// remove the tables that the end of a MANIFEST names. Reads each file once; none if there is no
// such folder.
struct CheckedLogs {
  std::vector<TornLog> torn;   // the *.log files that may be replayed and end within a record
  uint64_t last_sequence = 0;  // RocksDB's, of the last write in the logs; 0 if there is none
};
absl::StatusOr<CheckedLogs> CheckLogs(const std::string& folder);

// The sequence of the last write of a batch, after it was written: it begins with that of its first
// one (rocksdb/write_batch.cc, "WriteBatch::rep_").
uint64_t LastSequence(std::string_view batch);

// CRC-32C (Castagnoli) of the concatenated parts: RFC 3720, appendix B.4.
uint32_t Crc32c(std::string_view first, std::string_view second = {});

}  // namespace dpledger::embedded
