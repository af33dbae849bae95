// Gathers the subject of a question: ledgers from the store, composed if that is valid, and events
// given with the question.
//
// questions/subject.h says how ledgers are composed. up_to_sequence counts the ledger's own
// entries; the answer's entry count covers all ledgers in it, ancestors included. Thread safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/store.h"
#include "questions/answers.h"
#include "questions/subject.h"
#include "server/questions/history_cache.h"
#include "server/questions/lineage.h"

namespace dpledger::server {

// Whether whoever asks may know how many ledgers declare a data set. Empty: yes.
using MayCount = std::function<bool(const std::string& dataset)>;

class SubjectSource {
 public:
  // `store` must outlive the source. `max_history_bytes` bounds the cached histories. Without a
  // `signed_root` a ledger's prefix is checked against no signature.
  SubjectSource(LedgerStore* store, size_t max_history_bytes, SignedRoot signed_root = nullptr,
                TableKeeping tables = {}, bool of_one_server = true)
      : store_(store),
        max_history_bytes_(max_history_bytes),
        of_one_server_(of_one_server),
        signed_root_(std::move(signed_root)),
        histories_(store, max_history_bytes, std::move(tables)) {}

  // INVALID_ARGUMENT naming the field (of the subject); NOT_FOUND for an unknown ledger;
  // OUT_OF_RANGE for up_to_sequence beyond the ledger; DATA_LOSS if a ledger's entries do not have
  // its root hash; FAILED_PRECONDITION for ledgers that cannot be composed (the reasons of
  // accountant::SubjectOf, and COPIES_OVERLAP); and errors of ReadLineage. `group_size` is the
  // question's; 0: not stated.
  absl::StatusOr<questions::Subject> Gather(const v1::Subject& subject, uint64_t group_size,
                                            const accountant::Limits& limits,
                                            const MayCount& may_count = nullptr);
  // The same, of all ledgers over a data set, however many (above a bound of their histories
  // together, RESOURCE_EXHAUSTED, reason HISTORY_TOO_LARGE), and of what-if events: budgets add
  // nothing to their runs.
  using Events = google::protobuf::RepeatedPtrField<v1::Event>;
  absl::StatusOr<questions::Subject> GatherAll(const std::vector<std::string>& ledgers,
                                               uint64_t group_size,
                                               const accountant::Limits& limits,
                                               const Events& events = {});

  // The ledger with its ancestors, as ReadLineage (lineage.h). `size` 0: as far as it goes now.
  absl::StatusOr<Lineage> ReadLineage(const std::string& ledger, const accountant::Limits& limits,
                                      uint64_t size = 0) {
    return server::ReadLineage(*store_, histories_, signed_root_, ledger, size, limits);
  }

 private:
  enum class Of { kNamed, kDataset };
  absl::StatusOr<questions::Subject> GatherChecked(const v1::Subject& subject, Of of,
                                                   uint64_t group_size,
                                                   const accountant::Limits& limits,
                                                   const MayCount& may_count);
  // Adds a warning for each ancestor that released more after the prefix in the answer.
  absl::Status WarnOfRest(const std::vector<Lineage>& named,
                          const std::vector<questions::LedgerPart>& all, questions::Subject& into);
  // Adds a warning that says how many other ledgers declare the data set; or, to whom may not know,
  // that there may be some.
  absl::Status WarnOfOthers(const std::vector<questions::LedgerPart>& all,
                            const MayCount& may_count, questions::Subject& into);

  LedgerStore* const store_;
  const size_t max_history_bytes_;
  const bool of_one_server_;  // questions::SubjectOptions
  const SignedRoot signed_root_;
  HistoryCache histories_;
};

}  // namespace dpledger::server
