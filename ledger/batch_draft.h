// A batch of entries, parsed and serialised as far as possible before its place in a ledger is
// known. The rest is cheap: compare numbers, write the fields before each body, hash. Engines make
// drafts on their callers' threads, which also free the request's many small objects.
//
// Each event is serialised once: the bytes of an entry's body are a part of the request's bytes,
// which are serialised for its hash. A value; const use is thread safe.
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
    std::optional<int64_t> claimed_seconds;  // by the writer's clock, rounded down to the minute
    // What the rules of a ledger's head (ledger/ledger_head.h) need of the body.
    events::RoundStep::Kind round = events::RoundStep::Kind::kNone;  // events
    // Event: the round. WRITER_CLOSED: the entry count. CORRECTION: the corrected sequence.
    // IMPORTED: the original's sequence; unset if the original does not parse.
    std::optional<uint64_t> number;
    // The index in kept(), for bodies of which the rules need more than a number.
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
  // How many entries of the incarnation come before the batch.
  const std::optional<uint64_t>& writer_position() const { return writer_position_; }
  // The entry without its claimed time: rounds of epochs, OPENED and SPOOL_IMPORTED.
  const v1::NewEntry& kept(size_t i) const { return kept_[i]; }
  // Whether it brings late entries; such a batch has no others.
  bool is_late() const;
  // Whether the batch may describe something that was released.
  bool tells_of_releases() const;
  const std::vector<Entry>& entries() const { return entries_; }
  // The entry's body as a message field without its tag: length and bytes.
  std::string_view BodyOf(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.body_begin, entry.body_bytes);
  }
  // RequestHash of the request (ledger/request_rules.h).
  merkle::Hash Hash() const;
  // About the memory that it takes.
  size_t MemoryBytes() const { return bytes_.size() + entries_.size() * sizeof(Entry); }

 private:
  std::string ledger_;
  std::string writer_;
  std::string request_id_;
  std::string incarnation_;
  std::optional<uint64_t> expected_sequence_;
  std::optional<uint64_t> writer_position_;
  std::vector<Entry> entries_;
  std::vector<v1::NewEntry> kept_;
  std::string bytes_;  // the request, as RequestHash serialises it
};

}  // namespace dpledger
