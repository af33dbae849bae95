#include "client/internal/spool_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/internal/state_bytes.h"
#include "merkle/compact_tree.h"

namespace dpledger::client::internal {
namespace {

// After a loss of power a file may have its full length, with zeros for the sectors that never
// reached the disk. What of the record in [begin, end) arrived must end where they begin: a record
// before them is as it was written.
constexpr size_t kSectorSize = 512;
bool LostTail(std::string_view file, size_t begin, size_t end) {
  const size_t zeros = file.find_last_not_of('\0') + 1;  // where the zeros at the file's end begin
  const size_t first_lost_sector = (zeros + kSectorSize - 1) / kSectorSize * kSectorSize;
  return zeros <= begin || first_lost_sector < std::min(end, file.size());
}

// Of the sectors that a record in [begin, end) touches, one holds zeros from there on or from the
// record's start: what a flipped bit does not make, and a lost sector does. What stands before the
// record was durable, if a sector has it and zeros.
bool LostSector(std::string_view file, size_t begin, size_t end) {
  for (size_t sector = begin / kSectorSize * kSectorSize; sector < std::min(end, file.size());
       sector += kSectorSize) {
    const size_t first = std::max(sector, begin);
    if (file.substr(first, sector + kSectorSize - first).find_first_not_of('\0') ==
        std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// The record at `offset`, of `size` bytes, does not match; whether a loss of power explains it.
bool WasLost(std::string_view file, size_t offset, size_t size, Tail tail) {
  return LostTail(file, offset, offset + size) ||
         (tail == Tail::kHoles && LostSector(file, offset, offset + size));
}

// kind, length, and eight bytes that say whether these two can be believed.
std::string EncodeHead(RecordKind kind, size_t length) {
  StateWriter head;
  head.Number<uint32_t>(static_cast<uint32_t>(kind));
  head.Number<uint32_t>(length);
  const std::string check = merkle::ToBytes(merkle::Sha256({head.bytes()}));
  return absl::StrCat(head.bytes(), check.substr(0, kRecordHeadSize - head.bytes().size()));
}

Digest ChainedDigest(const Digest& chain, std::string_view head_and_payload) {
  return merkle::Sha256({merkle::ToBytes(chain), head_and_payload});
}

absl::Status Damaged(size_t offset, const std::string& what) {
  return absl::DataLossError(absl::StrCat("damaged at offset ", offset, ": ", what));
}

void PutReceipt(StateWriter& out, const AcknowledgedTree& receipt) {
  if (receipt.size == 0) return;
  out.Number(receipt.size);
  out.bytes().append(merkle::ToBytes(receipt.root));
}

// Of all that is left: nothing, or a receipt. Whether that is what was read.
bool TakeReceipt(StateReader& in, AcknowledgedTree& receipt) {
  if (in.rest().empty()) return in.ok();
  receipt.size = in.Number();
  const std::string_view root = in.Cut(receipt.root.size());
  if (!in.ok() || !in.rest().empty() || receipt.size == 0) return false;
  std::copy(root.begin(), root.end(), receipt.root.begin());
  return true;
}

// "DPS" and a digit, whatever the version.
bool IsHeader(uint32_t kind) {
  constexpr uint32_t kName = 0x00535044;
  const uint32_t version = kind >> 24;
  return (kind & 0x00ffffff) == kName && version >= '1' && version <= '9';
}

}  // namespace

std::string EncodeHeader(const SpoolHeader& header) {
  StateWriter out;
  out.Number(header.first_position);
  out.Number(header.entries);
  out.Number(header.next_round);
  out.Number<uint8_t>(header.writer_closed);
  out.Number<uint8_t>(header.confirmed);
  out.String<uint16_t>(header.ledger);
  out.String<uint16_t>(header.writer);
  out.Number(header.status_position);
  out.String<uint16_t>(header.status);
  PutReceipt(out, header.receipt);
  return std::move(out.bytes());
}

std::optional<SpoolHeader> DecodeHeader(std::string_view payload) {
  StateReader in(payload);
  SpoolHeader header;
  header.first_position = in.Number();
  header.entries = in.Number();
  header.next_round = in.Number();
  header.writer_closed = in.Number<uint8_t>() != 0;
  header.confirmed = in.Number<uint8_t>() != 0;
  header.ledger = in.String<uint16_t>();
  header.writer = in.String<uint16_t>();
  header.status_position = in.Number();
  header.status = in.String<uint16_t>();
  if (!TakeReceipt(in, header.receipt)) return std::nullopt;
  return header;
}

std::string EncodeAcknowledgement(const Acknowledgement& acknowledgement) {
  StateWriter out;
  out.Number(acknowledgement.position);
  PutReceipt(out, acknowledgement.receipt);
  return std::move(out.bytes());
}

std::optional<Acknowledgement> DecodeAcknowledgement(std::string_view payload) {
  StateReader in(payload);
  Acknowledgement acknowledgement{.position = in.Number()};
  if (!TakeReceipt(in, acknowledgement.receipt)) return std::nullopt;
  return acknowledgement;
}

std::string EncodeRecord(RecordKind kind, std::string_view payload, Digest& chain) {
  std::string record = EncodeHead(kind, payload.size());
  record.append(payload);
  chain = ChainedDigest(chain, record);
  record.append(merkle::ToBytes(chain));
  return record;
}

absl::StatusOr<std::optional<Record>> DecodeRecord(std::string_view file, size_t offset, Tail tail,
                                                   Digest& chain) {
  const std::string_view rest = file.substr(offset);
  // A killed process leaves a prefix of the record that it was writing.
  if (rest.size() < kRecordHeadSize) return std::nullopt;
  StateReader head(rest);
  const auto kind = static_cast<RecordKind>(head.Number<uint32_t>());
  const size_t length = head.Number<uint32_t>();
  if (rest.substr(0, kRecordHeadSize) != EncodeHead(kind, length)) {
    if (WasLost(file, offset, kRecordHeadSize, tail)) return std::nullopt;
    return Damaged(offset, "the head of a record does not match its check");
  }
  const size_t size = kRecordOverhead + length;
  if (rest.size() < size) return std::nullopt;
  const size_t digest_offset = kRecordHeadSize + length;
  const Digest digest = ChainedDigest(chain, rest.substr(0, digest_offset));
  if (rest.substr(digest_offset, sizeof(Digest)) != merkle::ToBytes(digest)) {
    if (WasLost(file, offset, size, tail)) return std::nullopt;
    return Damaged(offset, "a record does not match its digest");
  }
  if (kind != RecordKind::kHeader && kind != RecordKind::kLastRound && kind != RecordKind::kBatch &&
      kind != RecordKind::kAcknowledged) {
    if (IsHeader(static_cast<uint32_t>(kind))) {
      return absl::FailedPreconditionError(
          "was written by a later version of this software; it is kept as it is");
    }
    return Damaged(offset, absl::StrCat("unknown kind of record ", static_cast<uint32_t>(kind)));
  }
  chain = digest;
  return Record{kind, rest.substr(kRecordHeadSize, length), size};
}

}  // namespace dpledger::client::internal
