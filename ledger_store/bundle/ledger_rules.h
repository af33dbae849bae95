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

// An event of the ledger, or, in a copy, of the original. Valid during the call.
struct EventEntry {
  uint64_t sequence = 0;
  std::string_view writer;
  std::string_view event;  // a serialised v1::Event
};
// What else is done with events: they are given in order. An error ends the verification with it.
using EventSink = std::function<absl::Status(const EventEntry&)>;

class LedgerRules {
 public:
  LedgerRules() = default;
  // `events` may be null.
  explicit LedgerRules(const EventSink* events) : events_(events) {}

  // The next entry's bytes. A difference (difference.h) of class entry or import, with the
  // sequence.
  absl::Status Add(std::string_view entry);

  uint64_t size() const { return size_; }
  bool sealed() const { return sealed_; }
  size_t writers() const { return writers_.size() - writers_.count(""); }
  // What the entries make of a writer; nothing if it wrote none.
  std::optional<v1::WriterStatus> StatusOf(std::string_view writer) const;
  // Those that have not closed, at most ten.
  std::vector<std::string> OpenWriters() const;

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
  struct Writer {
    uint64_t entries = 0;
    uint64_t last_round = 0;
    bool has_round = false;
    bool closed = false;
  };

  LedgerRules(const EventSink* events, std::string prefix, int depth)
      : events_(events), where_prefix_(std::move(prefix)), depth_(depth) {}

  absl::Status Wrong(std::string_view rule) const;
  absl::Status Wrong(std::string_view field, uint64_t expected, uint64_t found) const;
  absl::Status CheckFrame(const EntryFrame& frame, Writer& writer);
  absl::Status AddFirst(const EntryFrame& frame);
  absl::Status AddBody(const EntryFrame& frame, Writer& writer);
  absl::Status AddEvent(const EntryFrame& frame, Writer& writer);
  absl::Status AddSeal(const EntryFrame& frame);
  absl::Status AddForkNotice(const EntryFrame& frame);
  absl::Status AddImported(const EntryFrame& frame);
  absl::Status BeginOriginal();

  const EventSink* events_ = nullptr;
  std::string where_prefix_;
  int depth_ = 0;

  uint64_t size_ = 0;
  int64_t recorded_seconds_ = 0;
  bool sealed_ = false;
  v1::LedgerEntry first_;
  std::map<std::string, Writer, std::less<>> writers_;
  // The writer of the entry before, for entries come in runs; null at first.
  std::pair<const std::string, Writer>* last_writer_ = nullptr;
  std::unique_ptr<LedgerRules> original_;
  merkle::CompactTree original_tree_;
};

}  // namespace dpledger::bundle
