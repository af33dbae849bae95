// The lists of LedgerService, without a transport: ledgers with their summaries, data sets, and
// watches. proto/dpledger/v1/ledger_service.proto says what each call means.
//
//  1. Everything is of the ledgers that the caller may list, and of no other one: filters, orders,
//     pages, totals, tokens and the moments at which a watch sends something.
//  2. A list has what was durable when it was asked for; summaries may be of a moment before.
//  3. Whatever looks through all ledgers does it a thousand at a time, and gives up between them
//     when its caller has gone or its deadline has passed. A watch keeps nothing for each ledger.
// Thread safe. Lists wait for the store; watches do not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "server/call_context.h"
#include "server/own_ledgers/attention_notes.h"
#include "server/summaries/attention.h"
#include "server/summaries/dataset_totals.h"
#include "server/summaries/filter.h"
#include "server/summaries/ledger_index.h"
#include "server/summaries/ledger_tail.h"
#include "server/summaries/ordered_lists.h"
#include "server/summaries/token_cipher.h"

namespace dpledger::server {

// Whether the caller may see that the ledger is there. Thread safe.
using MayList = std::function<bool(const Caller& caller, const std::string& ledger)>;
// What is the matter with the server, for callers who may know. Thread safe.
using StateFor = std::function<std::optional<ServerState>(const Caller& caller)>;

class ListingService;

// What one caller of WatchLedgers has yet to be told. Not thread safe.
class LedgerWatch {
 public:
  // What has changed since the last answer, of the next thousand changes: as much as fits into one
  // answer. nullopt: nothing that the caller may see. `more`: there are further changes. Does not
  // wait.
  std::optional<v1::WatchLedgersResponse> Next(bool& more);
  // Says that nothing has changed.
  v1::WatchLedgersResponse Heartbeat() const;

 private:
  friend class ListingService;
  LedgerWatch(const ListingService* service, const CallContext& call, std::string parent,
              Filter filter)
      : service_(*service),
        caller_(call.caller),
        parent_(std::move(parent)),
        filter_(std::move(filter)) {}

  const ListingService& service_;
  const Caller caller_;
  const std::string parent_;
  const Filter filter_;
  uint64_t seen_ = 0;   // changes of the index
  bool reset_ = false;  // to be said in the next answer
};

class ListingService {
 public:
  // `tail`, `index`, `totals` and `notes` must outlive the service. `notes` may be null: nothing is
  // said of items then.
  ListingService(LedgerTail* tail, LedgerIndex* index, DatasetTotals* totals, AttentionNotes* notes,
                 MayList may_list);

  // Before the first call: what ListAttention says of the server itself.
  void Know(StateFor state_for) { state_for_ = std::move(state_for); }
  // Begins to work out the totals of all data sets, so that the first who asks need not wait.
  void BeginTotals();

  absl::StatusOr<v1::ListLedgersResponse> ListLedgers(const v1::ListLedgersRequest& request,
                                                      const CallContext& call);
  absl::StatusOr<v1::ListDatasetsResponse> ListDatasets(const v1::ListDatasetsRequest& request,
                                                        const CallContext& call);
  absl::StatusOr<v1::ListAttentionResponse> ListAttention(const v1::ListAttentionRequest& request,
                                                          const CallContext& call);
  absl::StatusOr<v1::AttentionItem> NoteAttention(const v1::NoteAttentionRequest& request,
                                                  const CallContext& call);
  // INVALID_ARGUMENT. The watch must not outlive the service.
  absl::StatusOr<std::unique_ptr<LedgerWatch>> WatchLedgers(const v1::WatchLedgersRequest& request,
                                                            const CallContext& call) const;
  LedgerIndex& index() { return index_; }

 private:
  friend class LedgerWatch;
  // The next kLooked ledgers of some list; fewer: its last.
  using NextRows = std::function<LedgerRows()>;
  NextRows ByName(const std::string& parent, std::string after = "") const;
  // Those that the caller may list, in order, while `take` says true; others go to `hide`, if there
  // is one. DEADLINE_EXCEEDED, CANCELLED.
  using Take = std::function<bool(const std::shared_ptr<const LedgerRow>& row)>;
  using Hide = std::function<void(const LedgerRow& row)>;
  absl::Status ForEachVisible(const NextRows& next, const CallContext& call, const Take& take,
                              const Hide& hide = nullptr) const;
  // The damaged ledgers of `parent` that the caller may list; at most kMostDamaged.
  std::vector<DamagedLedger> DamagedOf(const std::string& parent, const CallContext& call) const;
  // Of data sets by name, each with its total or why there is none yet.
  std::vector<v1::DatasetSummary> Totals(std::map<std::string, LedgerRows> by_name,
                                         absl::Time deadline);
  // Of all that is in `parent`, in no order, with what was said of them.
  struct Examined {
    std::vector<v1::AttentionItem> items;
    uint64_t unexamined = 0;  // as in ListAttentionResponse
  };
  absl::StatusOr<Examined> Attention(const std::string& parent, absl::Time now,
                                     const CallContext& call);
  std::string ResumeToken(uint64_t seen) const;

  LedgerTail& tail_;
  LedgerIndex& index_;
  DatasetTotals& totals_;
  AttentionNotes* const notes_;
  const MayList may_list_;
  StateFor state_for_;  // may be empty
  const TokenCipher cipher_;
  const std::shared_ptr<OrderedLists> orders_;
};

}  // namespace dpledger::server
