// Checks that a ledger's entries, from the first to the last, are such as a server that follows
// docs/formats.md can have written. Signatures and hashes are not checked here.
//
//  1. Streaming: each entry is read once. Memory is bounded by the number of writers (at most
//     2^20).
//  2. The copied entries of an import are checked as those of the original ledger.
// Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/request_runs.h"
#include "ledger_store/bundle/entry_frame.h"
#include "merkle/compact_tree.h"

namespace dpledger::bundle {

// Receives the entries in order, each after it was checked. Its error ends the verification.
using EntrySink = std::function<absl::Status(std::string_view entry)>;

class LedgerRules {
 public:
  LedgerRules() = default;
  // `entries` may be null.
  explicit LedgerRules(const EntrySink* entries) : entries_(entries) {}

  // Checks the next entry. A difference (difference.h) of class entry or import, with the sequence.
  absl::Status Add(std::string_view entry);

  uint64_t size() const { return size_; }
  bool sealed() const { return sealed_; }
  size_t writers() const { return writers_.size() - writers_.count(""); }
  // The writer's status after the entries so far; nullopt if it wrote none.
  std::optional<v1::WriterStatus> StatusOf(std::string_view writer) const;

  // All writers by name; the server's own is "".
  using Writers = std::map<std::string, v1::WriterStatus, std::less<>>;
  const Writers& writer_statuses() const { return writers_; }

  // Entry 0's DECLARATION, FORK or IMPORT, without its other fields. Precondition: size() > 0.
  const v1::LedgerEntry& first() const { return first_; }
  // The original that this ledger copies; null if it is not a copy.
  const LedgerRules* original() const { return original_.get(); }
  // The ledger whose events were passed to `entries`: this one, or the innermost original.
  const LedgerRules& source() const { return original_ == nullptr ? *this : original_->source(); }
  const v1::Declaration& declaration() const;
  // Whether all entries of every original were copied.
  bool complete() const;

  // An entry's name in messages: "entry 17", or in an original "original entry 17".
  std::string Where(uint64_t sequence) const;

 private:
  LedgerRules(std::string prefix, int depth) : where_prefix_(std::move(prefix)), depth_(depth) {}

  absl::Status Wrong(std::string_view rule) const;
  absl::Status Wrong(std::string_view field, uint64_t expected, uint64_t found) const;
  // Turns an error of events/writer_rules.h into a difference.
  absl::Status Wrong(const absl::Status& broken) const;
  absl::Status CheckFrame(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status CheckCaller(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddFirst(const EntryFrame& frame);
  absl::Status AddBody(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddEvent(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddLate(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddSeal(const EntryFrame& frame);
  absl::Status AddForkNotice(const EntryFrame& frame);
  absl::Status AddGrant(const EntryFrame& frame);
  absl::Status AddImported(const EntryFrame& frame);
  absl::Status BeginOriginal();

  const EntrySink* entries_ = nullptr;
  std::string where_prefix_;
  int depth_ = 0;

  uint64_t size_ = 0;
  int64_t recorded_seconds_ = 0;
  bool sealed_ = false;
  v1::LedgerEntry first_;
  Writers writers_;
  events::RequestRuns requests_;
  // The previous entry's writer, because entries of one writer come in runs; null at first.
  std::pair<const std::string, v1::WriterStatus>* last_writer_ = nullptr;
  std::unique_ptr<LedgerRules> original_;
  merkle::CompactTree original_tree_;
};

}  // namespace dpledger::bundle
