#include "client/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status.h"
#include "client/internal/receipts.h"
#include "events/writer_rules.h"

namespace dpledger::client {

using internal::Record;
using internal::RecordKind;

namespace {

// Acknowledged records are cleared out when there are this many bytes of them, and as many as there
// are pending: each byte is then rewritten about once.
constexpr uint64_t kMinClearedBytes = 1 << 20;
// A full file is written anew only for so large a part of it: one that drains batch by batch would
// be rewritten for each of them otherwise.
constexpr uint64_t kPartForRoom = 4;

absl::Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  const std::filesystem::path parent = folder.parent_path();
  RETURN_IF_ERROR(MakeFolder(parent));
  std::filesystem::create_directory(folder, error);
  if (error) return ErrnoError(error.value(), "mkdir", folder.string());
  return SyncDirectory(parent.empty() ? "." : parent.string());
}

// "<folder>/<project>~<ledger>~<writer>.spool": ~ is in none of the three.
std::string SpoolPath(const Spool::Options& options) {
  const std::vector<std::string> parts = absl::StrSplit(options.ledger, '/');
  return absl::StrCat(options.folder, "/", parts[1], "~", parts[3], "~", options.writer, ".spool");
}

absl::StatusOr<int> Lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoError(errno, "open", path);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  ::close(fd);
  if (error != EWOULDBLOCK) return ErrnoError(error, "lock", path);
  return absl::FailedPreconditionError(absl::StrCat(
      "spool: ", path,
      " is held: another recorder uses this ledger and writer. In a notebook it may be that of the "
      "cell's last run: close() it, or leave() it and delete the samplers and sums that were made "
      "with it. Else it is another process's, or that of a process which was forked off one"));
}

bool HasRound(const v1::AppendBatchRequest& batch) {
  return std::any_of(batch.entries().begin(), batch.entries().end(),
                     [](const v1::NewEntry& entry) { return entry.event().has_sampling(); });
}

uint64_t RoundAfter(const v1::Event& event) {
  if (event.has_sampling()) return event.sampling().round() + 1;
  if (event.has_sum_query()) return event.sum_query().round() + 1;
  return 0;
}

}  // namespace

Spool::Spool(Options options, std::string path, int lock_fd)
    : options_(std::move(options)),
      path_(std::move(path)),
      lock_fd_(lock_fd),
      process_(::getpid()) {}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
  // A process that was forked meanwhile, such as one that loads data, has the lock too until it is
  // let go, and must not let go of it.
  if (::getpid() == process_) ::flock(lock_fd_, LOCK_UN);
  ::close(lock_fd_);
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const Options& options) {
  if (options.folder.empty()) return FieldError("spool_folder", "must be given");
  if (std::count(options.ledger.begin(), options.ledger.end(), '/') != 3) {
    return FieldError("ledger", absl::StrCat("must be a full name, got \"", options.ledger, "\""));
  }
  RETURN_IF_ERROR(MakeFolder(options.folder));
  const std::string path = SpoolPath(options);
  ASSIGN_OR_RETURN(const int lock_fd, Lock(absl::StrCat(path, ".lock")));
  auto spool = std::unique_ptr<Spool>(new Spool(options, path, lock_fd));
  absl::MutexLock lock(&spool->mutex_);
  RETURN_IF_ERROR(spool->Load());
  return spool;
}

absl::Status Spool::Load() {
  absl::StatusOr<std::string> file = ReadFile(path_);
  if (absl::IsNotFound(file.status())) return Rewrite();
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR(Reopen());
  size_t offset = 0;
  while (offset < file->size()) {
    auto record = internal::DecodeRecord(
        *file, offset, options_.synced ? internal::Tail::kTorn : internal::Tail::kHoles, chain_);
    if (!record.ok()) {
      return absl::Status(record.status().code(),
                          absl::StrCat("spool: ", path_, ": ", record.status().message()));
    }
    if (!record->has_value()) break;
    RETURN_IF_ERROR(LoadRecord(**record, offset));
    offset += (*record)->size;
  }
  // The header came with the file, whole: WriteFileDurably does not leave a part of it.
  if (offset == 0)
    return absl::DataLossError(absl::StrCat("spool: ", path_, ": damaged at offset 0: no header"));
  size_ = offset;
  if (offset == file->size()) return absl::OkStatus();
  return TruncateDurably(path_, offset);
}

