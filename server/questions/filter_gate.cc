#include "server/questions/filter_gate.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "accountant/mechanism/composition.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "merkle/sha256.h"
#include "questions/declaration_values.h"

namespace dpledger::server {
namespace {

// Of what is published for a batch that may be worked out ahead.
constexpr size_t kMostLatestBytes = 4096, kMostLatestParts = 8;
// Fewer entries are taken in less time than it takes to publish what is worked out from.
constexpr uint64_t kLeastAhead = 8;
// Entries that a commit thread reads and takes: about a millisecond.
constexpr uint64_t kMostInline = 64;
constexpr size_t kInlineBytes = size_t{1} << 20;
constexpr absl::Duration kMostQuick = absl::Milliseconds(2);  // for parts of a batch, in line
// A group that is tried again begins at most so many batches back.
constexpr size_t kMostBack = 16;
// A step takes time and memory for each: a fifth of a millisecond in all.
constexpr size_t kMostKinds = 1024;
constexpr size_t kMostRunBytes = size_t{16} << 20;  // of one ledger: 16,384 writers
constexpr size_t kMostBytes = size_t{64} << 20;     // of all ledgers in memory
constexpr size_t kLedgerBytes = 8192;               // of each, at least
// More than a batch has entries: so a batch that comes again finds all of its parts.
constexpr size_t kMostKnown = size_t{1} << 14;
constexpr size_t kMostWork = 1024;
constexpr size_t kMostWorkOfOne = 4;                        // of one caller
constexpr absl::Duration kLongest = absl::Seconds(1);       // for a part
constexpr absl::Duration kTurn = absl::Milliseconds(200);   // then it is another's
constexpr absl::Duration kUncountable = absl::Seconds(10);  // until it is looked at again
constexpr int kNiceness = 10;

// A run's own grant costs nothing: only one that takes away what is spent already is refused.
bool IsBelowSpent(const questions::HeldRun& run, const questions::HeldRun::Step& step) {
  return run.terms().under_budget && step.writer.empty();
}

absl::Status CrossedBy(const std::string& ledger, const questions::HeldRun& run,
                       const questions::HeldRun::Step& step, uint32_t block) {
  const bool of_budget = run.terms().is_budget || run.terms().under_budget;
  const double bound = run.BoundAfter(step), spent = run.SpentIn(block),
               after = run.SpentInAfter(block, step);
  std::map<std::string, std::string> metadata = {{"ledger", ledger},
                                                 {"spent", absl::StrCat(spent)},
                                                 {"spent_with_batch", absl::StrCat(after)},
                                                 {"bound", absl::StrCat(bound)}};
  std::string message;
  const char* reason = of_budget ? questions::kBudgetExceeded : questions::kFilterCrossed;
  if (IsBelowSpent(run, step)) {
    reason = "GRANT_BELOW_SPENT";
    message = absl::StrCat(ledger, ": has spent ", spent, ", and the plan comes to ", bound,
                           " by its budget's filter ", Name(run.filter()),
                           ": what is spent stays granted; nothing is stored");
  } else if (run.terms().is_budget) {
    message = absl::StrCat(ledger, ": the plan does not fit into this budget, ", Name(run.filter()),
                           ": ", spent, " of ", bound, " is granted",
                           run.terms().blocks > 1 ? absl::StrCat(" in block ", block) : "",
                           ", and ", after, " with the plan; nothing is stored");
  } else {
    message = absl::StrCat(
        ledger, ": this batch would ",
        of_budget ? "cost more than the ledger was granted of its budget, " : "cross its filter ",
        Name(run.filter()), ": ", spent, " spent of ", bound, ", and ", after,
        " with the batch; nothing of it is stored");
  }
  if (run.terms().blocks > 1) metadata["block"] = absl::StrCat(block);
  if (const auto left = run.RoundsLeft(step); left.has_value()) {
    metadata["rounds_left"] = absl::StrCat(*left);
    absl::StrAppend(&message, "; ", *left,
                    *left == 1 ? " round of its last kind fits" : " rounds of its last kind fit");
  }
  return WithReason(absl::FailedPreconditionError(message), {reason, metadata});
}

// Whether the run may take the step, which has a cost.
absl::Status Check(const std::string& ledger, const questions::HeldRun& run,
                   const questions::HeldRun::Step& step) {
  if (step.kept.has_value() && step.kept->kinds() > kMostKinds) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            ledger, ": a round, or an epoch, has at most ", kMostKinds,
            " different sums where the ledger's filter is kept, got ", step.kept->kinds())),
        {"FILTER_CANNOT_COUNT", {{"ledger", ledger}}});
  }
  if (run.IsOwed(step)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          ledger,
                          ": was sealed while writers were missing: what they may still bring "
                          "stays granted; nothing is stored")),
                      {questions::kWritersMissing, {{"ledger", ledger}}});
  }
  if (const auto block = run.RetiredIn(step); block.has_value()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            ledger, ": block ", *block,
            " is retired: nothing more of it is granted. A run without its units is made with "
            "other blocks; nothing is stored")),
        {questions::kBlockRetired, {{"ledger", ledger}, {"block", absl::StrCat(*block)}}});
  }
  if (const auto block = run.CrossedIn(step); block.has_value()) {
    return CrossedBy(ledger, run, step, *block);
  }
  // Refused here, one grant; later it would be the whole budget.
  if (run.terms().is_budget && run.BytesAfter(step) > std::max(run.bytes(), kMostRunBytes)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          ledger,
                          ": has granted as many plans as a budget can hold; grants of nothing "
                          "make room")),
                      {"BUDGET_FULL", {{"ledger", ledger}}});
  }
  return absl::OkStatus();
}

