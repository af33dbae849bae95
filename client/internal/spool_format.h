// The bytes of a spool file (docs/formats.md, section 4): a chain of records, each with the SHA-256
// of itself and of the one before, so that a record that was damaged, lost or moved is noticed. No
// I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"

namespace dpledger::client::internal {

enum class RecordKind : uint32_t {
  kHeader = 0x32535044,        // "DPS2": a SpoolHeader; the first record, and only the first
  kLastRound = 0x5453414c,     // "LAST": the last batch with a round, if it is acknowledged
  kBatch = 0x48435442,         // "BTCH": a serialised AppendBatchRequest
  kAcknowledged = 0x444b4341,  // "ACKD": an Acknowledgement
};

// What a receipt says of a ledger, and the server is held to: its first `size` entries. size 0:
// nothing acknowledged yet.
struct AcknowledgedTree {
  uint64_t size = 0;
  merkle::Hash root = {};
  bool operator==(const AcknowledgedTree&) const = default;
};

// What a writer has come to.
struct SpoolTotals {
  uint64_t entries = 0;        // that it ever wrote
  uint64_t next_round = 0;     // greater than every round written
  bool writer_closed = false;  // WRITER_CLOSED was written
  bool confirmed =
      false;  // the ledger was seen on the server, as it was asked for (Spool::Confirm)
  AcknowledgedTree receipt;  // the largest that the server gave, as far as is known
};

// Where the file stands: what it belongs to, and the sums over everything its writer wrote before
// the file's first batch, all of which is acknowledged.
struct SpoolHeader : SpoolTotals {
  uint64_t first_position = 0;  // of the file's first batch, counted over the life of the spool
  std::string ledger;
  std::string writer;
  // What the rules of writers make of its batches before `status_position`, which may be in the
  // file: a serialised WriterStatus.
  uint64_t status_position = 0;
  std::string status;
};
std::string EncodeHeader(const SpoolHeader& header);
std::optional<SpoolHeader> DecodeHeader(std::string_view payload);

struct Acknowledgement {
  uint64_t position = 0;     // of the first batch that is not acknowledged
  AcknowledgedTree receipt;  // the last that is known, if one is
};
std::string EncodeAcknowledgement(const Acknowledgement& acknowledgement);
std::optional<Acknowledgement> DecodeAcknowledgement(std::string_view payload);

using Digest = merkle::Hash;

// The record's bytes. `chain` is the digest of the record before (zeros for the first); becomes
// this record's.
std::string EncodeRecord(RecordKind kind, std::string_view payload, Digest& chain);

struct Record {
  RecordKind kind;
  std::string_view payload;  // inside the file's bytes
  size_t size;               // of the whole record
};
// What a loss of power can have left of a file.
enum class Tail {
  kTorn,   // a sync ended for all but the last records: zeros reach to the file's end
  kHoles,  // nothing was synced: sectors of zeros anywhere
};
// The record at `offset`; advances `chain`. Nothing if the file ends there, or in a torn tail: a
// record whose end is missing, or whose last sectors are zeros (kHoles: any sector). DATA_LOSS,
// naming the offset, if the bytes were written and are wrong; FAILED_PRECONDITION for a later
// version's spool.
absl::StatusOr<std::optional<Record>> DecodeRecord(std::string_view file, size_t offset, Tail tail,
                                                   Digest& chain);

// Bytes of a record around its payload, and the offset of the payload in it.
inline constexpr size_t kRecordHeadSize = 16;
inline constexpr size_t kRecordOverhead = kRecordHeadSize + sizeof(Digest);

}  // namespace dpledger::client::internal