absl::Status Spool::LoadRecord(const Record& record, size_t offset) {
  const absl::Status wrong = absl::DataLossError(absl::StrCat(
      "spool: ", path_, ": damaged at offset ", offset, ": a record that cannot stand here"));
  if ((record.kind == RecordKind::kHeader) != (offset == 0)) return wrong;
  switch (record.kind) {
    case RecordKind::kHeader: {
      const auto header = internal::DecodeHeader(record.payload);
      if (!header.has_value() || header->ledger != options_.ledger ||
          header->writer != options_.writer) {
        return wrong;
      }
      state_ = {*header, header->first_position, header->first_position, header->entries, {}};
      status_position_ = header->status_position;
      return state_.status.ParseFromString(header->status) ? absl::OkStatus() : wrong;
    }
    case RecordKind::kLastRound:
    case RecordKind::kBatch: {
      v1::AppendBatchRequest batch;
      if (!batch.ParseFromArray(record.payload.data(), static_cast<int>(record.payload.size()))) {
        return wrong;
      }
      if (record.kind == RecordKind::kBatch) {
        AddPending(batch, offset + internal::kRecordHeadSize, std::string(record.payload));
        return absl::OkStatus();
      }
      if (!last_round_.empty() || !pending_.empty() || !HasRound(batch)) return wrong;
      last_round_ = record.payload;
      return absl::OkStatus();
    }
    case RecordKind::kAcknowledged: {
      const auto known = internal::DecodeAcknowledgement(record.payload);
      if (!known.has_value() || known->position < state_.acknowledged ||
          known->position > state_.end || !KeepLarger(known->receipt, state_.receipt).ok()) {
        return wrong;
      }
      DropPending(known->position);
      return absl::OkStatus();
    }
  }
  return wrong;
}

void Spool::AddPending(const v1::AppendBatchRequest& batch, uint64_t offset, std::string payload) {
  pending_.push_back({offset, static_cast<uint32_t>(payload.size()),
                      static_cast<uint32_t>(batch.entries_size()), HasRound(batch)});
  pending_bytes_ += payload.size() + internal::kRecordOverhead;
  if (pending_.back().has_round) last_round_ = std::move(payload);
  if (state_.end >= status_position_) TakeStatus(batch);
  state_.end += 1;
  status_position_ = std::max(status_position_, state_.end);
  state_.entries += batch.entries_size();
  for (const v1::NewEntry& entry : batch.entries()) {
    state_.next_round = std::max(state_.next_round, RoundAfter(entry.event()));
    state_.writer_closed |= entry.has_writer_closed();
  }
}

// Whoever appended it has checked it.
void Spool::TakeStatus(const v1::AppendBatchRequest& batch) {
  for (const v1::NewEntry& entry : batch.entries()) {
    if (entry.has_event()) {
      events::TakeRound(events::StepOf(entry.event()), state_.status).IgnoreError();
    } else if (entry.has_opened()) {
      events::TakeOpened(entry.opened(), 0, v1::FAIL_CLOSED, state_.status).IgnoreError();
    } else if (entry.has_resume()) {
      events::TakeResume(0, state_.status);
    }
  }
}

bool Spool::LastRoundIsAcknowledged() const {
  return !last_round_.empty() && std::none_of(pending_.begin(), pending_.end(),
                                              [](const Pending& batch) { return batch.has_round; });
}

uint64_t Spool::ClearedBytes() const {
  const uint64_t kept = pending_bytes_ + (LastRoundIsAcknowledged() ? last_round_.size() : 0);
  return size_ - std::min(size_, kept);
}

void Spool::DropPending(uint64_t position) {
  for (; state_.acknowledged < position; ++state_.acknowledged) {
    state_.acknowledged_entries += pending_.front().entries;
    pending_bytes_ -= pending_.front().size + internal::kRecordOverhead;
    pending_.pop_front();
  }
}

absl::StatusOr<uint64_t> Spool::Append(const v1::AppendBatchRequest& batch) {
  if (batch.ledger() != options_.ledger || batch.writer() != options_.writer) {
    return absl::InvalidArgumentError(
        absl::StrCat("spool: a batch of ", batch.ledger(), ", ", batch.writer(), " in ", path_));
  }
  std::string payload = batch.SerializeAsString();
  // A string that is not UTF-8 can be written and never be read back.
  if (v1::AppendBatchRequest parsed; !parsed.ParseFromString(payload)) {
    return absl::InvalidArgumentError("spool: a batch holds a string that is not UTF-8");
  }
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(failure_);
  RETURN_IF_ERROR(MakeRoom(payload.size() + internal::kRecordOverhead));
  const uint64_t offset = size_ + internal::kRecordHeadSize;
  RETURN_IF_ERROR(Write(internal::EncodeRecord(RecordKind::kBatch, payload, chain_)));
  AddPending(batch, offset, std::move(payload));
  return state_.end - 1;
}

absl::Status Spool::MakeRoom(uint64_t size) {
  if (size_ + size <= options_.bound_bytes) return absl::OkStatus();
  const bool drained = pending_.empty();
  if (drained || ClearedBytes() >= size_ / kPartForRoom) RETURN_IF_ERROR(Rewrite());
  if (size_ + size <= options_.bound_bytes) return absl::OkStatus();
  const absl::Status full = absl::ResourceExhaustedError(
      absl::StrCat("spool: ", path_, " is full: ", pending_.size(),
                   " batches wait for the server, bound_bytes is ", options_.bound_bytes));
  return drained ? full : WithReason(full, {"SPOOL_FULL", {}});
}

