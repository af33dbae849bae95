#include "server/own_ledgers/access_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/proto_json.h"
#include "identity/token.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr uint64_t kRefusalsOfACaller = 60;         // in a minute, one by one
constexpr size_t kReadBytesOfACaller = 64 * 1'024;  // of the notes of what it reads in a minute
constexpr size_t kFieldBytes = 64;                  // of a read in a note, beside its words
constexpr size_t kMostCallers = 2'000;              // by their names in a minute
constexpr size_t kMostWaiting = 2'000;
constexpr size_t kNotesOfABatch = 500;
constexpr size_t kMaxTextBytes = 512;
// One JSON object of a read: two texts of that size, escaped, and the names of its fields.
constexpr size_t kMaxReadBytes = 1'200;

std::string Cut(const std::string& text) {
  return PlainText(identity::WithoutTokens(text), kMaxTextBytes);
}

}  // namespace

AccessRecord::AccessRecord(LedgerStore* store, Clock* clock, const Log* log)
    : store_(*store),
      clock_(*clock),
      failed_(log, "access_not_recorded", absl::Minutes(1)),
      writer_(NewServerName()) {}

AccessRecord::~AccessRecord() { Stop(); }

void AccessRecord::Start() {
  thread_ = std::thread([this] { Run(); });
}

void AccessRecord::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::Status written = WriteWaiting(/*all=*/true);
  absl::MutexLock writing(&writing_);
  if (written.ok()) written = CloseWriter();
  if (!written.ok()) failed_.Write("", "", FromAbsl(written.message()));
}

void AccessRecord::Run() {
  const auto stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; };
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping), absl::Seconds(1))) return;
    }
    const absl::Status written = Flush();
    if (!written.ok()) failed_.Write("", "", FromAbsl(written.message()));
  }
}

v1::Access AccessRecord::New(const std::string& caller, const std::string& peer,
                             absl::Time time) const {
  v1::Access access;
  access.mutable_time()->set_seconds(absl::ToUnixSeconds(time));
  access.set_caller(Cut(caller));
  access.set_peer(Cut(peer));
  return access;
}

AccessRecord::Minute& AccessRecord::MinuteOf(const std::string& caller) {
  CollectMinute(/*all=*/false);
  const std::string name = Cut(caller);
  const bool known = callers_.size() < kMostCallers || callers_.contains(name);
  return callers_[known ? name : kOthers];
}

void AccessRecord::Reads(const std::string& caller, std::string_view permission,
                         const std::string& resource, uint64_t entries) {
  absl::MutexLock lock(&mutex_);
  Minute& minute = MinuteOf(caller);
  std::pair<std::string, std::string> key(permission, Cut(resource));
  if (!minute.reads.contains(key)) {
    // Many names that are listed or asked about hide no reads of entries.
    const bool of_entries = entries > 0;
    size_t& held = of_entries ? minute.entry_bytes : minute.other_bytes;
    const size_t bytes = key.first.size() + key.second.size() + kFieldBytes;
    if (held + bytes > kReadBytesOfACaller) {
      key.second = kOthers;
    } else {
      held += bytes;
    }
  }
  Read& read = minute.reads[std::move(key)];
  ++read.count;
  read.entries += entries;
}

void AccessRecord::Refused(const std::string& caller, bool identified, const std::string& peer,
                           v1::Access::Refused refused) {
  const std::string share = identified ? Cut(caller) : "";
  absl::MutexLock lock(&mutex_);
  if (++MinuteOf(share).refused > kRefusalsOfACaller) return;
  v1::Access access = New(caller, peer, clock_.Now());
  refused.set_permission(Cut(refused.permission()));
  refused.set_resource(Cut(refused.resource()));
  refused.set_request_id(Cut(refused.request_id()));
  refused.set_reason(Cut(refused.reason()));
  refused.set_count(1);
  *access.mutable_refused() = std::move(refused);
  Add(access, share);
}

absl::Status AccessRecord::Administers(const std::string& caller, const std::string& peer,
                                       const std::string& method, const std::string& about) {
  bool added = false;
  {
    absl::MutexLock lock(&mutex_);
    v1::Access access = New(caller, peer, clock_.Now());
    access.mutable_administers()->set_method(method);
    access.mutable_administers()->set_about(Cut(about));
    added = Add(access, access.caller());
  }
  const absl::Status written =
      added ? WriteWaiting(/*all=*/false) : absl::ResourceExhaustedError("too much waits for it");
  if (written.ok()) return absl::OkStatus();
  return WithReason(absl::UnavailableError(absl::StrCat(
                        "administration is recorded before it is done, and the access record "
                        "cannot be written: ",
                        written.message())),
                    {"ACCESS_NOT_RECORDED", {}});
}

