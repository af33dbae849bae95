#include "server/statement/sections.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "accountant/filter/filter.h"
#include "accountant/numeric/rounding.h"
#include "questions/declaration_values.h"
#include "questions/guarantee.h"
#include "server/statement/fields.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

constexpr auto kDeclared = v1::Statement::DECLARED;
constexpr auto kRecorded = v1::Statement::RECORDED;
constexpr auto kComputed = v1::Statement::COMPUTED;
constexpr auto kNotStated = v1::Statement::NOT_STATED;
constexpr auto kNote = v1::Statement::SOURCE_UNSPECIFIED;
constexpr auto kStated = v1::Statement::STATED;
constexpr auto kNotApplicable = v1::Statement::NOT_APPLICABLE;

// What the ledger says of itself as a part of the answer; null if it cannot be accounted for.
const v1::LedgerReference* ReferenceOf(const LedgerFacts& ledger) {
  if (!ledger.own.has_value() || ledger.own->ledgers.empty()) return nullptr;
  return &ledger.own->ledgers[0];
}

std::string Lines(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return absl::StrJoin(texts, "\n",
                       [](std::string* out, const std::string& text) { *out += Shown(text); });
}

bool HasBound(const Facts& facts) {
  return facts.answer.has_epsilon() && std::isfinite(facts.answer.epsilon().upper());
}

// "2,036 entries": of all that is covered.
std::string CountedEntries(const Facts& facts) {
  uint64_t entries = 0;
  for (const auto& one : facts.checkpoints) entries += one.size();
  return absl::StrCat(CountText(entries), entries == 1 ? " entry" : " entries");
}

using Declared = const std::string& (v1::Declaration::*)() const;
void AddDeclared(const Facts& facts, const std::string& name, const std::string& label,
                 Declared field, const std::string& open, SectionBuilder& builder) {
  builder.AddOrOpen(
      name, label,
      Grouped(facts, [&](const LedgerFacts& one) { return Shown((one.declaration().*field)()); }),
      kDeclared, open);
}

// ---- 1. Setting ----

void AddSetting(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("1. Setting");
  builder.Add("dp_setting", "Setting of differential privacy",
              HasBound(facts)
                  ? "central, as accounted: what is said here is against whoever sees what was "
                    "released, not against whoever sees the data or the sums before the noise"
                  : "none: there is no guarantee",
              kComputed);
  builder.Add("trusted_parties", "Who adds the noise, and who is trusted with the data",
              "not stated in the ledger; the trainer could say it in the ledger's description",
              kNotStated);
  AddDeclared(facts, "description", "In the trainer's own words", &v1::Declaration::description,
              "not stated; the trainer could have written it in the declaration", builder);
}

// ---- 2. What is protected ----

std::string ParametersWords(v1::Parameters parameters) {
  if (parameters == v1::FIXED) {
    return "fixed: schemes, noise and the number of rounds were decided without looking at outputs";
  }
  if (parameters == v1::ADAPTIVE) return "adaptive: they may depend on earlier outputs";
  return "";
}

void AddUnit(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("2. What is protected");
  AddDeclared(facts, "dataset", "Data set", &v1::Declaration::dataset, "not stated", builder);
  AddDeclared(facts, "unit_of_privacy", "Unit of privacy (what one record is)",
              &v1::Declaration::unit_of_privacy, "not stated", builder);
  builder.AddOrOpen(
      "adjacency", "Neighbouring data sets differ in this",
      Grouped(facts, [](const auto& one) { return AdjacencyWords(one.declaration().adjacency()); }),
      kDeclared, "not stated");
  const v1::AnswerDetails& details = facts.answer.details();
  if (details.group_size() > 1) {
    builder.Add("group_size", "Records in which neighbouring data sets differ, in this statement",
                absl::StrCat("up to ", CountText(details.group_size())), kComputed);
  }
  if (!facts.ledgers.empty() && facts.answer.has_epsilon() &&
      details.adjacency() != facts.ledgers[0].declaration().adjacency()) {
    builder.Add("adjacency_asked", "Adjacency of this statement, as it was asked for",
                AdjacencyWords(details.adjacency()), kComputed);
  }
  builder.Add("records_per_person", "How many records one person may have",
              "not stated in the ledger; whoever prepared the data could say it. Of several "
              "records of one person the guarantee speaks only if the unit of privacy does",
              kNotStated);
}

// ---- 3. What is released ----

