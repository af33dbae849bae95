// An embedded store with questions asked of it: what the accounting tests of ledgers share. Asked
// without gRPC, through the very functions that the service calls.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ledger_store/embedded/embedded_store.h"
#include "merkle/authenticator.h"
#include "merkle/compact_tree.h"
#include "questions/answers.h"
#include "server/questions/stored_history.h"
#include "server/questions/subject_source.h"
#include "tests/events/field_rules.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/server/watched_store.h"

namespace dpledger::server {

// `count` rounds at q = 0.01 and noise multiplier 1.
inline v1::Event RoundsEvent(uint64_t count) {
  return accountant::FromText<v1::Event>(
      absl::StrCat("rounds { scheme { poisson { probability: 0.01 } } "
                   "queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
                   count, " }"));
}

inline std::string LedgerName(const std::string& id) {
  return absl::StrCat("projects/p/ledgers/", id);
}

class AccountedStore {
 public:
  AccountedStore() { Open(); }

  LedgerStore& store() { return *store_; }
  StoreWatch& watch() { return *watch_; }
  SubjectSource& source() { return *source_; }
  // As after a restart of the server, with the same signing key.
  void Reopen() {
    source_.reset();
    store_.reset();
    Open();
  }
  // What the server's run-length tables are authenticated by.
  const merkle::Authenticator& history_key() const { return *tables_.key; }
  void ChangeKey(char key) { tables_.key = KeyOf(key); }
  // The log so far.
  std::string Logged() {
    std::string text(size_t{1} << 16, '\0');
    const ssize_t read = ::pread(::fileno(log_file_.get()), text.data(), text.size(), 0);
    return text.substr(0, read < 0 ? 0 : static_cast<size_t>(read));
  }

  v1::Ledger Create(const std::string& id,
                    const std::function<void(v1::Declaration&)>& declare = nullptr) {
    v1::CreateLedgerRequest request = CreateRequest(LedgerName(id));
    if (declare) declare(*request.mutable_declaration());
    return Must(store_->Create(request));
  }
  // As one batch of the writer "w".
  void Append(const std::string& id, const std::vector<v1::Event>& events) {
    v1::AppendBatchRequest batch = Batch(LedgerName(id), "w", absl::StrCat("r", ++requests_));
    for (const v1::Event& event : events) *batch.add_entries()->mutable_event() = event;
    Append(batch);
  }
  void Append(const v1::AppendBatchRequest& batch) { Must(store_->Append(batch)); }

  std::vector<std::string> Entries(const std::string& id, uint64_t first, uint64_t size) {
    return Must(store_->Read(LedgerName(id), first, size, size_t{1} << 30));
  }
  // The root of the first `size` entries, from their bytes.
  merkle::Hash RootOf(const std::string& id, uint64_t size) {
    merkle::CompactTree tree;
    for (const std::string& entry : Entries(id, 0, size)) tree.Append(merkle::LeafHash(entry));
    return tree.Root();
  }

  // A fork of the first `size` entries. Another root than theirs breaks Fork's precondition.
  v1::Ledger Fork(const std::string& parent, uint64_t size, const std::string& child) {
    return Fork(parent, {size, RootOf(parent, size)}, child);
  }
  v1::Ledger Fork(const std::string& parent, const LedgerPoint& point, const std::string& child,
                  const std::function<void(v1::Declaration&)>& declare = nullptr) {
    v1::ForkLedgerRequest request;
    request.set_parent(LedgerName(parent));
    request.set_parent_size(point.size);
    request.set_name(LedgerName(child));
    request.set_request_id(absl::StrCat("fork-", child));
    if (declare) {
      *request.mutable_declaration() = Must(store_->Get(LedgerName(parent))).declaration();
      declare(*request.mutable_declaration());
    }
    return Must(store_->Fork(request, point));
  }

  questions::Subject Gather(const v1::Subject& subject) {
    return Must(source_->Gather(subject, /*group_size=*/0, {}));
  }
  absl::StatusOr<v1::ComputeEpsilonResponse> Ask(const v1::Subject& subject) {
    const auto gathered = source_->Gather(subject, /*group_size=*/0, {});
    if (!gathered.ok()) return gathered.status();
    v1::ComputeEpsilonRequest request;
    request.set_delta(1e-5);
    return questions::Answer(*gathered, request, {});
  }
  absl::StatusOr<v1::ComputeEpsilonResponse> Ask(const std::vector<std::string>& ids,
                                                 uint64_t up_to_sequence = 0) {
    v1::Subject subject;
    for (const std::string& id : ids) subject.add_ledgers(LedgerName(id));
    subject.set_up_to_sequence(up_to_sequence);
    return Ask(subject);
  }
  v1::ComputeEpsilonResponse Answer(const std::vector<std::string>& ids,
                                    uint64_t up_to_sequence = 0) {
    return Must(Ask(ids, up_to_sequence));
  }
  // "[lower, upper]" to the last bit, of ledgers and of events alone.
  std::string EpsilonOf(const std::vector<std::string>& ids, uint64_t up_to_sequence = 0) {
    return Text(Answer(ids, up_to_sequence).epsilon());
  }
  std::string EpsilonOfEvents(const std::vector<v1::Event>& events) {
    v1::Subject subject;
    for (const v1::Event& event : events) *subject.add_events() = event;
    return Text(Must(Ask(subject)).epsilon());
  }

  static std::string Text(const v1::Interval& interval) {
    char text[80];
    std::snprintf(text, sizeof text, "[%.17g, %.17g]", interval.lower(), interval.upper());
    return text;
  }
  template <typename T>
  static T Must(absl::StatusOr<T> result) {
    if (!result.ok()) throw std::runtime_error(result.status().ToString());
    return *std::move(result);
  }

 private:
  void Open() {
    watch_ = std::make_unique<StoreWatch>();
    store_ = std::make_unique<WatchedStore>(
        Must(OpenEmbeddedStore({.folder = folder_.path(), .clock = &clock_})), watch_.get());
    source_ = std::make_unique<SubjectSource>(store_.get(), size_t{64} << 20, nullptr, tables_);
  }

  static std::shared_ptr<const merkle::Authenticator> KeyOf(char key) {
    return std::make_shared<merkle::Authenticator>(
        Must(merkle::Ed25519PrivateKey::FromSeed(std::string(32, key))), kHistoryPurpose);
  }

  TempFolder folder_;
  TestClock clock_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_file_{std::tmpfile(), &std::fclose};
  const Log log_{LogLevel::kInfo, ::fileno(log_file_.get())};
  TableKeeping tables_{KeyOf('k'), &log_};
  std::unique_ptr<StoreWatch> watch_;
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<SubjectSource> source_;
  int requests_ = 0;
};

}  // namespace dpledger::server
