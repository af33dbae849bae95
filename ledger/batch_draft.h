// A batch of entries, read and serialised as far as it can be before its place in a ledger is
// known. What is left to do when it gets there is small: compare numbers, write the fields before
// the body, hash. Engines make drafts on their callers' threads, where the request's many small
// objects are freed too.
//
// The bytes of an entry's body are cut out of the request as it is serialised for its hash: each
// event is serialised once.
// A value. Thread safe as far as it is const.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dpledger/v1/ledger_service.pb.h"
#include "events/writer_rules.h"
#include "merkle/sha256.h"

namespace dpledger {

class BatchDraft {
 public:
  struct Entry {
    v1::NewEntry::BodyCase body = v1::NewEntry::BODY_NOT_SET;
    std::optional<int64_t> claimed_seconds;  // of the writer's clock, cut to the minute
    // What the rules of a ledger's head ask of a body.
    events::RoundStep::Kind round = events::RoundStep::Kind::kNone;  // events
    // Events: the round. Ends of writers: the entry count. Corrections: the corrected sequence.
    // Imported: the original's sequence, nothing if the original does not parse.
    std::optional<uint64_t> number;
    // Of what the rules read more than a number of: its place in kept().
    std::optional<size_t> kept;
    size_t body_begin = 0;  // in the draft's bytes
    size_t body_bytes = 0;
  };

  // Precondition: CheckRequest(request) is OK.
  explicit BatchDraft(v1::AppendBatchRequest request);

  const std::string& ledger() const { return ledger_; }
  const std::string& writer() const { return writer_; }
  const std::string& request_id() const { return request_id_; }
  const std::string& incarnation() const { return incarnation_; }
  const std::optional<uint64_t>& expected_sequence() const { return expected_sequence_; }
  // Samples of epochs, openings and ends of imported spools, whole.
  const v1::NewEntry& kept(size_t i) const { return kept_[i]; }
  // Whether it brings late entries, and so nothing else.
  bool is_late() const;
  // Whether a refusal of it may be of something that was released.
  bool tells_of_releases() const;
  const std::vector<Entry>& entries() const { return entries_; }
  // The entry's body as a message field without its tag: length and bytes.
  std::string_view BodyOf(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.body_begin, entry.body_bytes);
  }
  // RequestHash of the request (ledger/request_rules.h).
  merkle::Hash Hash() const;
  // About what it takes in memory.
  size_t MemoryBytes() const { return bytes_.size() + entries_.size() * sizeof(Entry); }

 private:
  std::string ledger_;
  std::string writer_;
  std::string request_id_;
  std::string incarnation_;
  std::optional<uint64_t> expected_sequence_;
  std::vector<Entry> entries_;
  std::vector<v1::NewEntry> kept_;
  std::string bytes_;  // the request as its hash is of it
};

}  // namespace dpledger