void AccessRecord::CollectMinute(bool all) {
  const absl::Time minute = CutToMinute(clock_.Now());
  if (minute == minute_ && !all) return;
  for (const auto& [caller, done] : callers_) {
    v1::Access access = New(caller, "", minute_);
    size_t bytes = kMaxTextBytes;
    for (const auto& [key, read] : done.reads) {
      if (bytes > kMaxNoteBytes - 2 * kMaxReadBytes) {
        Add(access, access.caller());
        access.clear_reads();
        bytes = kMaxTextBytes;
      }
      v1::Access::Reads& reads = *access.add_reads();
      reads.set_permission(key.first);
      reads.set_resource(key.second);
      reads.set_count(read.count);
      reads.set_entries(read.entries);
      bytes += events::MessageToJson(reads).size() + 1;
    }
    if (access.reads_size() > 0) Add(access, access.caller());
    if (done.refused > kRefusalsOfACaller) {
      access.clear_reads();
      access.mutable_refused()->set_reason("more than are recorded one by one in a minute");
      access.mutable_refused()->set_count(done.refused - kRefusalsOfACaller);
      Add(access, access.caller());
    }
  }
  callers_.clear();
  minute_ = minute;
}

void AccessRecord::DropOfHeaviest() {
  const auto heaviest =
      std::max_element(waiting_of_.begin(), waiting_of_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const Waiting& waiting) {
    return waiting.caller == heaviest->first;
  });
  waiting_.erase(std::next(last).base());
  ++lost_[heaviest->first];
  --heaviest->second;
}

bool AccessRecord::Add(const v1::Access& access, const std::string& share) {
  ++waiting_of_[share];
  waiting_.push_back({share, events::MessageToJson(access)});
  if (waiting_.size() <= kMostWaiting) return true;
  const uint64_t before = lost_[share];
  DropOfHeaviest();
  return lost_[share] == before;
}

void AccessRecord::AddWhatWasLost() {
  for (const auto& [caller, count] : std::exchange(lost_, {})) {
    if (count == 0) continue;
    failed_.Write("", caller, "more waited to be written than is kept");
    v1::Access access = New(caller, "", clock_.Now());
    access.mutable_refused()->set_reason("lost: more waited to be written than is kept");
    access.mutable_refused()->set_count(count);
    ++waiting_of_[access.caller()];
    waiting_.push_back({access.caller(), events::MessageToJson(access)});
  }
}

absl::Status AccessRecord::Flush() {
  {
    absl::MutexLock lock(&mutex_);
    CollectMinute(/*all=*/false);
  }
  return WriteWaiting(/*all=*/false);
}

absl::Status AccessRecord::WriteWaiting(bool all) {
  absl::MutexLock writing(&writing_);
  while (true) {
    std::vector<std::string> notes;
    if (!unanswered_.has_value()) {
      absl::MutexLock lock(&mutex_);
      if (all) CollectMinute(/*all=*/true);
      all = false;
      if (waiting_.empty()) return absl::OkStatus();
      AddWhatWasLost();
      while (!waiting_.empty() && notes.size() < kNotesOfABatch) {
        const auto of = waiting_of_.find(waiting_.front().caller);
        if (--of->second == 0) waiting_of_.erase(of);
        notes.push_back(std::move(waiting_.front().note));
        waiting_.pop_front();
      }
    }
    RETURN_IF_ERROR(Write(std::move(notes)));
  }
}

absl::Status AccessRecord::Write(std::vector<std::string> notes) {
  if (!unanswered_.has_value()) {
    unanswered_ = NoteBatch("", writer_, "", std::move(notes));
  }
  if (unanswered_->ledger().empty()) {
    const std::string month = absl::FormatTime("%Y-%m", clock_.Now(), absl::UTCTimeZone());
    // Never back to a ledger in which the writer has closed, though the clock may go back.
    RETURN_IF_ERROR(
        Open(std::max(ledger_, absl::StrCat(ToAbsl(kAccessRecordProject), "/ledgers/", month))));
    unanswered_->set_ledger(ledger_);
    unanswered_->set_request_id(absl::StrCat(writer_, "-", requests_++));
  }
  // The same request until it is answered: what an earlier try has stored is not stored again.
  RETURN_IF_ERROR(store_.Append(*unanswered_).status());
  written_ += static_cast<uint64_t>(unanswered_->entries_size());
  unanswered_.reset();
  return absl::OkStatus();
}

absl::Status AccessRecord::Open(const std::string& ledger) {
  if (ledger == ledger_) return absl::OkStatus();
  RETURN_IF_ERROR(CloseWriter());
  RETURN_IF_ERROR(store_
                      .Create(NewOwnLedger(ledger, "access-record", "call",
                                           "who used the server for what; docs/identity.md"))
                      .status());
  ledger_ = ledger;
  written_ = 0;
  return absl::OkStatus();
}

absl::Status AccessRecord::CloseWriter() {
  if (written_ == 0) return absl::OkStatus();
  v1::AppendBatchRequest batch = NoteBatch(ledger_, writer_, absl::StrCat(writer_, "-close"), {});
  batch.add_entries()->mutable_writer_closed()->set_entry_count(written_ + 1);
  RETURN_IF_ERROR(store_.Append(batch).status());
  written_ = 0;
  return absl::OkStatus();
}

}  // namespace dpledger::server
