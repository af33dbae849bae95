#include "identity/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/secret_file.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(100);
constexpr absl::Duration kWriteUseEvery = absl::Minutes(1);

// A lock among processes, and among the threads of one: each has a descriptor of its own.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Take(const std::string& path, bool wait) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return ErrnoError(errno, "open", path);
    FileLock lock(fd);
    while (::flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
      if (errno != EINTR) return ErrnoError(errno, "lock", path);
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

absl::StatusOr<TokenTable> TableFrom(const absl::StatusOr<std::string>& content,
                                     const std::string& path) {
  RETURN_IF_ERROR(content.status());
  absl::StatusOr<TokenTable> table = TokenTable::Parse(*content);
  if (table.ok()) return table;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(path, ": ", table.status().message())),
      ReasonOf(table.status()));
}

std::string UseLine(const Sha256Hash& hash, int64_t minute) {
  return absl::StrCat(HexEncode({reinterpret_cast<const char*>(hash.data()), hash.size()}), " ",
                      minute, "\n");
}

void RaiseTo(int64_t minute, std::atomic<int64_t>& last_use) {
  int64_t now = last_use.load(std::memory_order_relaxed);
  while (now < minute && !last_use.compare_exchange_weak(now, minute, std::memory_order_relaxed)) {
  }
}

// Not synced: what is lost is told by the next use.
absl::Status ReplaceUnsynced(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoError(errno, "open", temporary);
  const ssize_t written = ::write(fd, content.data(), content.size());
  const int error = written < 0 ? errno : ENOSPC;
  ::close(fd);
  if (written != static_cast<ssize_t>(content.size())) {
    ::unlink(temporary.c_str());
    return ErrnoError(error, "write", temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoError(errno, "rename", temporary);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(const std::string& path, Clock* clock,
                                                           const Log* log) {
  std::unique_ptr<TokenFile> file(new TokenFile(path, clock, log));
  absl::MutexLock changing(&file->changing_);
  const absl::StatusOr<std::string> content = *file->file_.Changed();
  TokenTable table;
  if (!absl::IsNotFound(content.status())) {
    ASSIGN_OR_RETURN(table, TableFrom(content, path));
  }
  file->Install(std::move(table));
  file->ReadLastUse(*file->snapshot());
  return file;
}

std::shared_ptr<const TokenFile::Snapshot> TokenFile::snapshot() const {
  absl::ReaderMutexLock lock(&mutex_);
  return snapshot_;
}

void TokenFile::Install(TokenTable table) {
  auto next = std::make_shared<Snapshot>();
  const std::shared_ptr<const Snapshot> before = snapshot();
  for (const TokenRecord& token : table.tokens) {
    std::shared_ptr<LastUse> last_use;
    if (before != nullptr) {
      const auto found = before->by_hash.find(token.hash);
      if (found != before->by_hash.end()) last_use = found->second.last_use;
    }
    if (last_use == nullptr) last_use = std::make_shared<LastUse>(0);
    next->by_hash.emplace(token.hash,
                          Entry{std::make_shared<const TokenRecord>(token), std::move(last_use)});
  }
  next->table = std::move(table);
  absl::MutexLock lock(&mutex_);
  snapshot_ = std::move(next);
}

std::shared_ptr<const TokenRecord> TokenFile::Find(const Sha256Hash& hash) {
  const auto look = [&]() -> std::shared_ptr<const TokenRecord> {
    const std::shared_ptr<const Snapshot> now = snapshot();
    const auto found = now->by_hash.find(hash);
    return found == now->by_hash.end() ? nullptr : found->second.token;
  };
  std::shared_ptr<const TokenRecord> token = look();
  if (token != nullptr) return token;
  // Not waited for: a change may wait for another server's lock, and strangers' tokens are never
  // known.
  if (!changing_.TryLock()) return nullptr;
  if (clock_.Steady() - looked_ >= kLookAgain) ReadIfChanged();
  changing_.Unlock();
  return look();
}

void TokenFile::NoteUse(const TokenRecord& token, absl::Time now) {
  const std::shared_ptr<const Snapshot> current = snapshot();
  const auto found = current->by_hash.find(token.hash);
  if (found == current->by_hash.end()) return;
  const int64_t minute = absl::ToUnixSeconds(now) / 60;
  // Read first: calls on all cores show the same token, and only the first of a minute writes.
  if (found->second.last_use->load(std::memory_order_relaxed) >= minute) return;
  RaiseTo(minute, *found->second.last_use);
  used_.store(true, std::memory_order_release);
}

absl::StatusOr<TokenTable> TokenFile::List() {
  Refresh();
  const std::shared_ptr<const Snapshot> now = snapshot();
  ReadLastUse(*now);
  TokenTable table = now->table;
  for (TokenRecord& token : table.tokens) {
    const int64_t minute = now->by_hash.at(token.hash).last_use->load(std::memory_order_relaxed);
    if (minute > 0) token.last_use = absl::FromUnixSeconds(minute * 60);
  }
  return table;
}

absl::Status TokenFile::Change(const std::function<absl::Status(TokenTable&)>& change) {
  absl::MutexLock changing(&changing_);
  ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(path_ + ".lock", /*wait=*/true));
  const absl::StatusOr<std::string> content = ReadOwnersFile(path_);
  TokenTable table;
  if (!absl::IsNotFound(content.status())) {
    ASSIGN_OR_RETURN(table, TableFrom(content, path_));
  } else if (!snapshot()->table.tokens.empty()) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          path_,
                          ": is gone, and writing it anew would lose its tokens: put it "
                          "back")),
                      {"TOKEN_FILE_GONE", {}});
  }
  RETURN_IF_ERROR(change(table));
  RETURN_IF_ERROR(ReplaceSecretFile(path_, table.ToText()));
  Install(std::move(table));
  return absl::OkStatus();
}

