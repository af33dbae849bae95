// A ledger of the server's own whose entries are notes that hold one kind of message as JSON, and
// that several servers append to. Each note stands where its number says, and none is stored twice.
//
// Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "ledger_store/store.h"
#include "server/call_context.h"

namespace dpledger::server {

// A note's message, from its entry's bytes; nothing of an entry that is no note. DATA_LOSS names
// the ledger and the sequence.
absl::Status ReadNote(const std::string& ledger, uint64_t sequence, const std::string& bytes,
                      google::protobuf::Message& note);

class NoteLog {
 public:
  // `first` is of NewOwnLedger. `take` gets the entries in their order; one that it refuses is the
  // next one again. `store` must outlive the object.
  using Take = std::function<absl::Status(uint64_t sequence, const std::string& bytes)>;
  NoteLog(LedgerStore* store, v1::CreateLedgerRequest first, Take take)
      : store_(*store), first_(std::move(first)), take_(std::move(take)) {}

  const std::string& ledger() const { return first_.name(); }

  // Takes the entries that have come since the last call. The ledger's size; 0: it was never made.
  // DEADLINE_EXCEEDED and CANCELLED as the call says.
  absl::StatusOr<uint64_t> Refresh(const CallContext& call);

  // Appends the note that `make` makes for its number, and makes the ledger if there is none; again
  // with a later number, after taking what other servers have stored. INVALID_ARGUMENT naming
  // `field` if the note is too long; ABORTED.
  using Make = std::function<absl::StatusOr<const google::protobuf::Message*>(uint64_t number)>;
  absl::Status Append(const CallContext& call, const char* field, const Make& make);

 private:
  absl::StatusOr<bool> Store(const std::string& json, uint64_t size);

  LedgerStore& store_;
  const v1::CreateLedgerRequest first_;
  const Take take_;
  uint64_t read_ = 0;  // entries
};

// DEADLINE_EXCEEDED, CANCELLED: whoever called does not wait any more.
absl::Status CheckWaiting(const CallContext& call);

}  // namespace dpledger::server
