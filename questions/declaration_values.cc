#include "questions/declaration_values.h"

#include "base/status.h"
#include "events/declaration_rules.h"

namespace dpledger::questions {

absl::StatusOr<accountant::filter::Filter> FilterFromProto(const v1::Filter& filter) {
  switch (filter.kind_case()) {
    case v1::Filter::kRdp:
      return accountant::filter::RdpFilter{filter.rdp().order(), filter.rdp().epsilon()};
    case v1::Filter::kZcdp:
      return accountant::filter::ZcdpFilter{filter.zcdp().rho()};
    case v1::Filter::kGdp:
      return accountant::filter::GdpFilter{filter.gdp().mu()};
    case v1::Filter::kMixture:
      return accountant::filter::MixtureFilter{
          filter.mixture().epsilon(),
          filter.mixture().delta(),
          {filter.mixture().orders().begin(), filter.mixture().orders().end()}};
    case v1::Filter::KIND_NOT_SET:
      break;
  }
  return FieldError("declaration.filter", "one of rdp, zcdp, gdp, mixture must be set");
}

absl::StatusOr<accountant::Adjacency> AdjacencyFromProto(v1::Adjacency adjacency) {
  RETURN_IF_ERROR(events::CheckAdjacency(adjacency));
  return adjacency == v1::REPLACE_ONE ? accountant::Adjacency::kReplaceOne
         : adjacency == v1::ZERO_OUT  ? accountant::Adjacency::kZeroOut
                                      : accountant::Adjacency::kAddOrRemoveOne;
}

}  // namespace dpledger::questions
