#include "ledger_store/embedded/synced_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "merkle/big_endian.h"

namespace dpledger::embedded {
namespace {

// slot = sequence:u64 ‖ CRC-32C of the rest:u32 ‖ store id, padded with zeros:52
constexpr size_t kSlotBytes = 64;
constexpr size_t kSequenceBytes = 8;
constexpr size_t kCrcBytes = 4;
constexpr size_t kIdBytes = kSlotBytes - kSequenceBytes - kCrcBytes;
constexpr size_t kSectorBytes = 512;
constexpr int kSlots = 2;
constexpr size_t kFileBytes = kSlots * kSectorBytes;

std::string PathOf(const std::string& folder) {
  return absl::StrCat(folder, "/", kSyncedRecordFile);
}

std::string Crc(std::string_view sequence, std::string_view id) {
  return merkle::BigEndian(Crc32c(sequence, id), kCrcBytes);
}

std::string SlotOf(const SyncedPoint& point) {
  const std::string sequence = EncodeNumber(point.sequence);
  std::string id = point.store_id;
  id.resize(kIdBytes, '\0');
  return absl::StrCat(sequence, Crc(sequence, id), id);
}

bool AllZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == bytes.npos; }

std::optional<SyncedPoint> ParseSlot(std::string_view slot) {
  const std::string_view sequence = slot.substr(0, kSequenceBytes);
  const std::string_view id = slot.substr(kSequenceBytes + kCrcBytes);
  if (Crc(sequence, id) != slot.substr(kSequenceBytes, kCrcBytes)) return std::nullopt;
  return SyncedPoint{*DecodeNumber(sequence), std::string(id.substr(0, id.find('\0')))};
}

}  // namespace

absl::StatusOr<SyncedRecord> ReadSyncedRecord(const std::string& folder) {
  SyncedRecord record;
  absl::StatusOr<std::string> content = ReadFile(PathOf(folder));
  if (absl::IsNotFound(content.status())) return record;
  RETURN_IF_ERROR(content.status());
  record.damaged = content->size() != kFileBytes;
  content->resize(kFileBytes, '\0');
  for (int slot = 0; slot < kSlots; ++slot) {
    const std::string_view sector =
        std::string_view(*content).substr(slot * kSectorBytes, kSectorBytes);
    if (AllZero(sector)) continue;
    std::optional<SyncedPoint> point = ParseSlot(sector.substr(0, kSlotBytes));
    record.damaged |= !point.has_value() || !AllZero(sector.substr(kSlotBytes));
    if (!point.has_value()) continue;
    if (!record.last.has_value() || record.last->sequence < point->sequence) {
      record.last = std::move(point);
      record.slot = slot;
    }
  }
  return record;
}

absl::Status CheckSynced(const std::string& folder, const SyncedRecord& record, uint64_t sequence) {
  if (!record.last.has_value() || sequence >= record.last->sequence) return absl::OkStatus();
  return WithReason(
      absl::DataLossError(absl::StrCat(
          folder, ": the end of the log is missing: it ends at write ", sequence, ", but write ",
          record.last->sequence, " was synced and acknowledged, as ", PathOf(folder),
          " tells. Put the store back as it was; `dpledger-server recover --help` says what else "
          "there is")),
      {"STORE_WENT_BACK", {}});
}

absl::Status WriteSyncedRecord(const std::string& folder, const SyncedPoint& last) {
  std::string content(kFileBytes, '\0');
  const std::string slot = SlotOf(last);
  content.replace(0, slot.size(), slot);
  return WriteFileDurably(PathOf(folder), content);
}

absl::Status CheckSyncedAtRest(const std::string& folder, uint64_t last_logged) {
  ASSIGN_OR_RETURN(const SyncedRecord record, ReadSyncedRecord(folder));
  if (!record.last.has_value()) return absl::OkStatus();
  if (last_logged >= record.last->sequence) return absl::OkStatus();
  // It may have been moved into tables.
  std::unique_ptr<rocksdb::DB> db;
  if (!OpenReadOnly(folder, db).ok()) {
    // Without CURRENT RocksDB would make a new store; otherwise it says what is wrong.
    return ::access(absl::StrCat(folder, "/CURRENT").c_str(), F_OK) == 0
               ? absl::OkStatus()
               : CheckSynced(folder, record, 0);
  }
  return CheckSynced(folder, record, db->GetLatestSequenceNumber());
}

absl::StatusOr<std::unique_ptr<SyncedWriter>> SyncedWriter::Open(rocksdb::DB& db,
                                                                 const std::string& folder) {
  SyncedPoint point;
  const rocksdb::Status identified = db.GetDbIdentity(point.store_id);
  if (!identified.ok()) return DiskError("read the store's identity", identified);
  if (point.store_id.empty() || point.store_id.size() > kIdBytes) {
    return absl::InternalError("the store's identity has another length");
  }
  const std::string path = PathOf(folder);
  ASSIGN_OR_RETURN(const SyncedRecord record, ReadSyncedRecord(folder));
  if (record.last.has_value() && record.last->store_id != point.store_id) {
    return WithReason(
        absl::DataLossError(absl::StrCat(
            path,
            ": belongs to another store: files of two stores are mixed in this folder. Put "
            "the store back as it was")),
        {"STORE_WENT_BACK", {}});
  }
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    RETURN_IF_ERROR(WriteFileDurably(path, std::string(kFileBytes, '\0')));
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (fd < 0) return ErrnoError(errno, "open", path);
  if (record.last.has_value()) point.sequence = record.last->sequence;
  return std::unique_ptr<SyncedWriter>(
      new SyncedWriter(db, fd, path, std::move(point), (record.slot + 1) % kSlots));
}

std::unique_ptr<SyncedWriter> SyncedWriter::Unrecorded(rocksdb::DB& db) {
  return std::unique_ptr<SyncedWriter>(new SyncedWriter(db, -1, "", {}, 0));
}

SyncedPoint SyncedWriter::last() const {
  absl::MutexLock lock(&mutex_);
  return last_;
}

absl::Status SyncedWriter::Write(rocksdb::WriteBatch& batch, const char* what) {
  const rocksdb::Status written = db_.Write(DurableWrite(), &batch);
  if (!written.ok()) return DiskError(what, written);
  if (file_.get() < 0) return absl::OkStatus();
  const uint64_t sequence = LastSequence(batch.Data());
  absl::MutexLock lock(&mutex_);
  if (sequence <= last_.sequence) return absl::OkStatus();  // a later write came first
  last_.sequence = sequence;
  const std::string slot = SlotOf(last_);
  const auto offset = static_cast<off_t>(next_slot_ * kSectorBytes);
  next_slot_ = (next_slot_ + 1) % kSlots;
  ssize_t done = 0;
  do {
    done = ::pwrite(file_.get(), slot.data(), slot.size(), offset);
  } while (done < 0 && errno == EINTR);
  if (done == static_cast<ssize_t>(slot.size())) return absl::OkStatus();
  return ErrnoError(done < 0 ? errno : EIO, "write", path_);
}

}  // namespace dpledger::embedded
