#include "server/recompute/said_answers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dpledger::server {

bool OfOneRecord(v1::Adjacency adjacency, uint64_t group_size, const v1::Ledger& ledger) {
  const bool own =
      adjacency == v1::ADJACENCY_UNSPECIFIED || adjacency == ledger.declaration().adjacency();
  return own && group_size <= 1;
}

v1::LedgerSummary SaidBy(const v1::IssuedStatement& statement) {
  v1::LedgerSummary said;
  said.set_ledger(statement.ledger());
  said.set_size(statement.size());
  said.set_delta(statement.delta());
  if (statement.has_epsilon()) *said.mutable_epsilon() = statement.epsilon();
  said.set_method(statement.method());
  said.set_version(statement.version());
  *said.mutable_compute_time() = statement.issue_time();
  return said;
}

std::vector<v1::SaidAnswer> InOrder(std::vector<v1::SaidAnswer> answers) {
  // A statement is stated in whole seconds, and stands behind what was computed in its second.
  const auto place = [](const v1::SaidAnswer& said) {
    const google::protobuf::Timestamp& time = said.answer().compute_time();
    return std::tuple(time.seconds(), said.has_statement(), time.nanos(),
                      said.said_by_case() == v1::SaidAnswer::SAID_BY_NOT_SET);
  };
  std::stable_sort(answers.begin(), answers.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  std::vector<v1::SaidAnswer> order;
  std::set<std::tuple<int64_t, int32_t, uint64_t, double, double, double>> told;
  std::map<std::pair<uint64_t, double>, double> last;  // by size and δ: the upper end
  for (v1::SaidAnswer& said : answers) {
    const v1::LedgerSummary& answer = said.answer();
    const double lower = answer.has_epsilon() ? answer.epsilon().lower() : -1;
    const double upper = answer.has_epsilon() ? answer.epsilon().upper() : -1;
    const bool again = !told.emplace(answer.compute_time().seconds(), answer.compute_time().nanos(),
                                     answer.size(), answer.delta(), lower, upper)
                            .second;
    if (again && !said.has_statement()) continue;
    if (answer.has_epsilon()) {
      const auto [known, first] = last.try_emplace({answer.size(), answer.delta()}, upper);
      // Of no bound before and none now, as nothing.
      if (!first) said.set_given_back(known->second == upper ? 0 : known->second - upper);
      known->second = upper;
    }
    order.push_back(std::move(said));
  }
  return order;
}

}  // namespace dpledger::server
