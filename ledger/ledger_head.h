// The head of a ledger (what an append has to know of it), and the rules by which the ledger grows.
// Shared by all engines: an engine finds the head, asks here for the change that a request makes,
// stores the change, and only then moves to the new head.
//
// Invariants:
//  1. Pure: the same head, request and time give the same bytes. A request takes effect as a whole
//     or not at all: an error changes nothing.
//  2. Every entry belongs to one writer, the server's own entries to the writer "". The writers'
//     counts add up to the size.
//  3. Recorded times are whole minutes and never decrease.
// A LedgerHead is a value: copies are independent. A copy costs the same whatever the ledger's size
// and the number of its writers.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "events/declaration_rules.h"
#include "ledger/batch_draft.h"
#include "ledger/ledger_point.h"
#include "ledger/writer_map.h"
#include "merkle/compact_tree.h"

namespace dpledger {

struct LedgerHead {
  std::string name;
  // Entry 0's DECLARATION, FORK or IMPORT, and its caller, without the entry's other fields.
  std::shared_ptr<const v1::LedgerEntry> first;
  absl::Time create_time;
  absl::Time last_recorded_time;
  v1::LedgerState state = v1::OPEN;
  merkle::CompactTree tree;      // its size is the ledger's
  WriterMap writers;             // "" is the server itself
  merkle::Hash first_leaf = {};  // entry 0's leaf hash
  // Its stored form has an authenticator, and no key was given to check it (ledger/stored_head.h).
  bool needs_key = false;
};

using LedgerHeads = std::vector<std::shared_ptr<const LedgerHead>>;

inline const v1::Declaration& DeclarationOf(const LedgerHead& head) {
  return events::DeclarationOf(*head.first);
}

// When, and from whom, the server has a request.
struct Arrival {
  // A time alone: the caller was not asked for a name. Both must outlive the call.
  Arrival(absl::Time at, std::string_view by = {}) : time(at), caller(by) {}  // NOLINT

  absl::Time time;
  std::string_view caller;  // authenticated, as LedgerEntry.caller has it; empty: not asked
};

// What one request does to a ledger.
struct LedgerChange {
  std::string entries;  // the stored bytes: a batch row (ledger/batch_row.h)
  v1::Receipt receipt;
  // The head's new values.
  merkle::CompactTree tree;
  absl::Time recorded_time;
  v1::LedgerState state = v1::OPEN;
  v1::WriterStatus writer;
};

// The requests must have passed CheckRequest (ledger/request_rules.h), and must not have been
// answered before: the engine looks their ids up first.

// A new ledger: its head before entry 0, and the change that adds entry 0.
struct NewLedger {
  LedgerHead empty;
  LedgerChange change;
};
// INVALID_ARGUMENT if the declaration or import is too large.
absl::StatusOr<NewLedger> Create(const v1::CreateLedgerRequest& request, const Arrival& arrival);
// `point` is the prefix of `parent` that the request names, with its root. OUT_OF_RANGE
// (BEYOND_LEDGER, metadata current_sequence) if the parent is shorter; INVALID_ARGUMENT if the
// point is before the first entry, if the declaration differs from the parent's in a field that a
// fork inherits, if the parent is a budget, or if it is a copy of a run under one, or of another
// and the point lies within its copied entries.
absl::StatusOr<NewLedger> Fork(const LedgerHead& parent, const v1::ForkLedgerRequest& request,
                               const LedgerPoint& point, const Arrival& arrival);
// The recorded time of a ledger's next entry.
absl::Time RecordedTime(const LedgerHead& head, absl::Time now);

// Appends FORK_NOTICE to the parent. Precondition: it is not sealed.
absl::StatusOr<LedgerChange> NoticeFork(const LedgerHead& parent,
                                        const v1::ForkLedgerRequest& request,
                                        const LedgerPoint& point, const Arrival& arrival);

// That the ledger, or one that declares this, is or may be under the budget. FAILED_PRECONDITION
// (NO_BUDGET if `budget` is none; LEDGER_SEALED); INVALID_ARGUMENT naming the declaration's field
// that differs.
absl::Status CheckUnderBudget(const LedgerHead& budget, const v1::Declaration& declaration);
// FAILED_PRECONDITION (IMPORT_ONLY) for a copy: what it spent was granted on another server, and it
// takes no entries but those of its original.
absl::Status CheckMayBeGranted(const LedgerHead& run);
// Appends GRANT, if `head` is the request's budget, or GRANTED, if it is its ledger: to be stored
// only while that is not sealed. INVALID_ARGUMENT (an entry over 65,535 bytes).
// `run`: what the ledger declares.
absl::StatusOr<LedgerChange> Grant(const LedgerHead& head, const v1::Declaration& run,
                                   const v1::GrantBudgetRequest& request, const Arrival& arrival);

// The reason of a batch whose place among its writer's entries is taken: it was made before.
inline constexpr char kWriterPosition[] = "WRITER_POSITION";

// PERMISSION_DENIED before all others if the writer is another caller's (events/writer_rules.h);
// FAILED_PRECONDITION (kWriterPosition before the rest; LEDGER_SEALED, IMPORT_ONLY, BUDGET_ONLY,
// WRITER_UNKNOWN, WRITER_GAP, TOO_MANY_WRITERS, those of events/writer_rules.h), ABORTED
// (SEQUENCE_MISMATCH, metadata current_sequence), INVALID_ARGUMENT (an entry over 65,535 bytes, a
// correction of an entry that does not exist, an imported entry out of order).
absl::StatusOr<LedgerChange> AppendBatch(const LedgerHead& head, const BatchDraft& batch,
                                         const Arrival& arrival);
// Whether the caller may write this batch at all: the writer is the caller's, or nobody's yet.
absl::Status CheckOwner(const LedgerHead& head, const BatchDraft& batch, std::string_view caller);
// The CONFLICT entry that a refused batch adds to the ledger, if the batch may describe something
// that was released and the ledger does not say so yet; else nullopt. The request id of the refused
// batch is not stored: no receipt answers it.
std::optional<LedgerChange> ConflictOf(const LedgerHead& head, const BatchDraft& batch,
                                       const absl::Status& refusal, const Arrival& arrival);
// FAILED_PRECONDITION (LEDGER_SEALED; WRITERS_OPEN, naming the first 20, metadata open_writers);
// INVALID_ARGUMENT for a writer named missing that has closed, or, where SEAL counts the missing
// writers (events/seal_rules.h), has written nothing.
absl::StatusOr<LedgerChange> Seal(const LedgerHead& head, const v1::SealLedgerRequest& request,
                                  const Arrival& arrival);

// The field of LedgerEntry that holds what a writer appends; 0 for none.
int StoredFieldOf(v1::NewEntry::BodyCase body);

// Moves `head` past the change. Precondition: `change` was made from this head.
void Apply(const LedgerChange& change, LedgerHead& head);

// Which writers a description of a ledger holds: by name, from the first that is not before `from`.
struct WriterRange {
  std::string from = {};
  size_t limit = std::numeric_limits<size_t>::max();
};
inline const WriterRange kNoWriters{.limit = 0};
// A call's answer describes so many: 100 KB, or 1.5 MB if each misses 16 spools.
inline constexpr size_t kMostDescribedWriters = 1000;

// The ledger as calls return it.
v1::Ledger Describe(const LedgerHead& head, const WriterRange& writers = {});

}  // namespace dpledger
