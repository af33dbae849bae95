#include "server/statement/fields.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "accountant/numeric/rounding.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

constexpr size_t kMostTexts = 20, kMostNames = 5, kMostLines = 50, kMostSchemes = 10;

struct SchemeWords {
  std::string operator()(const accountant::FullBatch&) const { return "every record"; }
  std::string operator()(const accountant::PoissonSampling& scheme) const {
    return absl::StrCat("Poisson sampling, each record independently with probability ",
                        StatedText(scheme.probability));
  }
  std::string operator()(const accountant::WithoutReplacement& scheme) const {
    return absl::StrCat(CountText(scheme.sample_size), " records drawn without replacement");
  }
  std::string operator()(const accountant::WithReplacement& scheme) const {
    return absl::StrCat(CountText(scheme.sample_size), " records drawn with replacement");
  }
  std::string operator()(const accountant::DisjointBatches& scheme) const {
    return absl::StrCat("shuffled epochs of ", CountText(scheme.batches_per_epoch),
                        " disjoint batches");
  }
  std::string operator()(const accountant::RandomAllocation& scheme) const {
    const std::string rounds =
        scheme.contributions == 1 ? "one random round"
                                  : absl::StrCat(CountText(scheme.contributions), " random rounds");
    return absl::StrCat("each record in ", rounds, " of an epoch of ",
                        CountText(scheme.rounds_per_epoch), " rounds",
                        scheme.fixed_bins ? ", the same in every epoch" : "");
  }
  std::string operator()(const accountant::TruncatedPoisson& scheme) const {
    return absl::StrCat("Poisson sampling, each record independently with probability ",
                        StatedText(scheme.probability), ", cut to ",
                        CountText(scheme.max_sample_size), " records");
  }
};

std::string WordsOf(const accountant::SamplingScheme& scheme) {
  std::string words = std::visit(SchemeWords(), scheme.kind);
  if (scheme.population_size > 0) {
    absl::StrAppend(&words, ", of ", CountText(scheme.population_size), " records");
  }
  return words;
}

// (Σ (S/σ)²)^(-1/2), rounded down: what the noise is at least (McMahan et al. 2018, equation 1).
double NoiseMultiplier(const accountant::Round& round) {
  using accountant::AddUp;
  using accountant::DivDown;
  using accountant::DivUp;
  using accountant::MulUp;
  if (round.queries.size() == 1) {
    return round.queries[0].noise_stddev / round.queries[0].l2_norm_bound;
  }
  double sum = 0;
  for (const accountant::SumQuery& query : round.queries) {
    const double quotient = DivUp(query.l2_norm_bound, query.noise_stddev);
    sum = AddUp(sum, MulUp(quotient, quotient));
  }
  return DivDown(1, accountant::NextUp(std::sqrt(sum)));
}

// As it was stated, where that is short.
std::string MultiplierText(double multiplier) {
  const std::string stated = StatedText(multiplier);
  return stated.size() <= 6 ? stated : LowerText(multiplier);
}

}  // namespace

void SectionBuilder::Begin(const std::string& heading) {
  sections_.emplace_back().set_heading(heading);
}

void SectionBuilder::Add(const std::string& name, const std::string& label,
                         const std::string& value, v1::Statement::Source source) {
  v1::Statement::Field& field = *sections_.back().add_fields();
  field.set_name(name);
  field.set_label(label);
  field.set_value(value);
  field.set_source(source);
}

void SectionBuilder::AddOrOpen(const std::string& name, const std::string& label,
                               const std::string& value, v1::Statement::Source source,
                               const std::string& open, v1::Statement::Source open_source) {
  if (value.empty()) {
    Add(name, label, open, open_source);
  } else {
    Add(name, label, value, source);
  }
}

void SectionBuilder::AddTable(v1::Statement::Table table) {
  *sections_.back().mutable_table() = std::move(table);
}

std::string Names(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", ");
  if (names.size() > shown) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

std::string Grouped(const Facts& facts, const TextOfLedger& text) {
  std::map<std::string, std::vector<std::string>> by_text;
  for (const LedgerFacts& ledger : facts.ledgers) {
    by_text[text(ledger)].push_back(ledger.ledger.name());
  }
  if (by_text.size() == 1) return by_text.begin()->first;
  std::vector<std::string> lines;
  for (const auto& [said, names] : by_text) {
    lines.push_back(absl::StrCat(said.empty() ? "not stated" : said, " (in ",
                                 Counted(names.size(), "ledger"), ": ", Names(names, kMostNames),
                                 ")"));
    if (lines.size() < kMostTexts) continue;
    lines.push_back(absl::StrCat("and ", by_text.size() - kMostTexts, " more that differ"));
    break;
  }
  return absl::StrJoin(lines, "\n");
}

std::string Listed(const Facts& facts, const TextOfLedger& text) {
  std::vector<std::string> lines;
  uint64_t more = 0;
  for (const LedgerFacts& ledger : facts.ledgers) {
    const std::string said = text(ledger);
    if (said.empty()) continue;
    if (lines.size() >= kMostLines) {
      ++more;
      continue;
    }
    lines.push_back(facts.ledgers.size() > 1 ? absl::StrCat(ledger.ledger.name(), ": ", said)
                                             : said);
  }
  if (more > 0) lines.push_back(absl::StrCat("and ", Counted(more, "ledger"), " more"));
  return absl::StrJoin(lines, "\n");
}

std::string SetAside(const LedgerFacts& ledger) {
  return ledger.declaration().kind() == v1::BUDGET ? "set aside for its runs: " : "";
}

std::string SamplingText(const LedgerFacts& ledger) {
  if (!ledger.own.has_value()) return "";
  std::map<std::string, uint64_t> rounds;
  for (const accountant::History::CountedRound& counted : ledger.own->history.Rounds()) {
    rounds[WordsOf(counted.round.scheme)] += counted.count;
  }
  std::vector<std::string> lines;
  for (const auto& [words, count] : rounds) {
    if (lines.size() == kMostSchemes) {
      lines.push_back(absl::StrCat("and ", rounds.size() - kMostSchemes, " other schemes"));
      break;
    }
    lines.push_back(absl::StrCat(SetAside(ledger), Counted(count, "round"), ": ", words));
  }
  return absl::StrJoin(lines, "; ");
}

std::string NoiseText(const LedgerFacts& ledger) {
  if (!ledger.own.has_value()) return "";
  double least = INFINITY, most = 0;
  for (const accountant::History::CountedRound& counted : ledger.own->history.Rounds()) {
    const double multiplier = NoiseMultiplier(counted.round);
    least = std::min(least, multiplier);
    most = std::max(most, multiplier);
  }
  if (most == 0) return "";
  if (least == most)
    return absl::StrCat(SetAside(ledger), "noise multiplier ", MultiplierText(least),
                        " in every round");
  return absl::StrCat(SetAside(ledger), "noise multipliers from ", MultiplierText(least), " to ",
                      MultiplierText(most));
}

uint64_t PopulationOf(const LedgerFacts& ledger) {
  return ledger.own.has_value() ? ledger.own->history.GreatestPopulation() : 0;
}

uint64_t PopulationOf(const Facts& facts) {
  uint64_t population = 0;
  for (const LedgerFacts& ledger : facts.ledgers)
    population = std::max(population, PopulationOf(ledger));
  return population;
}

}  // namespace dpledger::server::statement