absl::Status Spool::Sync() {
  int fd = -1;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(failure_);
    // Its own descriptor: Rewrite may close the spool's meanwhile, and its new file is synced.
    fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return Fail(ErrnoError(errno, "dup", path_));
  }
  const int failed = ::fdatasync(fd);
  const int error = errno;
  ::close(fd);
  if (failed == 0) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  return Fail(ErrnoError(error, "fdatasync", path_));
}

absl::StatusOr<v1::AppendBatchRequest> Spool::Read(uint64_t position) {
  absl::MutexLock lock(&mutex_);
  if (position < state_.acknowledged || position >= state_.end) {
    return absl::OutOfRangeError(absl::StrCat("spool: ", path_, " does not hold batch ", position));
  }
  const Pending& pending = pending_[position - state_.acknowledged];
  ASSIGN_OR_RETURN(const std::string payload, ReadBytes(pending.offset, pending.size));
  v1::AppendBatchRequest batch;
  if (!batch.ParseFromString(payload)) {
    return absl::DataLossError(
        absl::StrCat("spool: ", path_, ": damaged at offset ", pending.offset));
  }
  return batch;
}

v1::AppendBatchRequest Spool::LastRound() const {
  absl::MutexLock lock(&mutex_);
  v1::AppendBatchRequest batch;
  batch.ParseFromString(last_round_);  // it was parsed before
  return batch;
}

absl::Status Spool::Acknowledge(uint64_t position, const internal::AcknowledgedTree& receipt) {
  absl::MutexLock lock(&mutex_);
  if (position > state_.end) {
    return absl::OutOfRangeError(absl::StrCat("spool: ", path_, " has no batch ", position - 1));
  }
  if (position <= state_.acknowledged && receipt.size <= state_.receipt.size) {
    return KeepLarger(receipt, state_.receipt);
  }
  RETURN_IF_ERROR(KeepLarger(receipt, state_.receipt));
  DropPending(position);
  RETURN_IF_ERROR(failure_);
  internal::Digest chain = chain_;
  const std::string record = internal::EncodeRecord(
      RecordKind::kAcknowledged,
      internal::EncodeAcknowledgement({state_.acknowledged, state_.receipt}), chain);
  if (ClearedBytes() >= std::max(kMinClearedBytes, pending_bytes_) ||
      size_ + record.size() > options_.bound_bytes) {
    return Rewrite();
  }
  chain_ = chain;
  return Write(record);
}

absl::Status Spool::Confirm(uint64_t entries, uint64_t next_round) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(failure_);
  if (!pending_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("spool: ", path_, " holds batches that are not acknowledged"));
  }
  if (state_.confirmed && entries <= state_.entries && next_round <= state_.next_round) {
    return absl::OkStatus();
  }
  state_.confirmed = true;
  state_.entries = std::max(state_.entries, entries);
  state_.acknowledged_entries = state_.entries;
  state_.next_round = std::max(state_.next_round, next_round);
  return Rewrite();
}

Spool::State Spool::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

absl::Status Spool::Rewrite() {
  internal::SpoolHeader header{state_,           state_.acknowledged,
                               options_.ledger,  options_.writer,
                               status_position_, state_.status.SerializeAsString()};
  header.entries = state_.acknowledged_entries;
  internal::Digest chain = {};
  std::string file =
      internal::EncodeRecord(RecordKind::kHeader, internal::EncodeHeader(header), chain);
  if (LastRoundIsAcknowledged()) {
    file.append(internal::EncodeRecord(RecordKind::kLastRound, last_round_, chain));
  }
  std::deque<Pending> pending = pending_;
  for (Pending& batch : pending) {
    ASSIGN_OR_RETURN(const std::string payload, ReadBytes(batch.offset, batch.size));
    batch.offset = file.size() + internal::kRecordHeadSize;
    file.append(internal::EncodeRecord(RecordKind::kBatch, payload, chain));
  }
  if (absl::Status written = WriteFileDurably(path_, file); !written.ok()) return Fail(written);
  RETURN_IF_ERROR(Reopen());
  pending_ = std::move(pending);
  chain_ = chain;
  size_ = file.size();
  return absl::OkStatus();
}

absl::Status Spool::Reopen() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  return fd_ >= 0 ? absl::OkStatus() : Fail(ErrnoError(errno, "open", path_));
}

absl::Status Spool::Write(std::string_view record) {
  size_ += record.size();
  const absl::Status written = WriteAll(fd_, record, path_);
  return written.ok() ? written : Fail(written);
}

absl::StatusOr<std::string> Spool::ReadBytes(uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t n =
        ::pread(fd_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read", path_);
    if (n == 0) {
      return absl::DataLossError(
          absl::StrCat("spool: ", path_, ": ends before offset ", offset + size));
    }
    done += static_cast<size_t>(n);
  }
  return bytes;
}

absl::Status Spool::Fail(absl::Status error) {
  if (failure_.ok())
    failure_ = absl::Status(error.code(), absl::StrCat("spool: ", error.message()));
  return failure_;
}

}  // namespace dpledger::client
