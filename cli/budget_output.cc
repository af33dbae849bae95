#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/number_text.h"
#include "events/grant_rules.h"
#include "events/proto_json.h"

namespace dpledger::cli {
namespace {

std::string EventText(const v1::Event& event) {
  if (!event.has_rounds()) return events::MessageToJson(event.mechanism());
  const v1::RoundsEvent& rounds = event.rounds();
  std::string text = absl::StrCat(Counted(rounds.count(), "round", "rounds"), ", ",
                                  events::MessageToJson(rounds.scheme()));
  for (const v1::SumQuery& query : rounds.queries()) {
    absl::StrAppend(&text, ", noise multiplier ",
                    TextNear(query.noise_stddev() / query.l2_norm_bound()));
  }
  return text;
}

std::string GrantText(const v1::BudgetGrant& grant) {
  const std::string blocks = events::BlocksText(grant.blocks());
  return absl::StrCat(grant.ledger(), ": ", PlanText(grant), blocks.empty() ? "" : "; of blocks ",
                      blocks, grant.reason().empty() ? "" : "; ", grant.reason());
}

// What the run has spent of it, if that is known.
std::string UsedText(const v1::ComputeBudgetResponse& answer, const std::string& ledger) {
  for (const v1::FilterSpending& run : answer.runs()) {
    if (run.ledger() != ledger) continue;
    return absl::StrCat("; spent ", TextUp(run.spent()), " of ", TextUp(run.granted()));
  }
  return "";
}

std::string DayText(const google::protobuf::Timestamp& time) {
  return TimeText(time).substr(0, 10);
}

// Behind what it wanted, of what.
std::string RefusedWords(const v1::BudgetRefusal& refusal) {
  return absl::StrCat(refusal.of_batch() ? " that it was granted" : " in all", " at ",
                      TimeText(refusal.time()),
                      refusal.times() > 1 ? absl::StrCat(", ", refusal.times(), " times") : "");
}

std::string PaceText(const v1::ComputeBudgetResponse& answer) {
  const v1::BudgetPace& pace = answer.pace();
  if (!answer.has_pace()) return "";
  if (answer.spending().spent() >= answer.spending().bound()) return "it is full";
  if (!pace.has_runs_out()) return "not full in 100 years";
  return absl::StrCat("full on ", DayText(pace.runs_out()), "; ", TextUp(pace.spent_before()),
                      " had been granted by ", DayText(pace.since()));
}

}  // namespace

std::string PlanText(const v1::BudgetGrant& grant) {
  if (grant.plan().empty()) return "nothing";
  return absl::StrJoin(grant.plan(), "; ",
                       [](std::string* out, const v1::Event& event) { *out += EventText(event); });
}

std::string WhyNot(const v1::ComputeBudgetResponse& answer) {
  if (answer.budget().state() == v1::SEALED) return ": the budget is sealed";
  return absl::StrCat(answer.below_spent() ? ": the run has spent more than that" : "",
                      answer.overspent_size() > 0 ? ": the budget is overspent" : "",
                      answer.retired_block() > 0
                          ? absl::StrCat(": block ", answer.retired_block(), " is retired")
                          : "");
}

std::string ToText(const v1::ComputeBudgetResponse& answer) {
  const v1::FilterSpending& spending = answer.spending();
  std::string text = Row("budget", answer.budget().name(), " at size ", answer.budget().size());
  text += Row("data set", answer.budget().dataset());
  text += Row("unit of privacy", answer.budget().unit_of_privacy());
  text += Row("state", v1::LedgerState_Name(answer.budget().state()));
  text += Row("filter", spending.filter(), ", bound ", TextNear(spending.bound()));
  text += Row("granted", TextUp(spending.spent()), " to ",
              Counted(answer.grant_count(), "ledger", "ledgers"));
  for (const v1::BudgetGrant& grant : answer.grants())
    text += Row("  granted", GrantText(grant), UsedText(answer, grant.ledger()));
  const uint64_t shown = static_cast<uint64_t>(answer.grants_size());
  if (answer.grant_count() > shown)
    text += Row("  granted", "and ", answer.grant_count() - shown, " more");
  for (const v1::BlockSpending& one : answer.blocks()) {
    google::protobuf::RepeatedPtrField<v1::BlockRange> range;
    *range.Add() = one.blocks();
    text += Row("  blocks", events::BlocksText(range), ": ", TextUp(one.spent()), " of ",
                TextNear(spending.bound()));
  }
  text += Row("retired blocks", events::BlocksText(answer.retired_blocks()));
  for (const std::string& ledger : answer.overspent()) {
    text += Row("OVERSPENT", ledger,
                ": more than it was granted; what the budget promises does not hold");
  }
  for (const v1::BudgetRefusal& refusal : answer.refused()) {
    text += Row("refused", refusal.ledger(), ": ", TextUp(refusal.wanted()), " of ",
                TextNear(refusal.bound()), RefusedWords(refusal));
  }
  return text + Row("at this pace", PaceText(answer));
}

std::string FitText(const v1::ComputeBudgetResponse& answer) {
  std::string text;
  if (answer.has_present_grant()) text = Row("granted before", GrantText(answer.present_grant()));
  text += Row("with the plan", TextUp(answer.spent_with_plan()), " of ",
              TextNear(answer.spending().bound()));
  text += Row("fits", answer.fits() ? "yes" : "NO" + WhyNot(answer));
  if (answer.has_rounds_left())
    text +=
        Row("rounds that fit", answer.rounds_left(), " of its last kind, beside the rest of it");
  if (answer.has_with_more_noise())
    text += Row("noise that fits", EventText(answer.with_more_noise()), ", beside the rest of it");
  return text;
}

std::string ToText(const v1::BudgetVerified& verified) {
  std::string text = Row(verified.verified() ? "verified" : "agrees with itself", verified.origin(),
                         " at size ", verified.size());
  text += Row("grants", verified.grants(),
              ", each fitted when it was made: ", TextUp(verified.spending().spent()), " of ",
              TextNear(verified.spending().bound()), " is granted");
  for (const v1::BudgetVerified::Run& run : verified.runs()) {
    text += Row("run", run.origin(), " at size ", run.size(), ": spent ",
                TextUp(run.spending().spent()), " of ", TextUp(run.spending().granted()),
                ", at every entry");
  }
  for (const std::string& origin : verified.missing())
    text +=
        Row("NOT CHECKED", origin, ": its bundle was not given, or is older than its last grant");
  return text;
}

}  // namespace dpledger::cli