void TokenFile::ReadIfChanged() {
  looked_ = clock_.Steady();
  const std::optional<absl::StatusOr<std::string>> content = file_.Changed();
  if (!content.has_value()) return;
  // That no file is there yet is how a first start looks.
  if (absl::IsNotFound(content->status()) && snapshot()->table.tokens.empty()) return;
  absl::StatusOr<TokenTable> table = TableFrom(*content, path_);
  if (table.ok()) {
    Install(*std::move(table));
  } else if (log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "tokens_kept",
                {{"error", std::string(table.status().message())}});
  }
}

void TokenFile::Refresh() {
  absl::MutexLock changing(&changing_);
  ReadIfChanged();
  if (clock_.Steady() - use_written_ >= kWriteUseEvery && used_.load(std::memory_order_acquire)) {
    WriteLastUse();
  }
}

void TokenFile::ReadLastUse(const Snapshot& snapshot) const {
  const absl::StatusOr<std::string> content = ReadOwnersFile(path_ + ".use");
  if (!content.ok()) return;
  for (const absl::string_view line : absl::StrSplit(*content, '\n')) {
    const std::pair<std::string, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const absl::StatusOr<std::string> bytes = HexDecode(parts.first);
    int64_t minute = 0;
    Sha256Hash hash;
    // A line that is cut, or of a token that is gone, says nothing.
    if (!bytes.ok() || bytes->size() != hash.size() || !absl::SimpleAtoi(parts.second, &minute)) {
      continue;
    }
    std::memcpy(hash.data(), bytes->data(), hash.size());
    const auto found = snapshot.by_hash.find(hash);
    const int64_t now = absl::ToUnixSeconds(clock_.Now()) / 60;
    if (found != snapshot.by_hash.end() && minute <= now) RaiseTo(minute, *found->second.last_use);
  }
}

void TokenFile::WriteLastUse() {
  use_written_ = clock_.Steady();
  const absl::StatusOr<FileLock> lock = FileLock::Take(path_ + ".lock", /*wait=*/false);
  absl::Status status = lock.status();
  if (status.ok()) {
    used_.store(false, std::memory_order_release);
    const std::shared_ptr<const Snapshot> now = snapshot();
    ReadLastUse(*now);  // of the other servers
    std::string content;
    for (const auto& [hash, entry] : now->by_hash) {
      const int64_t minute = entry.last_use->load(std::memory_order_relaxed);
      if (minute > 0) content += UseLine(hash, minute);
    }
    status = ReplaceUnsynced(path_ + ".use", content);
  }
  if (!status.ok() && !use_failed_ && log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "last_use_not_written",
                {{"error", std::string(status.message())}});
  }
  use_failed_ = !status.ok();
}

}  // namespace dpledger::identity
