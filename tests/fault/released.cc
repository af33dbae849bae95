#include "tests/fault/released.h"

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace dpledger::testing {

// Three kinds of rounds, so that one cannot be taken for another.
double NoiseOfStep(uint64_t step) { return 1.0 + 0.5 * static_cast<double>(step % 3); }

v1::Declaration FaultDeclaration() {
  v1::Declaration declaration;
  declaration.set_dataset("none");
  declaration.set_unit_of_privacy("example");
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
  return declaration;
}

Rounds ReleasedRounds(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  const std::string text = content.str();
  std::istringstream whole_lines(text.substr(0, text.rfind('\n') + 1));
  Rounds rounds;
  uint64_t round = 0;
  double noise = 0;
  while (whole_lines >> round >> noise) rounds[round] = noise;
  return rounds;
}

Rounds LedgerRounds(const std::vector<v1::LedgerEntry>& entries, const std::string& writer,
                    std::vector<std::string>& complaints) {
  Rounds rounds;
  std::set<std::string> request_ids;
  const v1::LedgerEntry* before = nullptr;
  for (const v1::LedgerEntry& entry : entries) {
    const bool continues = before != nullptr && before->request_id() == entry.request_id();
    const auto complain = [&](const std::string& what) {
      complaints.push_back(absl::StrCat("entry ", entry.sequence(), ": ", what));
    };
    if (!continues && !request_ids.insert(entry.request_id()).second) {
      complain("its request was stored twice, or in pieces");
    }
    if (entry.writer() == writer && entry.event().has_sampling()) {
      const uint64_t round = entry.event().sampling().round();
      if (!rounds.empty() && round <= rounds.rbegin()->first) complain("its round goes back");
    }
    if (entry.writer() == writer && entry.event().has_sum_query()) {
      const v1::SumQueryEvent& query = entry.event().sum_query();
      if (!continues || !before->event().has_sampling() ||
          before->event().sampling().round() != query.round()) {
        complain("a query without its sampling event");
      }
      rounds[query.round()] = query.query().noise_stddev();
    }
    before = &entry;
  }
  return rounds;
}

Rounds BatchRounds(const std::vector<v1::AppendBatchRequest>& batches) {
  Rounds rounds;
  for (const v1::AppendBatchRequest& batch : batches) {
    for (const v1::NewEntry& entry : batch.entries()) {
      if (!entry.event().has_sum_query()) continue;
      const v1::SumQueryEvent& query = entry.event().sum_query();
      rounds[query.round()] = query.query().noise_stddev();
    }
  }
  return rounds;
}

std::vector<std::string> Unrecorded(const Rounds& released, const Rounds& recorded) {
  std::vector<std::string> complaints;
  for (const auto& [round, noise] : released) {
    const auto found = recorded.find(round);
    if (found == recorded.end()) {
      complaints.push_back(absl::StrCat("round ", round, " was released and is not recorded"));
    } else if (found->second != noise) {
      complaints.push_back(absl::StrCat("round ", round, " was released with noise ", noise,
                                        " and recorded with ", found->second));
    }
  }
  return complaints;
}

}  // namespace dpledger::testing
