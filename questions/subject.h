// Composes ledgers into the subject of a question. The server calls this with ledgers of its store,
// an auditor with verified bundles; both get the same answer from the same entries.
//
//  1. Every entry counts once. A fork carries its parent's prefix; several ledgers are the union,
//     ledger by ledger, of what they carry.
//  2. FIXED: a fork's declaration covers the prefix too, so a single fork needs no further
//     statement. Several ledgers are composed as plans only if each is plan_independent. This holds
//     for forks of one another too: from where they part, each is a run of its own.
//  3. ADAPTIVE: a fork has its parent's filter, and the prefix has spent part of it. Several
//     ledgers add their filters' bounds, forks of one another too: a filter bounds all that its
//     ledger holds, and so also the part that is not shared.
//  4. planned_rounds of a fork counts the prefix.
//  5. A budget and the runs under it, of one server, are held by its filter together: it counts
//     once. A budget has spent what it set aside. Of a copy, the budget is another server's.
//  6. Several ledgers that neither plans nor filters bound together have an odometer of the union
//     of what they did, and Subject::no_common_bound says why.
// Functions; thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "merkle/compact_tree.h"
#include "questions/answers.h"
#include "questions/history_reader.h"

namespace dpledger::questions {

// The first entries of a ledger.
struct LedgerPart {
  std::string name;  // as answers show it
  merkle::Hash root = {};
  // Has read exactly these entries. A copy must be complete.
  std::shared_ptr<const HistoryReader> reader;
  // The writers (of a copy, the original's) at the ledger's present size, which may be beyond these
  // entries.
  std::vector<v1::WriterStatus> writers;
  // The first ancestor's name, as UnionOf knows it: a fork's writers go on with what those of its
  // ancestors drew once and for all.
  std::string family = {};

  uint64_t size() const { return reader->size(); }
  const v1::Declaration& declaration() const;
};

// A ledger and its ancestors: itself first; if it is a fork, its parent's prefix, and so on down to
// a ledger that is not a fork.
using Lineage = std::vector<LedgerPart>;

// Every entry of the lineages once: of each ledger, its longest prefix.
std::vector<LedgerPart> UnionOf(const std::vector<Lineage>& lineages);

// Of parts from UnionOf; of budgets, what they set aside.
accountant::History HistoryOf(const std::vector<LedgerPart>& parts);

// What a question states besides the ledgers.
struct SubjectOptions {
  const accountant::History* given = nullptr;  // events that come with the question
  uint64_t given_events = 0;
  uint64_t group_size = 0;    // as the question states it; 0: not stated
  bool of_one_server = true;  // all ledgers that are no copies: budgets of one name are one
};
// Of all ledgers over a data set, budgets add nothing: what runs used of them stands in the runs.
// Keeps copies, whose runs are elsewhere, and budgets that have no company.
void LeaveBudgetsOut(std::vector<Lineage>& lineages);

// FAILED_PRECONDITION, naming the ledger, for ledgers that cannot be composed: DATASETS_DIFFER,
// UNITS_DIFFER (unless the question states a group size), ADJACENCIES_DIFFER. INVALID_ARGUMENT for
// events with several ADAPTIVE ledgers that their filters bound together.
absl::StatusOr<Subject> SubjectOf(const std::vector<Lineage>& lineages,
                                  const SubjectOptions& options);

}  // namespace dpledger::questions
