// The one way from ledgers to what a question is about: the server comes here with ledgers of its
// store, an auditor with verified bundles, and both get the same answer of the same entries.
//
//  1. Every entry counts once. A fork carries its parent's prefix; ledgers that share ancestors are
//  the union of what
//     they carry, ledger by ledger.
//  2. FIXED: a fork's declaration speaks for the prefix too, so one fork needs no other statement.
//  Several ledgers are
//     composed only if each is plan_independent, forks of one another no less: each is a run of its
//     own from where they part.
//  3. ADAPTIVE: a fork has its parent's filter, and the prefix is spent of it. Several ledgers add
//  their filters'
//     bounds, forks too: each filter bounds what its ledger did alone, and so the more the part
//     that is not shared.
//  4. planned_rounds of a fork counts the prefix.
// Functions; thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger/history_reader.h"
#include "ledger/questions.h"
#include "merkle/compact_tree.h"

namespace dpledger::accountant {

// The first entries of a ledger.
struct LedgerPart {
  std::string name;  // as it stands in answers
  merkle::Hash root = {};
  // Of exactly these entries. A copy's are all there.
  std::shared_ptr<const HistoryReader> reader;
  // As far as is known now, perhaps further than these entries: its writers, and of a copy the
  // original's.
  std::vector<v1::WriterStatus> writers;

  uint64_t size() const { return reader->size(); }
  const v1::Declaration& declaration() const;
};

// A ledger with all that its cost is made of: itself first, then, of a fork, the parent's prefix,
// that one's parent's prefix, and so on to the ledger that is no fork.
using Lineage = std::vector<LedgerPart>;

// Every entry of the lineages once, each ledger's longest prefix standing for the shorter ones.
std::vector<LedgerPart> UnionOf(const std::vector<Lineage>& lineages);

History HistoryOf(const std::vector<LedgerPart>& parts);

// What is asked beside the ledgers.
struct SubjectOptions {
  const History* given = nullptr;  // events that come with the question
  uint64_t given_events = 0;
  uint64_t group_size = 0;  // as the question states it; 0: it does not
};

// FAILED_PRECONDITION, naming the ledger, for ledgers that cannot be composed: DATASETS_DIFFER,
// UNITS_DIFFER (unless the question states a group size), PARAMETERS_DIFFER, ADJACENCIES_DIFFER,
// PLAN_NOT_INDEPENDENT. INVALID_ARGUMENT for events with several ADAPTIVE ledgers.
absl::StatusOr<Subject> SubjectOf(const std::vector<Lineage>& lineages,
                                  const SubjectOptions& options);

}  // namespace dpledger::accountant
