#include "questions/guarantee.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace dpledger::questions {
namespace {

// A δ from so many records on, where 1 is 1/n, is not well below 1/n.
constexpr double kNear = 0.1;

// Of whom the number speaks, and what neighbouring data sets have in common, which is not hidden.
struct Protected {
  std::string who;       // "one user"
  std::string that;      // "that user"
  std::string with;      // "with that user in the data"
  std::string without;   // "without"
  bool is_two_way;       // whether the two can be told apart: else both are any
  std::string truth;     // "the truth about whether that user is in the data"
  std::string not_told;  // "how many units there are, "; may be empty
};

// "one group of up to 4 (unit: user)", "that group". Ledgers that count differently, or do not say
// how, have no unit in common.
std::pair<std::string, std::string> WhoIsProtected(const v1::AnswerDetails& details) {
  std::set<std::string> units;
  bool is_unstated = false;
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    const std::string& unit = ledger.unit_of_privacy();
    is_unstated = is_unstated || unit.empty();
    units.insert(unit.empty() ? "not stated" : unit);
  }
  const uint64_t size = std::max<uint64_t>(details.group_size(), 1);
  if (units.size() > 1 || (is_unstated && details.ledgers_size() > 1)) {
    return {absl::StrCat("one party that has at most ", size,
                         " in each ledger (units: ", absl::StrJoin(units, ", "), ")"),
            "that party"};
  }
  const std::string unit = units.empty() || is_unstated ? "record" : *units.begin();
  if (size == 1) return {absl::StrCat("one ", unit), absl::StrCat("that ", unit)};
  return {absl::StrCat("one group of up to ", size, " (unit: ", unit, ")"), "that group"};
}

