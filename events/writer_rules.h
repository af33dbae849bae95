// The rules for the sequence of one writer's entries: the order of its rounds, the rounds of its
// epochs, its incarnations, its end. They are one state machine over WriterStatus. Every reader
// of entries in order uses it: the store before it takes one, a reader of stored entries, the
// trainer and the command line before they send one.
//
//  1. A round is (incarnation, number): numbers do not go back, and one sample opens a round.
//  2. An epoch is (incarnation, number): numbers do not go back, and an epoch has no more rounds
//     than its scheme says. RESUME, and an OPENED that does not carry epochs on, begin epochs anew.
//     Epochs of fixed bins are one draw for their writer: each says what the first one said.
//  3. The newest incarnation fences off those before it. missing_spools lists those that may hold
//     undelivered entries, until their spool is imported: under policy SPOOL every incarnation that
//     the next one does not carry on, and every incarnation of which a batch was refused.
//  4. After its end a writer's only entries are CONFLICT and late ones.
//  5. A writer's name belongs to the first caller that one of its entries names. The caller is
//     not always known (LedgerEntry.caller): an entry without a caller changes and breaks nothing.
// Each Take changes the status only if it returns OK. Errors name the field below the entry. Pure;
// thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// An event's effect on its writer's rounds: all that the rules need of the event.
struct RoundStep {
  enum class Kind { kNone, kOpens, kJoins };  // kNone: grouped rounds and mechanisms
  Kind kind = Kind::kNone;
  uint64_t round = 0;
  // The scheme of a sample by epochs; else null. Not owned.
  const v1::SamplingScheme* epoch = nullptr;
  // The scheme of a sample, or of grouped rounds, whose records stay in their bins; else null.
  const v1::SamplingScheme* fixed_bins = nullptr;
};
RoundStep StepOf(const v1::Event& event);  // points into `event`

// FAILED_PRECONDITION: ROUND_GOES_BACK, ROUND_ALREADY_OPEN (metadata last_round), EPOCH_GOES_BACK,
// EPOCH_FULL (metadata epoch), FIXED_BINS_CHANGED. Fields: sampling.round, sum_query.round,
// sampling.scheme, rounds.scheme.
absl::Status TakeRound(const RoundStep& step, v1::WriterStatus& writer);

// The same for a stored entry, of whichever program: a sample that breaks a rule for epochs begins
// epochs anew. Changed bins stay those of their writer: the accountant takes them at their worst.
absl::Status TakeStoredRound(const RoundStep& step, uint64_t sequence, v1::WriterStatus& writer);

void TakeResume(uint64_t sequence, v1::WriterStatus& writer);

// `policy` is the declared one: under FAIL_CLOSED nothing was released that is not in the ledger.
// INVALID_ARGUMENT for an incarnation that is not a token, or that is the last one again.
absl::Status TakeOpened(const v1::Opened& opened, uint64_t sequence, v1::SpoolPolicy policy,
                        v1::WriterStatus& writer);

// FAILED_PRECONDITION (WRITER_COUNT_MISMATCH, metadata entry_count) unless `entry_count` is the
// number of entries of the writer's last incarnation, this one included, late ones and CONFLICTs
// left out.
absl::Status TakeClosed(uint64_t entry_count, v1::WriterStatus& writer);

void TakeConflict(std::string_view incarnation, v1::WriterStatus& writer);
void TakeLateEvent(v1::WriterStatus& writer);
void TakeSpoolImported(std::string_view incarnation, uint64_t sequence, v1::WriterStatus& writer);

// PERMISSION_DENIED (kWriterOfAnotherCaller, metadata field and writer) unless `caller` may write
// under this name: an empty one, and any as long as the writer has no owner. The message does not
// name the owner.
inline constexpr char kWriterOfAnotherCaller[] = "WRITER_OF_ANOTHER_CALLER";
absl::Status CheckOwner(std::string_view caller, const v1::WriterStatus& writer);
// The same; then the writer is this caller's. For entries of writers, not for the server's own.
absl::Status TakeCaller(std::string_view caller, v1::WriterStatus& writer);

// FAILED_PRECONDITION unless the writer may write other than late entries: WRITER_CLOSED, or
// FENCED_OFF if `incarnation` is not its last one.
absl::Status CheckMayWrite(std::string_view incarnation, const v1::WriterStatus& writer);
// Whether the ledger must record that a batch of this incarnation was refused: it has not done so
// yet.
bool IsNewConflict(std::string_view incarnation, const v1::WriterStatus& writer);

// The name under which the accountant keeps this writer's present epochs apart from all others.
std::string EpochOwner(const v1::WriterStatus& writer);
// The same for late events of an incarnation. Their epochs are never those of events that came in
// time, nor those of another spool.
std::string LateOwner(std::string_view incarnation, const v1::WriterStatus& writer);

// Why releases of this writer may be missing in a ledger of this policy, in words; one item for
// each cause.
struct Missing {
  std::string incarnation;
  uint64_t opened_sequence = 0;
  std::string reason;
};
std::vector<Missing> MissingReleases(const v1::WriterStatus& writer, v1::SpoolPolicy policy);

}  // namespace dpledger::events
