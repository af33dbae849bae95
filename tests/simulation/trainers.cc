#include "tests/simulation/trainers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "questions/held_run.h"
#include "server/questions/filter_gate.h"
#include "tests/ledger_store/requests.h"
#include "tests/simulation/model.h"

namespace dpledger::simulation {
namespace {

// A grant is raised by so many rounds, or by a fourth of those recorded: as client/recorder.cc, for
// runs that are shorter.
constexpr uint64_t kLeastMore = 2;
constexpr uint64_t kShareMore = 4;

bool IsRound(const v1::AppendBatchRequest& batch) { return batch.entries(0).has_event(); }

}  // namespace

std::string Trainer::NewId() { return absl::StrCat(plan_.writer, "-", ++ids_); }

bool Trainer::IsOpen(const absl::Status& answer) {
  const std::string& reason = ReasonOf(answer).reason;
  trace_.Note(absl::StrCat(ledger(), " ", plan_.writer, ": ",
                           absl::StatusCodeToString(answer.code()), " ", reason));
  if (chance_.OneIn(12)) {
    trace_.Note("the answer is lost");
    return true;
  }
  return ForNow(answer) || reason == server::kFilterNotReady;
}

void Trainer::Act(LedgerStore& store, server::Grants& grants) {
  if (done() || in_flight_ != 0) return;
  if (stage_ == Stage::kMaking) return Make(store);
  if (asked_.has_value()) return Ask(grants);
  Send(store);
}

void Trainer::Die() {
  trace_.Note(absl::StrCat(ledger(), " ", plan_.writer, " dies"));
  in_flight_ = 0;
  asked_.reset();
  asked_in_vain_.clear();
  if (stage_ == Stage::kGivingBack) AskFor(v1::GRANT_WHAT_IS_SPENT, 0);
}

void Trainer::Make(LedgerStore& store) {
  const absl::Status made = store.Create(plan_.create, CallerOf("")).status();
  if (IsOpen(made)) return;
  if (made.ok() || absl::IsAlreadyExists(made)) {
    stage_ = Stage::kTraining;
  } else {
    trace_.Broken(absl::StrCat(ledger(), " is not made: ", made.ToString()));
  }
}

void Trainer::NextBatch() {
  v1::AppendBatchRequest& batch = batch_.emplace(dpledger::Batch(ledger(), plan_.writer, NewId()));
  if (was_refused_ || told_.size() >= plan_.wanted) {
    stage_ = Stage::kClosing;
    batch.add_entries()->mutable_writer_closed()->set_entry_count(entries_ + 1);
    return;
  }
  v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
  sampling.set_round(told_.size());
  *sampling.mutable_scheme() = plan_.round.rounds().scheme();
  v1::SumQueryEvent& sum = *batch.add_entries()->mutable_event()->mutable_sum_query();
  sum.set_round(told_.size());
  *sum.mutable_query() = plan_.round.rounds().queries(0);
}

void Trainer::Send(LedgerStore& store) {
  if (!batch_.has_value()) NextBatch();
  in_flight_ = ++sent_;
  store.AppendAsync(*batch_, CallerOf(plan_.writer), nullptr,
                    [this, sent = sent_](const absl::StatusOr<v1::Receipt>& receipt) {
                      if (sent == in_flight_) Answered(receipt);
                    });
}

void Trainer::Answered(const absl::StatusOr<v1::Receipt>& receipt) {
  in_flight_ = 0;
  if (IsOpen(receipt.status())) return;
  const std::string& reason = ReasonOf(receipt.status()).reason;
  if (receipt.ok()) {
    Stored();
  } else if (reason == questions::kBudgetExceeded && IsRound(*batch_)) {
    AskFor(v1::GRANT_MORE, std::max(told_.size() / kShareMore, kLeastMore));
  } else if (reason == questions::kFilterCrossed && IsRound(*batch_)) {
    refused_(1);
    Withdraw();
  } else {
    trace_.Broken(absl::StrCat(ledger(), ": ", batch_->request_id(),
                               " is refused: ", receipt.status().ToString()));
  }
}

void Trainer::Stored() {
  entries_ += static_cast<uint64_t>(batch_->entries_size());
  if (IsRound(*batch_) && told_.insert(batch_->request_id()).second) ++trace_.outcome.acknowledged;
  batch_.reset();
  if (stage_ != Stage::kClosing) return;
  stage_ = Stage::kDone;
  if (plan_.create.declaration().budget().empty() || !plan_.gives_back) return;
  stage_ = Stage::kGivingBack;
  AskFor(v1::GRANT_WHAT_IS_SPENT, 0);
}

void Trainer::Withdraw() {
  was_refused_ = true;
  for (v1::NewEntry& entry : *batch_->mutable_entries()) entry.mutable_note()->set_text("refused");
}

void Trainer::AskFor(v1::GrantChange change, uint64_t rounds) {
  more_ = rounds;
  v1::GrantBudgetRequest& request = asked_.emplace();
  request.set_budget(plan_.create.declaration().budget());
  request.set_ledger(ledger());
  request.set_request_id(NewId());
  request.set_change(change);
  if (change != v1::GRANT_MORE) return;
  *request.add_plan() = plan_.round;
  request.mutable_plan(0)->mutable_rounds()->set_count(rounds);
}

void Trainer::Ask(server::Grants& grants) {
  const absl::Status granted = grants.Make(*asked_, CallerOf(plan_.writer), {}).status();
  const bool does_not_fit = ReasonOf(granted).reason == questions::kBudgetExceeded;
  if (does_not_fit) refused_(more_);
  if (IsOpen(granted)) return;
  if (does_not_fit) return NotGranted();
  if (!granted.ok()) {
    return trace_.Broken(absl::StrCat(ledger(), " is not granted: ", granted.ToString()));
  }
  asked_.reset();
  if (stage_ == Stage::kGivingBack) stage_ = Stage::kDone;
}

// As long as fewer rounds may fit, and once more: other writers of its ledger may have been granted
// what was left.
void Trainer::NotGranted() {
  asked_.reset();
  if (more_ > 1) return AskFor(v1::GRANT_MORE, more_ / 2);
  if (asked_in_vain_ == batch_->request_id()) return Withdraw();
  asked_in_vain_ = batch_->request_id();
}

}  // namespace dpledger::simulation
