// The keys of the embedded store (docs/formats.md, section 2), and the row of a head. Numbers are
// big-endian, so that RocksDB's byte order is the order of entries. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "merkle/tile.h"

namespace dpledger::embedded {

// The first byte of a key: the kind of its record.
enum class Table : char {
  kCheckpoint = 'c',  // log id -> StoredCheckpoint
  kBatch = 'e',       // ledger id, first sequence -> the entries of one request
  kRegistry = 'g',    // index -> the registry's entry
  kHead = 'h',        // ledger id, writer -> WriterStatus and StoredHead
  kName = 'n',        // name -> ledger id
  kRequest = 'r',     // ledger id, request id -> StoredRequest
  kHistory = 's',     // ledger id -> digest, StoredHistory
  kTile = 't',        // log id, level, index -> hashes
  kSummary = 'u',     // ledger id -> StoredSummary
  kVersion = 'v',     // -> kFormatVersion
};

// The registry's log id; another log's id is its ledger's.
inline constexpr uint64_t kRegistryId = ~uint64_t{0};

inline constexpr std::string_view kFormatVersion = "1";

std::string VersionKey();
std::string NameKey(std::string_view name);
std::string BatchKey(uint64_t ledger_id, uint64_t first_sequence);
std::string HeadKey(uint64_t ledger_id, std::string_view writer);
std::string RequestKey(uint64_t ledger_id, std::string_view request_id);
std::string CheckpointKey(uint64_t log_id);
std::string TileKey(uint64_t log_id, const merkle::TileId& tile);
std::string RegistryKey(uint64_t index);
std::string HistoryKey(uint64_t ledger_id);
std::string SummaryKey(uint64_t ledger_id);
// The common prefix of a table's keys, and of a ledger's keys in it.
std::string TablePrefix(Table table);
std::string LedgerPrefix(Table table, uint64_t ledger_id);

// 8 bytes, big-endian.
std::string EncodeNumber(uint64_t number);
// nullopt unless there are 8 bytes.
std::optional<uint64_t> DecodeNumber(std::string_view bytes);

// The row of a writer's last append: the writer's status and the ledger's head after it. The
// longest head in a ledger's rows is the ledger's head; so an append changes one row, not two.
// Value: the length of the WriterStatus (2 bytes, big-endian), the WriterStatus, the StoredHead.
struct HeadRow {
  v1::WriterStatus writer;
  v1::StoredHead head;

  std::string Serialize() const;
  // False if `value` is not such a row.
  bool ParseFrom(std::string_view value);
};

}  // namespace dpledger::embedded