std::string RoundsText(const LedgerFacts& one) {
  const v1::LedgerReference* reference = ReferenceOf(one);
  if (reference == nullptr) return "";
  if (one.declaration().kind() == v1::BUDGET)
    return "none: a budget sets aside what its runs may release";
  return CountText(reference->rounds());
}

std::string PlannedText(const LedgerFacts& one) {
  const uint64_t planned = one.declaration().planned_rounds();
  return planned == 0 ? "" : CountText(planned);
}

// Whether every ledger's parameters are of this kind.
bool AllAre(const Facts& facts, v1::Parameters parameters) {
  return std::all_of(facts.ledgers.begin(), facts.ledgers.end(), [&](const LedgerFacts& one) {
    return one.declaration().parameters() == parameters;
  });
}

void AddReleased(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("3. What is released");
  AddDeclared(facts, "released", "What is released", &v1::Declaration::released,
              "not stated; the trainer could have declared it. The accounting counts every noised "
              "sum as released",
              builder);
  if (facts.ledgers.size() > 1) return;  // the table says it
  builder.AddOrOpen("rounds", "Rounds that released something", Listed(facts, RoundsText),
                    kRecorded, "not known: the entries cannot be accounted for");
  builder.AddOrOpen(
      "mechanisms", "Other mechanisms that released something", Listed(facts, MechanismsText),
      kRecorded,
      facts.ledgers[0].own.has_value() ? "none" : "not known: the entries cannot be accounted for",
      facts.ledgers[0].own.has_value() ? kRecorded : kNotStated);
  const bool adaptive = AllAre(facts, v1::ADAPTIVE);
  builder.AddOrOpen("planned_rounds", "Rounds that were planned", Listed(facts, PlannedText),
                    kDeclared,
                    adaptive ? "there is no plan: parameters are adaptive"
                             : "not stated; the trainer could have declared them",
                    adaptive ? kNotApplicable : kNotStated);
}

// ---- 4. Sampling ----

bool HaveMechanisms(const Facts& facts) {
  return std::any_of(facts.ledgers.begin(), facts.ledgers.end(), [](const LedgerFacts& one) {
    return one.own.has_value() && !one.own->history.Mechanisms().empty();
  });
}

v1::Statement::Table ByLedger(const Facts& facts) {
  v1::Statement::Table table;
  std::vector<std::pair<const char*, TextOfLedger>> columns = {
      {"Rounds", RoundsText},
      {"Planned rounds", PlannedText},
      {"Sampling as the entries state it", SamplingText},
      {"Noise", NoiseText}};
  if (HaveMechanisms(facts)) columns.emplace_back("Other mechanisms", MechanismsText);
  table.add_columns("Ledger");
  table.add_columns("Entries");
  for (const auto& [name, text] : columns) table.add_columns(name);
  for (size_t i = 0; i < facts.ledgers.size(); ++i) {
    const LedgerFacts& one = facts.ledgers[i];
    v1::Statement::Table::Row& row = *table.add_rows();
    row.add_cells(one.ledger.name());
    row.add_cells(CountText(facts.checkpoints[i].size()));
    for (const auto& [name, text] : columns) {
      const std::string cell = text(one);
      row.add_cells(cell.empty() ? "–" : cell);
    }
  }
  return table;
}

void AddSampling(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("4. Sampling");
  builder.AddOrOpen("sampling_accounted", "Sampling as it was accounted",
                    absl::StrJoin(facts.answer.details().schemes(), ", "), kComputed,
                    facts.answer.has_epsilon() ? "no sampling was met"
                                               : "nothing was accounted: epsilon is refused",
                    kNotApplicable);
  const bool one = facts.ledgers.size() == 1;
  const std::string none = HaveMechanisms(facts)
                               ? "there are no rounds: the mechanisms state theirs, under 3"
                               : "there are no rounds";
  if (one) {
    builder.AddOrOpen("sampling_recorded", "Sampling as the entries state it",
                      Listed(facts, SamplingText), kRecorded, none,
                      facts.ledgers[0].own.has_value() ? kNotApplicable : kNotStated);
  }
  builder.Add("sampling_done", "Sampling as it was done",
              "not stated in the ledger: its entries are the trainer's word. The trainer's code, "
              "or an audit of it, could show it",
              kNotStated);
  if (one) {
    builder.AddOrOpen("noise", "Noise", Listed(facts, NoiseText), kRecorded, none,
                      facts.ledgers[0].own.has_value() ? kNotApplicable : kNotStated);
  } else {
    builder.AddTable(ByLedger(facts));
  }
}

// ---- 5. Accounting ----

