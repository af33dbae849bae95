// Turns a ledger's entries into the history that the accountant takes. Only this file says which
// entries have a privacy cost.
//
//  1. Events cost, late ones too; every other entry never changes what was released. What this
//     version does not know is refused, never skipped.
//  2. Epochs belong to an incarnation of their writer (events/writer_rules.h): those of two are
//     never one.
//  3. Of a fork, the entries are its own: its parent's prefix is the caller's to add.
//  4. What a budget has set aside is no history of releases: grants() has it apart.
//  5. Of a copy of another ledger (an import), the copied entries count as if they were here, with
//     the writers of the original. A copy of a copy is read down to the original. Whether the
//     copied bytes are those that were signed is the caller's to check: Original.
// Not thread safe; copies are independent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/request_runs.h"

namespace dpledger::questions {

class HistoryReader {
 public:
  HistoryReader() : logs_(1) {}

  // Takes the next entry's bytes, from entry 0 on. DATA_LOSS if they are not that entry or stand
  // where they cannot be; FAILED_PRECONDITION (reason NO_ANALYSIS, metadata sequence) for an entry
  // that this version cannot account for. The reader must not be used after an error.
  absl::Status Add(std::string_view bytes);
  // What was taken last. Precondition: size() > 0.
  const v1::LedgerEntry& last() const { return last_[0]; }

  uint64_t size() const { return logs_[0].taken; }
  const accountant::History& history() const { return history_; }

  // Entry 0: a DECLARATION, FORK or IMPORT. Precondition: size() > 0.
  const v1::LedgerEntry& first() const { return logs_[0].first; }
  bool sealed() const { return logs_[0].sealed; }
  // Of a run under a budget, and its SEAL.
  struct Seal {
    bool was_whole = false;  // it names no writer missing: from then on it holds what it has spent
    bool is_late = false;    // what costs came late after it
  };
  const Seal& seal() const { return logs_.back().seal; }
  // The ledger's writers by name, and its corrections in order; of a copy, those of the innermost
  // original.
  using Writers = std::map<std::string, v1::WriterStatus>;
  const Writers& writers() const { return logs_.back().writers; }
  struct CorrectionAt {
    uint64_t sequence = 0;
    v1::Correction correction;
  };
  const std::vector<CorrectionAt>& corrections() const { return logs_.back().corrections; }
  // Of a budget: the last grant of each ledger, by its name. Of a ledger under one: its own, if
  // any.
  using Grants = std::map<std::string, v1::BudgetGrant>;
  const Grants& grants() const { return logs_.back().grants; }
  // Of a budget: the blocks of which nothing more is granted.
  const v1::RetiredBlocks& retired() const { return logs_.back().retired; }
  // The entries whose events are mechanisms, in the order of history().Mechanisms().
  const std::vector<uint64_t>& mechanism_sequences() const { return mechanism_sequences_; }
  // Rounds whose samples the trainer states (SampleSource). Saturates at 2^64 - 1.
  uint64_t stated_rounds() const { return stated_rounds_; }

  // A ledger of which this one is a copy: 0 is its original, 1 the original of that one, ...
  struct Original {
    uint64_t size = 0;      // how many entries are copied
    std::string root_hash;  // of the original at that size, as the import states it
    uint64_t taken = 0;     // how many of them were read so far
    bool sealed = false;    // whether its SEAL was among them
  };
  size_t originals() const { return logs_.size() - 1; }
  Original OriginalAt(size_t i) const;
  // The entry of original i that the last Add brought; empty if it brought none.
  std::string_view CopiedEntry(size_t i) const;
  // FAILED_PRECONDITION (reason IMPORT_INCOMPLETE) until all entries of every original were read.
  absl::Status CheckComplete() const;

  // The reader's state, for storing it; Resume makes an equal reader. `original` is set for a
  // complete copy of a ledger that is not itself a copy. For other copies there are no parts.
  struct Parts {
    uint64_t size = 0;
    bool sealed = false;
    accountant::History history;
    std::vector<uint64_t> mechanism_sequences;
    uint64_t stated_rounds = 0;
    v1::LedgerEntry first;
    Writers writers;
    std::vector<CorrectionAt> corrections;
    Grants grants;
    v1::RetiredBlocks retired;
    Seal seal;
    std::optional<Original> original;
  };
  static HistoryReader Resume(Parts parts);

 private:
  struct Log {
    uint64_t taken = 0;
    bool is_copy = false;
    bool sealed = false;
    v1::LedgerEntry first;
    Writers writers;
    events::RequestRuns requests;
    std::vector<CorrectionAt> corrections;
    Grants grants;
    v1::RetiredBlocks retired;
    Seal seal;
    // Copies only: what the IMPORT states.
    uint64_t original_size = 0;
    std::string original_root;
    std::string original_declaration;
  };

  absl::Status AddTo(size_t log, std::string_view bytes);
  absl::Status TakeLast(size_t log);  // last_[log]
  absl::Status Begin(size_t log, const v1::LedgerEntry& entry);
  // Takes an event that the writer wrote, in time or late.
  absl::Status TakeEvent(size_t log, const v1::LedgerEntry& entry, const v1::Event& event);
  absl::Status TakeOpened(size_t log, const v1::LedgerEntry& entry, v1::WriterStatus& writer);
  absl::Status TakeBody(size_t log, const v1::LedgerEntry& entry);
  absl::Status TakeGrant(size_t log, const v1::LedgerEntry& entry, const v1::BudgetGrant& grant);
  absl::Status TakeRetired(size_t log, const v1::LedgerEntry& entry);
  std::string Place(size_t log, uint64_t sequence) const;
  absl::Status Damaged(size_t log, uint64_t sequence, const std::string& what) const;
  absl::Status NoAnalysis(size_t log, uint64_t sequence, const std::string& what) const;

  std::vector<Log> logs_;  // this ledger, its original, ...
  accountant::History history_;
  std::vector<uint64_t> mechanism_sequences_;
  uint64_t stated_rounds_ = 0;
  std::vector<v1::LedgerEntry> last_;  // the last Add's entry, by log
};

}  // namespace dpledger::questions
