#include "client/internal/spool_format.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::client::internal {
namespace {

template <typename T>
void PutLittleEndian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T>
T GetLittleEndian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

Digest Sha256(std::initializer_list<std::string_view> parts) {
  const merkle::Hash hash = merkle::Sha256(parts);
  Digest digest;
  std::copy(hash.begin(), hash.end(), digest.begin());
  return digest;
}

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
  std::string head;
  PutLittleEndian(head, static_cast<uint32_t>(kind));
  PutLittleEndian(head, static_cast<uint32_t>(length));
  const Digest check = Sha256({head});
  head.append(check.data(), kRecordHeadSize - head.size());
  return head;
}

Digest ChainedDigest(const Digest& chain, std::string_view head_and_payload) {
  return Sha256({std::string_view(chain.data(), chain.size()), head_and_payload});
}

absl::Status Damaged(size_t offset, const std::string& what) {
  return absl::DataLossError(absl::StrCat("damaged at offset ", offset, ": ", what));
}

// Takes the first `size` bytes off `in`; false if there are fewer.
bool Take(std::string_view& in, size_t size, std::string_view& out) {
  if (in.size() < size) return false;
  out = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

template <typename T>
bool TakeNumber(std::string_view& in, T& value) {
  std::string_view bytes;
  if (!Take(in, sizeof(T), bytes)) return false;
  value = GetLittleEndian<T>(bytes);
  return true;
}

bool TakeString(std::string_view& in, std::string& value) {
  uint16_t size = 0;
  std::string_view bytes;
  if (!TakeNumber(in, size) || !Take(in, size, bytes)) return false;
  value = bytes;
  return true;
}

void PutReceipt(std::string& out, const AcknowledgedTree& receipt) {
  if (receipt.size == 0) return;
  PutLittleEndian(out, receipt.size);
  out.append(merkle::ToBytes(receipt.root));
}

// Of all that is left: nothing, or a receipt.
bool TakeReceipt(std::string_view& in, AcknowledgedTree& receipt) {
  if (in.empty()) return true;
  std::string_view root;
  if (!TakeNumber(in, receipt.size) || receipt.size == 0 || !Take(in, receipt.root.size(), root) ||
      !in.empty()) {
    return false;
  }
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
  std::string out;
  PutLittleEndian(out, header.first_position);
  PutLittleEndian(out, header.entries);
  PutLittleEndian(out, header.next_round);
  PutLittleEndian(out, static_cast<uint8_t>(header.writer_closed));
  PutLittleEndian(out, static_cast<uint8_t>(header.confirmed));
  for (const std::string& text : {header.ledger, header.writer}) {
    PutLittleEndian(out, static_cast<uint16_t>(text.size()));
    out.append(text);
  }
  PutLittleEndian(out, header.status_position);
  PutLittleEndian(out, static_cast<uint16_t>(header.status.size()));
  out.append(header.status);
  PutReceipt(out, header.receipt);
  return out;
}

std::optional<SpoolHeader> DecodeHeader(std::string_view payload) {
  SpoolHeader header;
  uint8_t writer_closed = 0, confirmed = 0;
  if (!TakeNumber(payload, header.first_position) || !TakeNumber(payload, header.entries) ||
      !TakeNumber(payload, header.next_round) || !TakeNumber(payload, writer_closed) ||
      !TakeNumber(payload, confirmed) || !TakeString(payload, header.ledger) ||
      !TakeString(payload, header.writer) || !TakeNumber(payload, header.status_position) ||
      !TakeString(payload, header.status) || !TakeReceipt(payload, header.receipt)) {
    return std::nullopt;
  }
  header.writer_closed = writer_closed != 0;
  header.confirmed = confirmed != 0;
  return header;
}

std::string EncodeAcknowledgement(const Acknowledgement& acknowledgement) {
  std::string out;
  PutLittleEndian(out, acknowledgement.position);
  PutReceipt(out, acknowledgement.receipt);
  return out;
}

std::optional<Acknowledgement> DecodeAcknowledgement(std::string_view payload) {
  Acknowledgement acknowledgement;
  if (!TakeNumber(payload, acknowledgement.position) ||
      !TakeReceipt(payload, acknowledgement.receipt)) {
    return std::nullopt;
  }
  return acknowledgement;
}

std::string EncodeRecord(RecordKind kind, std::string_view payload, Digest& chain) {
  std::string record = EncodeHead(kind, payload.size());
  record.append(payload);
  chain = ChainedDigest(chain, record);
  record.append(chain.data(), chain.size());
  return record;
}

absl::StatusOr<std::optional<Record>> DecodeRecord(std::string_view file, size_t offset, Tail tail,
                                                   Digest& chain) {
  const std::string_view rest = file.substr(offset);
  // A killed process leaves a prefix of the record that it was writing.
  if (rest.size() < kRecordHeadSize) return std::nullopt;
  const auto kind = static_cast<RecordKind>(GetLittleEndian<uint32_t>(rest));
  const size_t length = GetLittleEndian<uint32_t>(rest.substr(4));
  if (rest.substr(0, kRecordHeadSize) != EncodeHead(kind, length)) {
    if (WasLost(file, offset, kRecordHeadSize, tail)) return std::nullopt;
    return Damaged(offset, "the head of a record does not match its check");
  }
  const size_t size = kRecordOverhead + length;
  if (rest.size() < size) return std::nullopt;
  const size_t digest_offset = kRecordHeadSize + length;
  const Digest digest = ChainedDigest(chain, rest.substr(0, digest_offset));
  if (rest.substr(digest_offset, sizeof(Digest)) !=
      std::string_view(digest.data(), digest.size())) {
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
