// Builds the change (LedgerChange) by which one writer's entries extend a ledger, one entry after
// the other.
//
// Writes the same bytes as deterministic protobuf serialisation: fields in the order of their
// numbers, defaults left out. It is faster because a batch's entries share most fields, and their
// bodies are serialised already. Pure; not thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "ledger/ledger_head.h"

namespace dpledger {

class ChangeBuilder {
 public:
  // The first entry names the caller.
  ChangeBuilder(const LedgerHead& head, const std::string& writer, const std::string& request_id,
                const Arrival& arrival);

  uint64_t next_sequence() const { return change_.tree.size(); }
  v1::WriterStatus& writer() { return change_.writer; }
  void Reserve(size_t bytes) { change_.entries.reserve(bytes); }
  // Sets the time by the writer's clock in the entries that follow: whole minutes, in seconds.
  void SetClaimedTime(std::optional<int64_t> seconds);

  // Appends an entry whose body is the field number `field` of LedgerEntry. `body` has no tag: its
  // length, then its bytes. INVALID_ARGUMENT if the entry is over 65,535 bytes.
  absl::Status Push(int field, std::string_view body);
  absl::Status Push(int field, const google::protobuf::Message& body);

  LedgerChange Finish(v1::LedgerState state) &&;

 private:
  LedgerChange change_;
  const std::string writer_field_;
  const std::string request_id_field_;
  std::string recorded_field_;
  std::optional<int64_t> claimed_seconds_;
  std::string claimed_field_;
  std::string caller_field_;  // of the next entry
};

}  // namespace dpledger