absl::Status TooLarge(const questions::HeldRun& run) {
  if (run.bytes() <= kMostRunBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "has too many writers, or different sums in rounds and epochs that go on, for its filter to "
      "be kept");
}

// Whether asking again helps. A history that is too large stays so.
bool Passes(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsUnavailable(status) ||
         ReasonOf(status).reason == kOutOfMemory;
}

// Every error of a batch is a refusal of that batch: it must not stop the store.
absl::Status Refusal(const std::string& ledger, const absl::Status& status) {
  ErrorReason reason = ReasonOf(status);
  if (reason.reason.empty()) reason.reason = "FILTER_CANNOT_COUNT";
  reason.metadata["ledger"] = ledger;
  return WithReason(absl::FailedPreconditionError(absl::StrCat(ledger, ": ", status.message())),
                    reason);
}

// Whether a batch is worked out ahead.
bool IsWorthwhile(const LedgerHead& head, const LedgerChange& change) {
  return change.tree.size() - head.tree.size() >= kLeastAhead;
}

// Whether a batch can spend something, or sets it aside. (Of one that was taken, its step says it.)
bool HasCost(const LedgerChange& change) {
  const std::vector<std::string_view> entries = *DecodeBatchRow(change.entries);
  return std::any_of(entries.begin(), entries.end(), [](std::string_view bytes) {
    v1::LedgerEntry entry;
    entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return entry.has_event() || entry.has_grant() || entry.has_granted();
  });
}

}  // namespace

void FilterGate::Start(SubjectSource* subjects) {
  subjects_ = subjects;
  thread_ = std::thread([this] { WorkUntilStopped(); });
}

