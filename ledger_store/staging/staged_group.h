// The requests that become durable together: each is staged on the heads that the ones before it
// left. The one home of what a repeated request id, a taken name and a broken line are answered,
// for all engines. Pure: what the store has is asked for (StoredLedgers), and what it shall hold is
// asked of the group afterwards.
//
//  1. Requests of one group see each other; nobody else sees any of them.
//  2. A batch that says by its position that it was made before is never stored a second time: it
//     gets its answer from the entries if the answer itself is lost. A stored answer that the
//     entries do not bear out is DATA_LOSS.
//  3. A refused request leaves nothing but the CONFLICT that tells of it (ledger/ledger_head.h).
//  4. A receipt is the answer of the caller who made the request. Whoever repeats another's request
//     is refused. Where one of the two callers is not known, the request alone decides.
//  5. A batch that the gate refuses leaves nothing. The gate hears of the batches in the order in
//     which they are staged.
//  6. A store that is open without the key of its heads takes nothing (KEY_NEEDED).
// Not thread safe.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/ledger_head.h"
#include "ledger_store/staging/operation.h"
#include "ledger_store/store.h"

namespace dpledger {

// The reason of an answer that the entries do not bear out.
inline constexpr char kForgedAnswer[] = "FORGED_ANSWER";

// What a store has, of the ledgers and request ids that the group's operations name.
class StoredLedgers {
 public:
  virtual ~StoredLedgers() = default;
  // Null if there is none.
  virtual std::shared_ptr<const LedgerHead> Head(const std::string& ledger) = 0;
  // How a request to this ledger, which is there, was answered. NOT_FOUND if its id is new; other
  // errors are the store's own.
  virtual absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                                     const std::string& request_id) = 0;
  // Reads what is durable, for a batch that is there without its answer, and for who made a
  // request.
  virtual LedgerReader& reader() = 0;
};

// A batch that was worked out before its turn, on its caller's thread.
struct AheadOfTurn {
  std::shared_ptr<const LedgerHead> base;  // it was made from this, under which its id was new
  std::shared_ptr<const LedgerHead> next;  // what it makes of that
  LedgerChange change;
  // The request and `next` as the engine stores them.
  std::string request_row;
  std::string head_row;
  std::shared_ptr<AppendGate::Ahead> gated;  // may be null
};

struct StagedChange {
  const LedgerChange* change;
  const Operation* request;  // that it answers; null: a notice or a conflict
};

// A ledger that the group looked at.
struct StagedLedger {
  std::shared_ptr<const LedgerHead> stored;  // null: the group makes it
  std::shared_ptr<const LedgerHead> head;    // as the group has it
  std::vector<StagedChange> changes;         // from the one to the other, in order
  const AheadOfTurn* ahead = nullptr;        // if that alone is what led there

  std::shared_ptr<LedgerHead> own;                // `head`, once it is the group's to change
  std::map<std::string_view, size_t> by_request;  // places in `changes`, by request id
};

class StagedGroup {
 public:
  // `stored` and `gate` must outlive the group. `key` is that of the writers of new ledgers. Both
  // may be null.
  StagedGroup(StoredLedgers& stored, absl::Time now, WriterMap::Key key = nullptr,
              AppendGate* gate = nullptr)
      : stored_(stored), now_(now), key_(std::move(key)), gate_(gate) {}

  // The receipt is true once the group is durable. Errors as in ledger_store/store.h, and those of
  // StoredLedgers. What was worked out ahead is taken if it still holds: if the ledger's head and
  // time are those that it was made for. A refusal breaks its line within the group; for later
  // groups the engine breaks it, once what becomes of this one is known. Both arguments must
  // outlive the group.
  absl::StatusOr<v1::Receipt> Stage(const Operation& operation, const AheadOfTurn* ahead = nullptr);
  absl::StatusOr<v1::Receipt> Stage(Operation&&, const AheadOfTurn* = nullptr) = delete;

  // By name. Those without changes were only looked at.
  const std::map<std::string, StagedLedger>& ledgers() const { return ledgers_; }

  // Counts what the group adds into `counted`.
  void CountInto(CommittedGroup& counted) const;

 private:
  absl::StatusOr<v1::Receipt> Answer(const Operation& operation);
  absl::StatusOr<v1::Receipt> Make(const absl::Status& refusal, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const v1::CreateLedgerRequest& request, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const BatchDraft& batch, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const v1::SealLedgerRequest& request, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const ForkAtPoint& fork, const Operation& from);
  absl::StatusOr<v1::Receipt> Make(const GrantAtSize& grant, const Operation& from);

  // What the gate says of the batch.
  absl::Status Admit(const StagedLedger& ledger, const LedgerChange& change, const Operation& from,
                     AppendGate::Ahead* ahead = nullptr);
  // The ledger as this group has it; null if there is none.
  StagedLedger* Find(const std::string& name);
  // The receipt if this very request was answered before, else INVALID_ARGUMENT; NOT_FOUND if its
  // id is new.
  absl::StatusOr<v1::Receipt> Repeated(const Operation& from, const StagedLedger& ledger);
  // PERMISSION_DENIED if somebody else made the request, which has this receipt.
  absl::Status CheckMaker(const Operation& from, const v1::Receipt& receipt,
                          const StagedLedger& ledger);
  // How a taken name answers a request to make a ledger of it: the receipt if that made it, else
  // ALREADY_EXISTS.
  absl::StatusOr<v1::Receipt> AnswerTaken(const Operation& from, const StagedLedger& taken);
  v1::Receipt TakeNew(NewLedger made, const Operation& from);
  // The ledger that the batch is made to, if what was worked out still holds; else null.
  StagedLedger* WhereItHolds(const AheadOfTurn& ahead, const Operation& from);
  v1::Receipt Put(LedgerChange change, const Operation* request, StagedLedger& ledger);

  StoredLedgers& stored_;
  const absl::Time now_;
  const WriterMap::Key key_;
  AppendGate* const gate_;
  std::map<std::string, StagedLedger> ledgers_;
  std::list<LedgerChange> made_;  // the changes, but for those worked out ahead
  std::set<const AppendLine*> broken_;
};

}  // namespace dpledger
