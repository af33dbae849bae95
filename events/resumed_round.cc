#include "events/resumed_round.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "google/protobuf/util/message_differencer.h"

namespace dpledger::events {
namespace {

// Everything that is compared.
v1::RoundsEvent Configuration(const v1::SamplingScheme& scheme,
                              const std::vector<v1::SumQuery>& queries) {
  v1::RoundsEvent round;
  *round.mutable_scheme() = scheme;
  if (scheme.has_disjoint_batches()) {
    round.mutable_scheme()->mutable_disjoint_batches()->clear_epoch();
  }
  if (scheme.has_random_allocation()) {
    round.mutable_scheme()->mutable_random_allocation()->clear_epoch();
  }
  for (const v1::SumQuery& query : queries) {
    *round.add_queries() = query;
    round.mutable_queries()->rbegin()->clear_grid();
  }
  return round;
}

}  // namespace

absl::Status CheckResumedRound(const v1::AppendBatchRequest& before,
                               const v1::SamplingScheme& scheme,
                               const std::vector<v1::SumQuery>& queries) {
  v1::SamplingScheme last_scheme;
  std::vector<v1::SumQuery> last_queries;
  for (const v1::NewEntry& entry : before.entries()) {
    if (entry.event().has_sampling()) last_scheme = entry.event().sampling().scheme();
    if (entry.event().has_sum_query()) last_queries.push_back(entry.event().sum_query().query());
  }
  if (last_queries.empty()) return absl::OkStatus();
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Configuration(last_scheme, last_queries), Configuration(scheme, queries)))
    return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "round: the run was started again with another configuration than its last round had "
          "(its value -> yours): ",
          absl::StrReplaceAll(absl::StripSuffix(differences, "\n"), {{"\n", "; "}}),
          "; a run that is declared FIXED goes on as it was, unless the option plan_varies says "
          "that its plan has rounds of more than one configuration")),
      {"OTHER_CONFIGURATION", {}});
}

}  // namespace dpledger::events