void FilterGate::Stop() {
  {
    absl::MutexLock lock(&mutex_);  // so that the thread sees it
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool FilterGate::Guards(const LedgerHead& head) const {
  const v1::Declaration& declaration = DeclarationOf(head);
  return declaration.has_filter() && declaration.spool_policy() != v1::SPOOL &&
         !head.first->has_import();
}

absl::StatusOr<FilterGate::Terms> FilterGate::TermsOf(const LedgerHead& head) {
  const v1::Declaration& declaration = DeclarationOf(head);
  Terms terms;
  terms.ledger = head.name;
  ASSIGN_OR_RETURN(terms.filter, questions::FilterFromProto(declaration.filter()));
  ASSIGN_OR_RETURN(terms.adjacency, questions::AdjacencyFromProto(declaration.adjacency()));
  terms.key = absl::StrCat(declaration.adjacency(), " ", declaration.filter().SerializeAsString());
  return terms;
}

std::shared_ptr<AppendGate::Ahead> FilterGate::WorkAhead(const LedgerHead& head,
                                                         const LedgerChange& change) {
  if (!IsWorthwhile(head, change)) return nullptr;
  const std::shared_ptr<const Latest> latest = LatestOf(head.name).load();
  if (latest == nullptr || latest->terms.ledger != head.name || latest->tree != head.tree ||
      latest->writer != change.writer.writer()) {
    return nullptr;
  }
  const auto known = [&](const questions::RunPart& part) -> Known {
    const auto uses = latest->parts->find(KeyOf(latest->terms, part.key));
    return uses != latest->parts->end() ? uses->second
                                        : absl::UnavailableError("is worked out in its turn");
  };
  absl::StatusOr<Step> step = latest->run.Take(*DecodeBatchRow(change.entries), known);
  if (!step.ok()) return nullptr;
  auto ahead = std::make_shared<StepAhead>();
  ahead->step = *std::move(step);
  ahead->tree = latest->tree;
  return ahead;
}

std::atomic<std::shared_ptr<const FilterGate::Latest>>& FilterGate::LatestOf(
    const std::string& ledger) {
  return latest_[std::hash<std::string>()(ledger) % latest_.size()];
}

// `asked`: by a batch that was not worked out ahead; one that was found all of it in `before`.
void FilterGate::Publish(const Batch& batch, const Place& place, Parts asked) {
  std::atomic<std::shared_ptr<const Latest>>& slot = LatestOf(batch.head.name);
  const std::string& writer = batch.change.writer.writer();
  questions::HeldRun run = place.metered.run.Only(writer);
  if (run.bytes() > kMostLatestBytes || asked.size() > kMostLatestParts) return slot.store(nullptr);
  auto latest = std::make_shared<Latest>(
      Latest{place.terms, writer, std::move(run), place.metered.tree, nullptr});
  const std::shared_ptr<const Latest> before = slot.load();
  latest->parts = asked.empty() && before != nullptr && before->terms.key == place.terms.key
                      ? before->parts
                      : std::make_shared<const Parts>(std::move(asked));
  slot.store(std::move(latest));
}

absl::Status FilterGate::Admit(const LedgerHead& head, const LedgerChange& change,
                               std::string_view caller, LedgerReader& reader, Ahead* ahead) {
  Batch batch = {head, change, caller};
  auto* const worked_out = static_cast<StepAhead*>(ahead);
  if (worked_out != nullptr && worked_out->tree == head.tree) {
    batch.step = std::exchange(worked_out->step, std::nullopt);
  }
  absl::MutexLock lock(&mutex_);
  try {
    const absl::Status admitted = Take(batch, reader);
    // What costs nothing is taken when a batch with a cost catches up.
    return admitted.ok() || HasCost(change) ? admitted : absl::OkStatus();
  } catch (const std::bad_alloc&) {
    Forget(head.name);  // it may be between two batches
    return OutOfMemory();
  }
}

absl::Status FilterGate::Take(Batch& batch, LedgerReader& reader) {
  const std::string& ledger = batch.head.name;
  Work work;
  absl::StatusOr<Place*> found = Find(batch.head, reader, work);
  if (!found.ok()) return Refusal(ledger, found.status());
  if (*found == nullptr) return NotReady(batch, std::move(work));
  Place& place = **found;
  Metered& metered = place.metered;
  if (!metered.uncountable.ok()) return Refusal(ledger, metered.uncountable);
  Parts asked;
  absl::StatusOr<Step> step = batch.step.has_value()
                                  ? *std::move(batch.step)
                                  : metered.run.Take(*DecodeBatchRow(batch.change.entries),
                                                     Quick(place.terms, work, &asked));
  if (!step.ok()) return Refusal(ledger, step.status());
  if (!work.parts.empty()) return NotReady(batch, std::move(work));
  if (step->has_cost) {
    const absl::Status holds = Check(ledger, metered.run, *step);
    if (ReasonOf(holds).reason == questions::kBudgetExceeded)
      NoteRefusal(batch, metered.run, *step);
    RETURN_IF_ERROR(holds);
  }
  merkle::CompactTree tree = batch.change.tree;
  metered.back.emplace_front(metered.run.Apply(*std::move(step)), metered.tree);
  metered.tree = std::move(tree);
  if (metered.back.size() > kMostBack) metered.back.pop_back();
  if (IsWorthwhile(batch.head, batch.change)) Publish(batch, place, std::move(asked));
  Bound(metered);
  Weigh(place);
  return absl::OkStatus();
}

void FilterGate::NoteRefusal(const Batch& batch, const questions::HeldRun& run, const Step& step) {
  const bool of_batch = !run.terms().is_budget;
  const std::string& ledger = batch.head.name;
  v1::BudgetRefusal refusal;
  refusal.set_of_batch(of_batch);
  refusal.set_ledger(of_batch ? ledger : step.writer);
  refusal.set_wanted(run.SpentAfter(step));
  refusal.set_bound(run.BoundAfter(step));
  refusals_.Note(of_batch ? DeclarationOf(batch.head).budget() : ledger, std::move(refusal));
}

void FilterGate::Bound(Metered& metered) {
  const absl::Status too_large = TooLarge(metered.run);
  if (too_large.ok()) return;
  metered.back.clear();
  metered.run = questions::HeldRun(metered.run.filter());
  SetUncountable(too_large, metered);
}

void FilterGate::SetUncountable(const absl::Status& why, Metered& metered) {
  metered.uncountable = why;
  metered.uncountable_until = absl::Now() + kUncountable;
}

absl::StatusOr<FilterGate::Place*> FilterGate::Find(const LedgerHead& head, LedgerReader& reader,
                                                    Work& work) {
  auto place = ledgers_.find(head.name);
  if (place != ledgers_.end() && !place->second.metered.uncountable.ok()) {
    if (absl::Now() < place->second.metered.uncountable_until) return &place->second;
    Forget(head.name);
    place = ledgers_.end();
  }
  if (place == ledgers_.end()) {
    ASSIGN_OR_RETURN(work.terms, TermsOf(head));
    work.read = true;
    if (head.first->has_fork() || head.tree.size() > kMostInline) return nullptr;
    Keep(work.terms, Metered{questions::HeldRun(work.terms.filter), {}, {}, {}});
    place = ledgers_.find(head.name);
  }
  recent_.splice(recent_.begin(), recent_, place->second.recent);
  Metered& metered = place->second.metered;
  while (metered.tree.size() > head.tree.size() && !metered.back.empty()) {
    metered.run.Apply(std::move(metered.back.front().first));
    metered.tree = std::move(metered.back.front().second);
    metered.back.pop_front();
  }
  if (CatchUp(head, reader, place->second, work)) {
    work.read = false;
    return &place->second;
  }
  work.terms = place->second.terms;
  // From the first entry on, more parts would be worked out than the run has in the end.
  work.read = work.parts.empty() || metered.tree.size() == 0;
  if (work.read) {
    work.parts.clear();
    Forget(head.name);
  }
  return nullptr;
}

bool FilterGate::CatchUp(const LedgerHead& head, LedgerReader& reader, Place& place, Work& work) {
  Metered& metered = place.metered;
  const uint64_t size = head.tree.size();
  if (metered.tree.size() < size) {
    if (size - metered.tree.size() > kMostInline) return false;
    const auto read = reader.Read(head.name, metered.tree.size(), kMostInline, kInlineBytes);
    if (!read.ok() || read->size() < size - metered.tree.size()) return false;
    questions::HeldRun run = metered.run;
    merkle::CompactTree tree = metered.tree;
    for (size_t i = 0; tree.size() < size; ++i) {
      absl::StatusOr<Step> step = run.Take({(*read)[i]}, Quick(place.terms, work));
      if (!step.ok()) return false;
      run.Apply(*std::move(step));
      tree.Append(merkle::LeafHash((*read)[i]));
    }
    // Those that are not known yet were all met.
    if (!work.parts.empty() || tree != head.tree) return false;
    metered.run = std::move(run);
    metered.tree = std::move(tree);
    metered.back.clear();
  }
  return metered.tree == head.tree;
}

questions::UsesOfPart FilterGate::Quick(const Terms& terms, Work& work, Parts* asked) {
  return [this, &terms, &work, asked](const questions::RunPart& part) -> Known {
    mutex_.AssertHeld();
    const std::string key = KeyOf(terms, part.key);
    const auto noted = [&](const Known& uses) {
      if (asked != nullptr) asked->emplace(key, uses);
      return uses;
    };
    if (const Known* const known = FindKnown(key); known != nullptr) return noted(*known);
    if (work.began == absl::InfinitePast()) work.began = absl::Now();
    if (part.quick && terms.adjacency != accountant::Adjacency::kReplaceOne &&
        absl::Now() < work.began + kMostQuick) {
      Known uses = UsesOf(terms, part.history());
      Remember(key, uses);
      return noted(uses);
    }
    work.terms = terms;
    work.parts.push_back({key, part.history()});
    return accountant::filter::Uses(MeasuresOf(terms.filter), 0);
  };
}

absl::Status FilterGate::NotReady(const Batch& batch, Work work) {
  const std::string ledger = batch.head.name;
  const auto is_its_own = [&](const auto& other) { return other->party == batch.caller; };
  const auto is_this = [&](const auto& other) { return other->terms.ledger == ledger; };
  if (HasCost(batch.change) && std::none_of(work_.begin(), work_.end(), is_this) &&
      work_.size() < kMostWork &&
      (batch.caller.empty() ||
       std::count_if(work_.begin(), work_.end(), is_its_own) < static_cast<int>(kMostWorkOfOne))) {
    work.party = std::string(batch.caller);
    work_.push_back(std::make_shared<Work>(std::move(work)));
  }
  return WithReason(
      absl::AbortedError(absl::StrCat(
          ledger,
          ": what this spends of the ledger's filter is being worked out; nothing of it is "
          "stored, send it again")),
      {kFilterNotReady, {{"ledger", ledger}}});
}

void FilterGate::Keep(const Terms& terms, Metered metered) {
  Forget(terms.ledger);
  std::list<std::string> node(1, terms.ledger);
  Place made = {terms, std::move(metered), node.begin()};
  Place& place = ledgers_.emplace(terms.ledger, std::move(made)).first->second;
  recent_.splice(recent_.begin(), node);  // last: it cannot fail
  Bound(place.metered);
  Weigh(place);
}

void FilterGate::Weigh(Place& place) {
  // A step back holds one writer's rounds.
  const size_t bytes = kLedgerBytes + 2 * place.metered.run.bytes();
  bytes_ += bytes - std::exchange(place.bytes, bytes);
  while (bytes_ > kMostBytes && recent_.back() != *place.recent) Forget(recent_.back());
}

void FilterGate::Forget(std::string ledger) {
  const auto place = ledgers_.find(ledger);
  if (place == ledgers_.end()) return;
  bytes_ -= place->second.bytes;
  recent_.erase(place->second.recent);
  ledgers_.erase(place);
}

std::string FilterGate::KeyOf(const Terms& terms, const std::string& part) {
  constexpr size_t kShort = 128;
  std::string key = absl::StrCat(terms.key, part);
  return key.size() <= kShort ? key : merkle::ToBytes(merkle::Sha256({key}));
}

FilterGate::Known* FilterGate::FindKnown(const std::string& key) {
  for (auto* const known : {&known_, &known_before_}) {
    if (const auto found = known->find(key); found != known->end()) return &found->second;
  }
  return nullptr;
}

void FilterGate::Remember(const std::string& key, Known uses) {
  if (known_.size() >= kMostKnown) known_before_ = std::exchange(known_, {});
  known_.insert_or_assign(key, std::move(uses));
}

void FilterGate::WorkUntilStopped() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !work_.empty();
  };
  while (true) {
    std::shared_ptr<Work> work;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&ready));
      if (stopping_) return;
      work = work_.front();  // it stays until it is done: nobody asks for it twice
    }
    bool is_done = true;
    try {
      is_done = Do(*work);
    } catch (const std::bad_alloc&) {
      // The batch that comes again asks for it anew.
    }
    absl::MutexLock lock(&mutex_);
    if (is_done) {
      work_.pop_front();
    } else {
      work_.splice(work_.end(), work_, work_.begin());
    }
  }
}