std::optional<Protected> Describe(const v1::AnswerDetails& details) {
  const auto [who, that] = WhoIsProtected(details);
  switch (details.adjacency()) {
    case v1::ADD_OR_REMOVE_ONE:
      return Protected{
          who,       that, absl::StrCat("with ", that, " in the data"),
          "without", true, absl::StrCat("the truth about whether ", that, " is in the data"),
          ""};
    case v1::REPLACE_ONE:
      return Protected{who,
                       that,
                       absl::StrCat("with one value of ", that, "'s data"),
                       "with any other",
                       false,
                       absl::StrCat("the true value of ", that,
                                    "'s data over one other, also chosen beforehand,"),
                       "how many units there are and what that tells of who is in the data, "};
    case v1::ZERO_OUT:
      return Protected{
          who,
          that,
          absl::StrCat("with what ", that, " contributed"),
          "with it left blank",
          true,
          absl::StrCat("the truth about whether ", that, " contributed"),
          "how many units there are, blank ones included, and what that tells of who is in the "
          "data, "};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string Doubts(const v1::AnswerDetails& details) {
  bool is_corrected = false, is_short = false, is_copy = false, is_left = false;
  std::set<std::string> names;
  for (const v1::LedgerReference& ledger : details.ledgers()) names.insert(ledger.name());
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    is_corrected = is_corrected || ledger.corrections_size() > 0;
    is_short = is_short || ledger.missing_count() > 0;
    is_copy = is_copy || ledger.has_import();
    is_left = is_left || (ledger.has_fork() && names.count(ledger.fork().parent()) == 0);
  }
  std::string doubts;
  if (is_corrected) {
    doubts += absl::StrCat(
        "The record is corrected: some entries are said to be wrong; the number is of them as they "
        "were written, and may ",
        details.regime() == v1::FILTER ? "not hold. " : "be too small. ");
  }
  if (is_short) {
    doubts += details.regime() == v1::FILTER
                  ? "Releases may be missing in the record: with them, a filter may have been "
                    "crossed, and then the number does not hold. "
                  : "Releases may be missing in the record: with them, the number may be greater. ";
  }
  if (is_copy) {
    doubts +=
        "Copies count as the server that they come from signed them; nothing here checks that "
        "this is all. ";
  }
  if (is_left) doubts += "What a parent released after its fork is not counted. ";
  if (details.declaration_source() == v1::ASSUMED) {
    doubts += "What the question did not state of adjacency and parameters is assumed. ";
  }
  return doubts;
}

namespace {

constexpr char kIfTrue[] =
    " It holds if what the answer assumes is so; if the events are true and leave out no use of "
    "the data that their outputs rest on; ";
constexpr char kIfDrawn[] =
    "if noise and samples are set before their round or epoch releases anything, drawn anew at "
    "random as the events say and kept secret";

std::string WhatOdometersSay(const Protected& of, Asked asked) {
  const bool of_delta = asked == Asked::kDelta;
  return absl::StrCat(
      "This is not differential privacy: it speaks of the runs that happened, and of no others. "
      "For ",
      of.who, of.is_two_way ? " with its data" : "",
      of_delta ? ", an epsilon and a number d, each" : " and a delta, each",
      " chosen beforehand, and runs not picked by their outputs: with a probability of at ",
      of_delta ? "most d" : "least 1 - delta", " over noise and samples, the outputs favour ",
      of.truth, " by a factor ",
      of_delta ? "above e^epsilon at a time at which this delta is at most d."
               : "of at most e^epsilon, at every time so far.",
      kIfTrue, kIfDrawn, "; and if sampling, noise and stopping depend on ", of.that,
      " through outputs alone.");
}

std::string SeenIn(Asked asked) {
  switch (asked) {
    case Asked::kSearch:
      return "all that the runs of the search release";
    case Asked::kBestOfSearch:
      return "the best run's result and nothing else of the search";
    default:
      return "all that the events release";
  }
}

// The definition of (ε, δ)-differential privacy, and the conditions of the regime's theorem.
std::string WhatPlansSay(const Protected& of, bool is_filter, Asked asked) {
  return absl::StrCat(
      "Differential privacy of ", of.who, ", against whoever sees ", SeenIn(asked),
      ", whatever they knew before. Of every set of outcomes, the probability ", of.with,
      " is at most e^epsilon times that ", of.without, ", plus delta",
      of.is_two_way ? ", and the other way round." : ".",
      is_filter ? " The number is what the declared filters allow, spent or not." : "", kIfTrue,
      kIfDrawn,
      asked == Asked::kBestOfSearch
          ? "; if the number of runs is drawn at random as it is stated and kept secret"
          : "",
      is_filter
          ? absl::StrCat("; if the runs would have stopped before crossing a filter, whatever the "
                         "outputs; and if sampling, noise and stopping depend on ",
                         of.that, " through outputs of earlier rounds counted here alone.")
          : absl::StrCat("; and if neither sampling, noise multipliers (or mechanisms) nor the "
                         "number of rounds depends on any outputs or on ",
                         of.that, "."));
}

}  // namespace

std::string NoGuarantee(const v1::AnswerDetails& details, absl::string_view why) {
  return absl::StrCat(Doubts(details), "No guarantee: ", why, ".");
}

std::string GuaranteeOf(const v1::AnswerDetails& details, double bound, Asked asked) {
  if (!std::isfinite(bound)) {
    return NoGuarantee(details, "no finite epsilon is known at this delta");
  }
  const v1::Regime regime = details.regime();
  if (regime == v1::AS_PLANNED) {
    return NoGuarantee(details,
                       "the number is what these events would cost had they been one plan, made "
                       "without looking at outputs, and nothing says that they were; ask without "
                       "as_planned for what holds of them");
  }
  const std::optional<Protected> of = Describe(details);
  if (!of.has_value() ||
      (regime != v1::FIXED_PLAN && regime != v1::FILTER && regime != v1::ODOMETER)) {
    return "";
  }
  return absl::StrCat(Doubts(details),
                      regime == v1::ODOMETER ? WhatOdometersSay(*of, asked)
                                             : WhatPlansSay(*of, regime == v1::FILTER, asked),
                      bound <= kUseful         ? ""
                      : regime == v1::ODOMETER ? " A loss above 10 is no useful bound."
                                               : " An epsilon above 10 bounds little of use.",
                      " It does not hide ", of->not_told,
                      "what other releases of the data show, what the data show of many together, "
                      "or the data from whoever holds them.");
}

bool GivesOutWholeRecords(double delta, uint64_t records) {
  return records > 0 && delta * static_cast<double>(records) >= 1;
}

std::string DeltaWarning(double delta, uint64_t records) {
  const double times = delta * static_cast<double>(records);
  if (!(times >= kNear)) return "";
  // In tenths or whole numbers, rounded up; what the doubles of 1e-5 and 9,000,000 are above 90 is
  // not meant.
  const double unit = times < 10 ? 10 : 1, shown = std::ceil(times * unit * (1 - 1e-12)) / unit;
  const bool is_whole = GivesOutWholeRecords(delta, records);
  const bool is_rounded = shown > times * (1 + 1e-12);
  return absl::StrCat(
      "delta is ", is_whole ? "too large: " : "large: ", is_rounded ? "at most " : "",
      shown == 1 ? "" : absl::StrFormat("%.*f times ", shown == std::floor(shown) ? 0 : 1, shown),
      "1/n for the ", records, " records that the entries state. ",
      is_whole ? "What gives out whole records can have such a delta; it" : "It",
      " should be well below 1/n");
}

}  // namespace dpledger::questions
