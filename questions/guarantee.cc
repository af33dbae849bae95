#include "questions/guarantee.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::questions {
namespace {

// An ε above this tells hardly anybody anything: odds of e^10 are 22,000 to 1.
constexpr double kUseful = 10;
constexpr char kNoUse[] = " An epsilon above 10 bounds little of use.";

// "user"; "record" where units differ, or nothing says what one is.
std::string UnitOf(const v1::AnswerDetails& details) {
  std::set<std::string> units;
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    units.insert(ledger.unit_of_privacy());
  }
  units.erase("");
  return units.size() == 1 ? *units.begin() : "record";
}

// Of whom the number speaks, by what neighbouring data sets differ in.
struct Protected {
  std::string who;       // "one user", "any 4 records at once"
  std::string likely;    // "with that user in the data as without"
  std::string odds;      // "that one user is in the data"
  std::string not_told;  // what neighbours have in common, which is not hidden; may be empty
};

bool Describe(const v1::AnswerDetails& details, Protected& into) {
  const std::string unit = UnitOf(details);
  const bool one = details.group_size() <= 1;
  const std::string that = one ? absl::StrCat("that ", unit) : "those records";
  into.who = one ? absl::StrCat("one ", unit)
                 : absl::StrCat("any ", details.group_size(), " records at once");
  switch (details.adjacency()) {
    case v1::ADD_OR_REMOVE_ONE:
      into.likely = absl::StrCat("with ", that, " in the data as without");
      into.odds = absl::StrCat("that ", into.who, one ? " is" : " are", " in the data");
      return true;
    case v1::REPLACE_ONE:
      into.likely = absl::StrCat("with one value of ", that, " as with any other");
      into.odds = absl::StrCat("between two values of ", into.who);
      into.not_told = absl::StrCat("whether ", that, one ? " is" : " are",
                                   " in the data at all, how many records there are, ");
      return true;
    case v1::ZERO_OUT:
      into.likely = absl::StrCat("with what ", that, " contributed as with it left blank");
      into.odds = absl::StrCat("that ", into.who, " contributed");
      into.not_told = "how many records there are, blank ones included, ";
      return true;
    default:
      return false;
  }
}

// What speaks against the number.
std::string Doubts(const v1::AnswerDetails& details) {
  bool corrected = false, short_of = false;
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    corrected = corrected || ledger.corrections_size() > 0;
    short_of = short_of || ledger.missing_count() > 0;
  }
  std::string doubts;
  if (corrected) {
    doubts +=
        "The record is corrected: some entries are said to be wrong, and this is of the entries as "
        "they were written. ";
  }
  if (short_of) {
    doubts += "Releases may be missing in the record; with them, this may be more. ";
  }
  if (details.declaration_source() == v1::ASSUMED) {
    doubts += "What it holds under was not stated, and is assumed. ";
  }
  return doubts;
}

}  // namespace

std::string GuaranteeOf(const v1::AnswerDetails& details, double bound) {
  if (!std::isfinite(bound)) {
    return "No guarantee: what was released has no bound, whatever was declared.";
  }
  Protected what;
  if (!Describe(details, what)) return "";
  std::string text = Doubts(details);
  if (details.regime() == v1::ODOMETER) {
    absl::StrAppend(
        &text,
        "No differential privacy: an odometer, of the runs that happened. What they "
        "released has changed the odds ",
        what.odds,
        " by a factor of at most e^epsilon, at every time so far, but for a probability "
        "of delta over their own outputs. Of runs that did not happen it says nothing.");
    if (bound > kUseful) text += kNoUse;
    return text;
  }
  if (details.regime() != v1::FIXED_PLAN && details.regime() != v1::FILTER) return "";
  absl::StrAppend(&text, "Differential privacy of ", what.who,
                  ". All that was released is as likely ", what.likely,
                  ", up to a factor of e^epsilon and but for delta: no more can anybody tell who "
                  "sees it and knows everything else.");
  text += details.regime() == v1::FIXED_PLAN
              ? " It holds if noise, samples and the number of rounds did not depend on outputs."
              : " It is the bound of the declared filter, and holds whatever was chosen after "
                "looking at outputs, as long as nothing is released that would cross it.";
  if (bound > kUseful) text += kNoUse;
  absl::StrAppend(&text, " It does not hide ", what.not_told,
                  "what the data show of many together, or the data from whoever holds them.");
  return text;
}

std::string DeltaWarning(double delta, uint64_t records) {
  if (records == 0 || !(delta * static_cast<double>(records) >= 1)) return "";
  const double times = accountant::MulUp(delta, static_cast<double>(records));
  return absl::StrCat(
      "delta is too large: ", times < 1.5 ? "" : absl::StrCat(std::round(times), " times "),
      "1/n for the ", records,
      " records that the entries state. Giving out whole records keeps such a delta; "
      "it should be well below 1/n");
}

}  // namespace dpledger::questions
