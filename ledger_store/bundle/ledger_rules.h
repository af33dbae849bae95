// The rules that the entries of a ledger keep among themselves, from the first to the last: what a
// server that follows docs/formats.md can have written. Signatures and hashes are not looked at
// here.
//
//  1. Streaming: an entry is looked at once, and what is kept is bounded by the number of writers
//     (at most 2^20).
//  2. The entries of a copied ledger (Import) are checked as the ledger they are copies of.
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
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/bundle/entry_frame.h"
#include "merkle/compact_tree.h"

namespace dpledger::bundle {

// What else is done with entries: they are given in order, each after it was checked. An error ends
// the verification with it.
using EntrySink = std::function<absl::Status(std::string_view entry)>;

class LedgerRules {
 public:
  LedgerRules() = default;
  // `entries` may be null.
  explicit LedgerRules(const EntrySink* entries) : entries_(entries) {}

  // The next entry's bytes. A difference (difference.h) of class entry or import, with the
  // sequence.
  absl::Status Add(std::string_view entry);

  uint64_t size() const { return size_; }
  bool sealed() const { return sealed_; }
  size_t writers() const { return writers_.size() - writers_.count(""); }
  // What the entries make of a writer; nothing if it wrote none.
  std::optional<v1::WriterStatus> StatusOf(std::string_view writer) const;

  // All of them, by name; the server's own is "".
  using Writers = std::map<std::string, v1::WriterStatus, std::less<>>;
  const Writers& writer_statuses() const { return writers_; }

  // Entry 0: with its declaration, fork or import, and nothing else. Precondition: size() > 0.
  const v1::LedgerEntry& first() const { return first_; }
  // The ledger whose entries these are copies of; null if they are not.
  const LedgerRules* original() const { return original_.get(); }
  // This one, or the innermost original: whose events were given.
  const LedgerRules& source() const { return original_ == nullptr ? *this : original_->source(); }
  const v1::Declaration& declaration() const;
  // Whether all that was to be copied is there, here and within.
  bool complete() const;

  // An entry in messages: "entry 17"; of a copy also "original entry 17".
  std::string Where(uint64_t sequence) const;

 private:
  LedgerRules(std::string prefix, int depth) : where_prefix_(std::move(prefix)), depth_(depth) {}

  absl::Status Wrong(std::string_view rule) const;
  absl::Status Wrong(std::string_view field, uint64_t expected, uint64_t found) const;
  // A rule of writers in this ledger's words.
  absl::Status Wrong(const absl::Status& broken) const;
  absl::Status CheckFrame(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddFirst(const EntryFrame& frame);
  absl::Status AddBody(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddEvent(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddLate(const EntryFrame& frame, v1::WriterStatus& writer);
  absl::Status AddSeal(const EntryFrame& frame);
  absl::Status AddForkNotice(const EntryFrame& frame);
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
  // The writer of the entry before, for entries come in runs; null at first.
  std::pair<const std::string, v1::WriterStatus>* last_writer_ = nullptr;
  std::unique_ptr<LedgerRules> original_;
  merkle::CompactTree original_tree_;
};

}  // namespace dpledger::bundle