bool FilterGate::Do(Work& work) {
  const absl::Time end = absl::Now() + kTurn;
  while (work.done < work.parts.size()) {
    const auto& [key, history] = work.parts[work.done++];
    Known uses = UsesOf(work.terms, history);
    absl::MutexLock lock(&mutex_);
    if (!absl::IsCancelled(uses.status())) Remember(key, std::move(uses));
    if (stopping_ || absl::Now() > end) return work.done == work.parts.size() && !work.read;
  }
  if (!work.read) return true;
  absl::StatusOr<Metered> read = ReadAnew(work, end);
  if (work.turn_is_over) return stopping_;
  if (Passes(read.status())) return true;
  absl::MutexLock lock(&mutex_);
  if (!read.ok()) {
    Metered unknown = {questions::HeldRun(work.terms.filter), {}, {}, {}};
    SetUncountable(read.status(), unknown);
    read = std::move(unknown);
  }
  Keep(work.terms, *std::move(read));
  return true;
}

FilterGate::Known FilterGate::UsesOf(const Terms& terms, const accountant::History& history) {
  accountant::Limits limits;
  limits.deadline = absl::Now() + kLongest;
  limits.cancelled = [this] { return stopping_.load(); };
  ASSIGN_OR_RETURN(const accountant::Composition composition,
                   accountant::Resolve(history, terms.adjacency));
  Known uses = accountant::filter::UsesOf(terms.filter, composition, limits);
  if (!absl::IsDeadlineExceeded(uses.status())) return uses;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "filter ", Name(terms.filter), ": what a mechanism costs is not known within ",
          absl::FormatDuration(kLongest), "; it is refused, not approximated")),
      {"FILTER_CANNOT_COUNT", {{"filter", Name(terms.filter)}}});
}

