#include "identity/tokens.h"

#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hex.h"
#include "base/status.h"
#include "identity/text_file.h"

namespace dpledger::identity {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(100);
constexpr absl::Duration kWriteUseEvery = absl::Minutes(1);

std::string UseLine(const Sha256Hash& hash, int64_t minute) {
  return absl::StrCat(HexEncode({reinterpret_cast<const char*>(hash.data()), hash.size()}), " ",
                      minute, "\n");
}

void RaiseTo(int64_t minute, std::atomic<int64_t>& last_use) {
  int64_t now = last_use.load(std::memory_order_relaxed);
  while (now < minute && !last_use.compare_exchange_weak(now, minute, std::memory_order_relaxed)) {
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokens>> Tokens::OpenFile(const std::string& path, Clock* clock,
                                                         const Log* log) {
  const std::string lock = path + ".lock";
  return Open(std::make_unique<TextFile>(path, lock, TextFile::Kept::kDurably),
              std::make_unique<TextFile>(path + ".use", lock, TextFile::Kept::kAsHint), clock, log);
}

absl::StatusOr<std::unique_ptr<Tokens>> Tokens::Open(std::unique_ptr<SharedText> text,
                                                     std::unique_ptr<SharedText> use, Clock* clock,
                                                     const Log* log) {
  std::unique_ptr<Tokens> tokens(new Tokens(std::move(text), std::move(use), clock, log));
  absl::MutexLock changing(&tokens->changing_);
  const absl::StatusOr<std::string> content = *tokens->text_->Changed();
  TokenTable table;
  if (!absl::IsNotFound(content.status())) {
    ASSIGN_OR_RETURN(table, tokens->TableFrom(content));
  }
  tokens->Install(std::move(table));
  tokens->ReadLastUse();
  return tokens;
}

absl::StatusOr<TokenTable> Tokens::TableFrom(const absl::StatusOr<std::string>& text) const {
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<TokenTable> table = TokenTable::Parse(*text);
  if (table.ok()) return table;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(text_->name(), ": ", table.status().message())),
      ReasonOf(table.status()));
}

std::shared_ptr<const Tokens::Snapshot> Tokens::snapshot() const {
  absl::ReaderMutexLock lock(&mutex_);
  return snapshot_;
}

void Tokens::Install(TokenTable table) {
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

std::shared_ptr<const TokenRecord> Tokens::Find(const Sha256Hash& hash) {
  const auto look = [&]() -> std::shared_ptr<const TokenRecord> {
    const std::shared_ptr<const Snapshot> now = snapshot();
    const auto found = now->by_hash.find(hash);
    return found == now->by_hash.end() ? nullptr : found->second.token;
  };
  std::shared_ptr<const TokenRecord> token = look();
  if (token != nullptr) return token;
  // Not waited for: a change may wait for another server's lock, and a database for its network;
  // strangers' tokens are never known.
  if (!changing_.TryLock()) return nullptr;
  if (text_->is_near() && clock_.Steady() - looked_ >= kLookAgain) ReadIfChanged();
  changing_.Unlock();
  return look();
}

void Tokens::NoteUse(const TokenRecord& token, absl::Time now) {
  const std::shared_ptr<const Snapshot> current = snapshot();
  const auto found = current->by_hash.find(token.hash);
  if (found == current->by_hash.end()) return;
  const int64_t minute = absl::ToUnixSeconds(now) / 60;
  // Read first: calls on all cores show the same token, and only the first of a minute writes.
  if (found->second.last_use->load(std::memory_order_relaxed) >= minute) return;
  RaiseTo(minute, *found->second.last_use);
  used_.store(true, std::memory_order_release);
}

absl::StatusOr<TokenTable> Tokens::List() {
  Refresh();
  absl::MutexLock changing(&changing_);
  ReadLastUse();
  const std::shared_ptr<const Snapshot> now = snapshot();
  TokenTable table = now->table;
  for (TokenRecord& token : table.tokens) {
    const int64_t minute = now->by_hash.at(token.hash).last_use->load(std::memory_order_relaxed);
    if (minute > 0) token.last_use = absl::FromUnixSeconds(minute * 60);
  }
  return table;
}

absl::Status Tokens::Change(const std::function<absl::Status(TokenTable&)>& change) {
  absl::MutexLock changing(&changing_);
  TokenTable table;
  const absl::Status edited = text_->Edit([&](const SharedText::Edited& now) -> SharedText::Edited {
    changing_.AssertHeld();
    table = TokenTable();
    if (!absl::IsNotFound(now.status())) {
      ASSIGN_OR_RETURN(table, TableFrom(now));
    } else if (!snapshot()->table.tokens.empty()) {
      return WithReason(
          absl::FailedPreconditionError(absl::StrCat(
              text_->name(), ": is gone, and writing it anew would lose its tokens: put it back")),
          {"TOKENS_GONE", {}});
    }
    RETURN_IF_ERROR(change(table));
    return table.ToText();
  });
  RETURN_IF_ERROR(edited);
  Install(std::move(table));
  return absl::OkStatus();
}

void Tokens::ReadIfChanged() {
  looked_ = clock_.Steady();
  const std::optional<absl::StatusOr<std::string>> content = text_->Changed();
  if (!content.has_value()) return;
  // That no file is there yet is how a first start looks.
  if (absl::IsNotFound(content->status()) && snapshot()->table.tokens.empty()) return;
  absl::StatusOr<TokenTable> table = TableFrom(*content);
  if (table.ok()) {
    Install(*std::move(table));
  } else if (log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "tokens_kept",
                {{"error", std::string(table.status().message())}});
  }
}

void Tokens::Refresh() {
  absl::MutexLock changing(&changing_);
  ReadIfChanged();
  if (clock_.Steady() - use_written_ >= kWriteUseEvery && used_.load(std::memory_order_acquire)) {
    WriteLastUse();
  }
}

void Tokens::ReadLastUse() {
  const std::optional<absl::StatusOr<std::string>> text = use_->Changed();
  if (text.has_value() && text->ok()) use_read_ = **text;
  RaiseFrom(use_read_);  // also of tokens that were not known when it was read
}

void Tokens::RaiseFrom(absl::string_view use) const {
  const std::shared_ptr<const Snapshot> now = snapshot();
  const int64_t this_minute = absl::ToUnixSeconds(clock_.Now()) / 60;
  for (const absl::string_view line : absl::StrSplit(use, '\n')) {
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
    const auto found = now->by_hash.find(hash);
    if (found != now->by_hash.end() && minute <= this_minute)
      RaiseTo(minute, *found->second.last_use);
  }
}

void Tokens::WriteLastUse() {
  use_written_ = clock_.Steady();
  const absl::Status status =
      use_->Edit([&](const SharedText::Edited& of_others) -> SharedText::Edited {
        used_.store(false, std::memory_order_release);
        if (of_others.ok()) RaiseFrom(*of_others);
        std::string text;
        for (const auto& [hash, entry] : snapshot()->by_hash) {
          const int64_t minute = entry.last_use->load(std::memory_order_relaxed);
          if (minute > 0) text += UseLine(hash, minute);
        }
        return text;
      });
  if (!status.ok() && !use_failed_ && log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "last_use_not_written",
                {{"error", std::string(status.message())}});
  }
  use_failed_ = !status.ok();
}

}  // namespace dpledger::identity
