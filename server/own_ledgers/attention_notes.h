// What people say of the items that ListAttention has: the server's own ledger
// projects/attention/ledgers/notes, whose notes are AttentionNote of summary.proto as JSON. The
// last one of an item holds.
//
// Several servers share it. Thread safe; waits for the disk.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/own_ledgers/note_log.h"

namespace dpledger::server {

class AttentionNotes {
 public:
  // `store` must outlive the object.
  explicit AttentionNotes(LedgerStore* store);

  // Gives each item the last note about it, if there is one.
  absl::Status AddTo(std::vector<v1::AttentionItem>& items, const CallContext& call);
  // INVALID_ARGUMENT (text) if its texts are too long.
  absl::Status Store(const v1::AttentionNote& note, const CallContext& call);

 private:
  absl::Status Take(uint64_t sequence, const std::string& bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS;

  absl::Mutex mutex_;
  NoteLog log_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, v1::AttentionNote> notes_ ABSL_GUARDED_BY(mutex_);  // by item
};

}  // namespace dpledger::server
