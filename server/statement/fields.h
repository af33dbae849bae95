// Parts of a statement's fields that speak of several ledgers at once. Functions; thread safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/statement/facts.h"

namespace dpledger::server::statement {

class SectionBuilder {
 public:
  void Begin(const std::string& heading);
  void Add(const std::string& name, const std::string& label, const std::string& value,
           v1::Statement::Source source);
  // NOT_STATED with `open` if `value` is empty; or NOT_APPLICABLE.
  void AddOrOpen(const std::string& name, const std::string& label, const std::string& value,
                 v1::Statement::Source source, const std::string& open,
                 v1::Statement::Source open_source = v1::Statement::NOT_STATED);
  // In place of fields of which each ledger says something else.
  void AddTable(v1::Statement::Table table);
  std::vector<v1::Statement::Section> Take() { return std::move(sections_); }

 private:
  std::vector<v1::Statement::Section> sections_;
};

using TextOfLedger = std::function<std::string(const LedgerFacts&)>;

// What each ledger says: the text alone if all say the same, else a line for each different text
// with the ledgers that say it; "not stated" for those that say nothing. Empty if none says
// anything. At most 20 lines, and 5 names in each.
std::string Grouped(const Facts& facts, const TextOfLedger& text);
// "a, b and 3 more".
std::string Names(const std::vector<std::string>& names, size_t most);
// A line for each ledger that has something to say, with its name before it if there are several.
// At most 50 lines.
std::string Listed(const Facts& facts, const TextOfLedger& text);

// What stands before plans: a budget's rounds are those of the runs that it has granted something.
std::string SetAside(const LedgerFacts& ledger);
// The mechanisms that are no rounds, with all that they state, equal ones together.
std::string MechanismsText(const LedgerFacts& ledger);
// How the entries say that records were sampled in rounds, and how much noise there was.
std::string SamplingText(const LedgerFacts& ledger);
std::string NoiseText(const LedgerFacts& ledger);
// The largest number of records that an entry states; 0: none does.
uint64_t PopulationOf(const LedgerFacts& ledger);
// The greatest of its ledgers.
uint64_t PopulationOf(const Facts& facts);

}  // namespace dpledger::server::statement