absl::StatusOr<FilterGate::Metered> FilterGate::ReadAnew(Work& work, absl::Time end) {
  const Terms& terms = work.terms;
  work.turn_is_over = false;
  accountant::Limits limits;
  limits.cancelled = [this] { return stopping_.load(); };
  ASSIGN_OR_RETURN(const Lineage lineage, subjects_->ReadLineage(terms.ledger, limits));
  Metered metered = {questions::HeldRun(terms.filter), lineage[0].history->tree, {}, {}};
  end = std::max(end, absl::Now() + kTurn / 2);  // reading took its time; each turn gets on
  const absl::Status begun =
      metered.run.Begin(lineage[0].history->reader, AncestorsOf(lineage),
                        [&](const questions::RunPart& part) -> Known {
                          const std::string key = KeyOf(terms, part.key);
                          // Kept apart: others may not push out what the next turn goes on from.
                          const auto place = work.read_parts.find(key);
                          if (place != work.read_parts.end()) return place->second;
                          {
                            absl::MutexLock lock(&mutex_);
                            if (const Known* const known = FindKnown(key); known != nullptr) {
                              return work.read_parts.emplace(key, *known).first->second;
                            }
                          }
                          if (absl::Now() > end) {
                            work.turn_is_over = true;
                            return absl::CancelledError("it is another's turn");
                          }
                          Known uses = UsesOf(terms, part.history());
                          if (!absl::IsCancelled(uses.status())) work.read_parts.emplace(key, uses);
                          absl::MutexLock lock(&mutex_);
                          if (!absl::IsCancelled(uses.status())) Remember(key, uses);
                          return uses;
                        });
  if (absl::IsCancelled(begun)) return begun;
  if (!begun.ok()) SetUncountable(begun, metered);
  return metered;
}

}  // namespace dpledger::server