std::string FilterText(const Facts& facts) {
  std::vector<std::string> lines;
  std::set<std::string> said;
  for (const v1::FilterSpending& one : facts.answer.details().filter_spending()) {
    said.insert(one.ledger());
    lines.push_back(absl::StrCat(
        one.ledger(), ": ", one.filter(), ", bound ", StatedText(one.bound()), "; spent ",
        UpperText(one.spent()),
        one.budget().empty()
            ? ""
            : absl::StrCat(" of ", UpperText(one.granted()), ", granted by ", one.budget()),
        ", which is no guarantee"));
  }
  // An odometer and a refusal know of no filter.
  for (const LedgerFacts& ledger : facts.ledgers) {
    const auto filter = questions::FilterFromProto(ledger.declaration().filter());
    if (!ledger.declaration().has_filter() || !filter.ok() || said.contains(ledger.ledger.name()))
      continue;
    lines.push_back(absl::StrCat(ledger.ledger.name(), ": ", accountant::filter::Name(*filter),
                                 ", bound ", StatedText(accountant::filter::BoundOf(*filter))));
  }
  return absl::StrJoin(lines, "\n");
}

void AddAccounting(const Facts& facts, SectionBuilder& builder) {
  const v1::AnswerDetails& details = facts.answer.details();
  const bool fixed = AllAre(facts, v1::FIXED);
  const bool odometer = IsOdometer(facts.answer);
  builder.Begin("5. Accounting");
  builder.AddOrOpen("method", "Method that answered", details.method(), kComputed,
                    "none: epsilon is refused", kNotApplicable);
  builder.AddOrOpen("regime", "What the number promises", details.guarantee(), kComputed,
                    "nothing: epsilon is refused", kNotApplicable);
  builder.AddOrOpen(
      "parameters", "How parameters were chosen",
      absl::StrCat(
          Grouped(facts,
                  [](const auto& one) { return ParametersWords(one.declaration().parameters()); }),
          fixed && odometer && facts.ledgers.size() > 1
              ? ". Whether one ledger's were decided after looking at another's outputs "
                "nobody has said: so there is an odometer, and no epsilon"
              : ""),
      kDeclared, "not stated");
  builder.AddOrOpen("filter", "Filter that adaptive ledgers are held to", FilterText(facts),
                    kDeclared,
                    odometer ? "none holds them: an odometer needs none"
                    : fixed  ? "none is needed: parameters are fixed"
                             : "none is declared",
                    fixed || odometer ? kNotApplicable : kNotStated);
  builder.AddOrOpen("assumptions", "What the number assumes", Lines(details.assumptions()),
                    kComputed, "nothing was accounted", kNotApplicable);
  if (details.warnings_size() > 0) {
    builder.Add("warnings", "What to know about the number", Lines(details.warnings()), kComputed);
  }
}

// ---- 6. The guarantee ----

std::string EpsilonText(const v1::Interval& epsilon, double delta) {
  if (!std::isfinite(epsilon.upper()))
    return absl::StrCat("none is finite at δ = ", StatedText(delta));
  return absl::StrCat("ε ≤ ", UpperText(epsilon.upper()), " at δ = ", StatedText(delta), " (",
                      IntervalWords(epsilon), ")");
}

std::string DeltaText(const Facts& facts) {
  std::string text = StatedText(facts.delta);
  const uint64_t population = PopulationOf(facts);
  if (population == 0) {
    return text +
           "; no entry states the number of records, with which a delta is compared: it "
           "should be well below one over that number";
  }
  const std::string warning = questions::DeltaWarning(facts.delta, population);
  absl::StrAppend(&text, "; the entries state up to ", CountText(population),
                  " records, one over which is ",
                  LowerText(accountant::DivDown(1, static_cast<double>(population))), ": ",
                  warning.empty() ? "a delta should be well below it" : warning);
  return text;
}

