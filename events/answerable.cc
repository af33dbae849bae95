#include "events/answerable.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::events {
namespace {

using Adjacencies = std::set<v1::Adjacency>;

const Adjacencies& All() {
  static const auto& all = *new Adjacencies{v1::ADD_OR_REMOVE_ONE, v1::REPLACE_ONE, v1::ZERO_OUT};
  return all;
}

absl::Status CheckAmong(const Adjacencies& answered, std::string_view what,
                        v1::Adjacency adjacency) {
  if (answered.contains(adjacency)) return absl::OkStatus();
  std::vector<std::string> names;
  for (const v1::Adjacency one : answered) names.push_back(v1::Adjacency_Name(one));
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          ToAbsl(what), ": no epsilon can ever be answered for it under the declared adjacency ",
          v1::Adjacency_Name(adjacency), "; ",
          names.empty() ? "nor under another one"
                        : absl::StrCat("declare ", absl::StrJoin(names, " or ")))),
      {"NEVER_ANSWERED", {{"adjacency", v1::Adjacency_Name(adjacency)}}});
}

absl::Status CheckScheme(v1::Adjacency adjacency, const v1::SamplingScheme& scheme) {
  if (!scheme.has_disjoint_batches()) return absl::OkStatus();
  // Removing a record shifts the other batches.
  return CheckAmong({v1::REPLACE_ONE, v1::ZERO_OUT}, "sampling scheme disjoint_batches", adjacency);
}

// Trees of mechanisms may be answered or not for many reasons; told here is what a trainer's own
// strategies record.
absl::Status CheckMechanism(v1::Adjacency adjacency, const v1::MechanismEvent& mechanism) {
  if (mechanism.has_unsupported()) {
    return CheckAmong({}, "mechanism unsupported", adjacency);
  }
  const v1::ToeplitzEncoder& toeplitz = mechanism.matrix_mechanism().toeplitz();
  const v1::TreeEncoder& tree = mechanism.matrix_mechanism().tree();
  if (toeplitz.has_min_separation_sampling()) {
    return CheckAmong({}, "mechanism matrix_mechanism with min_separation_sampling", adjacency);
  }
  if (toeplitz.has_balls_in_bins() || tree.has_balls_in_bins()) {
    return CheckAmong({v1::ADD_OR_REMOVE_ONE, v1::ZERO_OUT},
                      "mechanism matrix_mechanism with balls_in_bins", adjacency);
  }
  if (toeplitz.has_cyclic_poisson() &&
      toeplitz.cyclic_poisson().groups() != v1::GROUPS_DRAWN_ONE_BY_ONE) {
    return CheckAmong({v1::REPLACE_ONE, v1::ZERO_OUT},
                      "mechanism matrix_mechanism with cyclic_poisson in groups of equal size",
                      adjacency);
  }
  const bool counts_steps = tree.has_participation() || toeplitz.has_participation();
  return CheckAmong(counts_steps ? Adjacencies{v1::REPLACE_ONE, v1::ZERO_OUT} : All(),
                    "mechanism matrix_mechanism with tree or toeplitz encoder", adjacency);
}

}  // namespace

absl::Status CheckAnswerable(v1::Adjacency adjacency, const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kSampling:
      return CheckScheme(adjacency, event.sampling().scheme());
    case v1::Event::kRounds:
      return CheckScheme(adjacency, event.rounds().scheme());
    case v1::Event::kMechanism:
      return CheckMechanism(adjacency, event.mechanism());
    case v1::Event::kSumQuery:
    case v1::Event::KIND_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace dpledger::events