void AddGuarantee(const Facts& facts, const std::string& words, SectionBuilder& builder) {
  const v1::Statement::Answer& answer = facts.answer;
  builder.Begin("6. The guarantee");
  if (IsOdometer(answer)) {
    builder.Add("epsilon", "Epsilon (of an odometer)",
                absl::StrCat(OdometerText(answer), "; upper end only"), kComputed);
  } else if (answer.has_epsilon()) {
    builder.Add("epsilon", "Epsilon", EpsilonText(answer.epsilon(), answer.delta()), kComputed);
  } else {
    builder.Add("epsilon", "Epsilon",
                absl::StrCat("refused (", answer.refusal().reason(),
                             "): ", Shown(answer.refusal().message())),
                kComputed);
  }
  if (answer.has_planned_epsilon()) {
    builder.Add("planned_epsilon", "Epsilon of the whole plan",
                absl::StrCat(EpsilonText(answer.planned_epsilon(), answer.delta()),
                             "; it also covers a run that is stopped early for what it showed"),
                kComputed);
  }
  builder.Add("delta", "Delta", DeltaText(facts), kComputed);
  builder.Add("attack", "What an attacker can gain", words, kComputed);
  if (HasBound(facts) && !IsOdometer(answer)) {
    builder.Add("customary_tiers", "Footnote",
                "In machine learning it is customary to call ε ≤ 1 a strong and ε ≤ 10 a "
                "reasonable guarantee, and to draw no conclusion from a larger one (Ponomareva et "
                "al. 2023, \"How to DP-fy ML\"). This is a custom of the field and no verdict on "
                "these ledgers: the same ε can mean different things for different mechanisms.",
                kNote);
  }
}

// ---- 7. Tuning ----

void AddTuning(SectionBuilder& builder) {
  builder.Begin("7. Tuning");
  builder.Add("tuning", "Runs that chose parameters by this data",
              "not stated in the ledger. Runs that only chose parameters cost too, whether or not "
              "their models were released; the trainer could record them as ledgers over the same "
              "data set",
              kNotStated);
}

// ---- 8. The record ----

std::string CorrectionText(const LedgerFacts& ledger) {
  const v1::LedgerReference* reference = ReferenceOf(ledger);
  if (reference == nullptr) return "";
  std::vector<std::string> texts;
  for (const v1::CorrectionNote& correction : reference->corrections()) {
    if (texts.size() == 20) {
      texts.push_back(absl::StrCat("and ", reference->corrections_size() - 20, " more"));
      break;
    }
    texts.push_back(absl::StrCat("entry ", correction.sequence(), " of entry ",
                                 correction.corrected_sequence(), ": ", Shown(correction.text())));
  }
  return absl::StrJoin(texts, "; ");
}

std::string MissingText(const LedgerFacts& ledger) {
  const v1::LedgerReference* reference = ReferenceOf(ledger);
  if (reference == nullptr || reference->missing_count() == 0) return "";
  std::vector<std::string> texts;
  for (const v1::MissingReleases& missing : reference->missing()) {
    if (texts.size() == 10) break;
    texts.push_back(absl::StrCat("writer ", Shown(missing.writer()), ": ", missing.reason()));
  }
  if (reference->missing_count() > texts.size()) {
    texts.push_back(absl::StrCat("and ", reference->missing_count() - texts.size(), " more"));
  }
  return absl::StrJoin(texts, "; ");
}

std::string ConflictText(const LedgerFacts& ledger) {
  std::vector<std::string> writers;
  for (const v1::WriterStatus& writer : ledger.ledger.writers()) {
    for (const v1::MissingSpool& spool : writer.missing_spools()) {
      if (spool.refused()) writers.push_back(Shown(writer.writer()));
    }
  }
  if (writers.empty()) return "";
  return absl::StrCat("batches were refused whose releases are not in the record, of writer ",
                      Names(writers, 10));
}

std::string OriginText(const LedgerFacts& ledger) {
  if (ledger.ledger.has_fork()) {
    return absl::StrCat("fork of ", ledger.ledger.fork().parent(), " at ",
                        CountText(ledger.ledger.fork().parent_size()),
                        " entries, which are part of it");
  }
  if (ledger.ledger.has_import()) {
    return absl::StrCat("copy of ", Shown(ledger.ledger.import().origin()), " at ",
                        CountText(ledger.ledger.import().size()), " entries");
  }
  return "";
}

void AddRecord(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("8. The record");
  std::string others = "not stated: who asked for this statement may not know of all of them";
  if (facts.declaring.has_value()) {
    // The budgets that hold its runs are over the same data set, and are no uses of it.
    std::set<std::string> known, budgets;
    for (const LedgerFacts& ledger : facts.ledgers) known.insert(ledger.ledger.name());
    for (const LedgerFacts& ledger : facts.ledgers) {
      const std::string& budget = ledger.declaration().budget();
      if (!budget.empty() && known.insert(budget).second) budgets.insert(budget);
    }
    others = *facts.declaring <= known.size()
                 ? "none on this server"
                 : absl::StrCat(Counted(*facts.declaring - known.size(), "other ledger"),
                                " on this server over the same data set, not in this statement");
    if (!budgets.empty())
      absl::StrAppend(&others, "; beside the budget ", absl::StrJoin(budgets, ", "));
  }
  builder.Add("other_ledgers", "Other ledgers over the data set", others,
              facts.declaring.has_value() ? kComputed : kNotStated);
  builder.Add("other_uses", "Uses of the data set that no ledger of this server records",
              "not stated: nothing here can show them. Whoever keeps the data could", kNotStated);
  builder.AddOrOpen("corrections", "Corrections (they change no number)",
                    Listed(facts, CorrectionText), kRecorded, "none", kRecorded);
  builder.AddOrOpen("missing", "Releases that may be missing", Listed(facts, MissingText),
                    kRecorded, "none are known", kRecorded);
  builder.AddOrOpen("conflicts", "Writers that were refused", Listed(facts, ConflictText),
                    kRecorded, "none are open", kRecorded);
  const std::string unreadable =
      Listed(facts, [](const LedgerFacts& one) { return Shown(one.unreadable); });
  if (!unreadable.empty()) {
    builder.Add("unreadable", "Entries that cannot be accounted for", unreadable, kComputed);
  }
  const std::string origins = Listed(facts, OriginText);
  if (!origins.empty()) builder.Add("origins", "Forks and copies", origins, kRecorded);
  builder.Add("state", "State",
              Grouped(facts,
                      [](const LedgerFacts& one) -> std::string {
                        const v1::LedgerReference* reference = ReferenceOf(one);
                        const v1::LedgerState state =
                            reference == nullptr ? one.ledger.state() : reference->state();
                        return state == v1::SEALED
                                   ? "sealed: only late entries can follow"
                                   : "open: more can follow, and this statement does not cover it";
                      }),
              kRecorded);
  builder.Add(
      "covers", "What this statement covers",
      absl::StrCat(CountedEntries(facts), " of ", Counted(facts.checkpoints.size(), "ledger"),
                   ", by the checkpoints at the end"),
      kRecorded);
  builder.Add("version", "Software that computed it", absl::StrCat("dpledger ", facts.version),
              kComputed);
  builder.Add("code", "Code and library of the training",
              "not stated in the ledger; the trainer could publish them", kNotStated);
}

// ---- 9. Who states it ----

void AddIssuer(const Facts& facts, SectionBuilder& builder) {
  builder.Begin("9. Who states it");
  if (!facts.issued.has_value()) {
    builder.Add("issuer", "Who states it",
                "nobody: the server wrote it for whoever asked, and nobody answers for it. "
                "Somebody does for a statement that is issued",
                kNotStated);
    return;
  }
  const v1::Issuer& issuer = facts.issued->issuer();
  builder.Add("organization", "Organization", issuer.organization(), kStated);
  builder.Add("issuer_name", "Name", issuer.name(), kStated);
  builder.Add("role", "Role", issuer.role(), kStated);
  builder.Add("valid_until", "Valid until",
              issuer.has_valid_until() ? DayText(issuer.valid_until()) : "no end is stated",
              kStated);
  builder.AddOrOpen("caller", "Who issued it, by the credentials that the server checked",
                    facts.issued->caller(), kRecorded, "the server does not ask who calls",
                    kNotApplicable);
  builder.Add("number", "Number in the server's register of statements",
              absl::StrCat(facts.issued->number()), kRecorded);
  builder.Add(
      "how_to_check", "How to check this document",
      "\"dpledger statements check FILE --server ADDRESS --key KEY\" looks for the SHA-256 of "
      "the file in the register, verifies by the server's public key that the register was "
      "signed, and says what the server knows of a withdrawal. In the register's bundle the "
      "entry of this number holds the SHA-256: with that no server is needed",
      kNote);
}

}  // namespace

std::string TitleOf(const Facts& facts) {
  const std::string counted = CountedEntries(facts);
  if (!facts.of_dataset) return absl::StrCat(facts.name, ": ", counted);
  return absl::StrCat("data set \"", Shown(facts.name),
                      "\": ", Counted(facts.ledgers.size(), "ledger"), ", ", counted);
}

std::vector<v1::Statement::Section> SectionsOf(const Facts& facts) {
  SectionBuilder builder;
  AddSetting(facts, builder);
  AddUnit(facts, builder);
  AddReleased(facts, builder);
  AddSampling(facts, builder);
  AddAccounting(facts, builder);
  AddGuarantee(facts, facts.answer.in_words(), builder);
  AddTuning(builder);
  AddRecord(facts, builder);
  AddIssuer(facts, builder);
  return builder.Take();
}

}  // namespace dpledger::server::statement
