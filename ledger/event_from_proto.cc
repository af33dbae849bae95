#include "ledger/event_from_proto.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/event_rules.h"
#include "ledger/mechanism_from_proto.h"

namespace dpledger::accountant {
namespace {

// The events have been checked: cases that are not set do not come here.
SamplingScheme ValueOf(const v1::SamplingScheme& m) {
  SamplingScheme scheme{m.population_size(), FullBatch{}};
  switch (m.kind_case()) {
    case v1::SamplingScheme::kPoisson:
      scheme.kind = PoissonSampling{m.poisson().probability()};
      break;
    case v1::SamplingScheme::kWithoutReplacement:
      scheme.kind = FixedSizeSampling{m.without_replacement().sample_size(), false};
      break;
    case v1::SamplingScheme::kWithReplacement:
      scheme.kind = FixedSizeSampling{m.with_replacement().sample_size(), true};
      break;
    case v1::SamplingScheme::kDisjointBatches:
      scheme.kind =
          DisjointBatches{m.disjoint_batches().batches_per_epoch(), m.disjoint_batches().epoch()};
      break;
    case v1::SamplingScheme::kRandomAllocation:
      scheme.kind =
          RandomAllocation{m.random_allocation().rounds_per_epoch(), m.random_allocation().epoch(),
                           std::max(uint64_t{1}, m.random_allocation().contributions()),
                           m.random_allocation().fixed_bins()};
      break;
    case v1::SamplingScheme::kTruncatedPoisson:
      scheme.kind = TruncatedPoisson{m.truncated_poisson().probability(),
                                     m.truncated_poisson().max_sample_size()};
      break;
    case v1::SamplingScheme::kFullBatch:
    case v1::SamplingScheme::KIND_NOT_SET:
      break;
  }
  return scheme;
}

SumQuery ValueOf(const v1::SumQuery& m) {
  const NoiseKind noise = m.noise() == v1::ROUNDED_GAUSSIAN    ? NoiseKind::kRoundedGaussian
                          : m.noise() == v1::DISCRETE_GAUSSIAN ? NoiseKind::kDiscreteGaussian
                                                               : NoiseKind::kGaussian;
  return {m.group(), m.l2_norm_bound(), m.noise_stddev(), noise, m.grid()};
}

RoundsEvent ValueOf(const v1::RoundsEvent& m) {
  Round round{ValueOf(m.scheme()), {}};
  for (const v1::SumQuery& query : m.queries()) round.queries.push_back(ValueOf(query));
  return {std::move(round), m.count()};
}

}  // namespace

absl::StatusOr<Event> EventFromProto(const v1::Event& event) {
  RETURN_IF_ERROR(events::CheckEvent(event));
  switch (event.kind_case()) {
    case v1::Event::kSampling:
      return SamplingEvent{event.sampling().round(), ValueOf(event.sampling().scheme())};
    case v1::Event::kSumQuery:
      return SumQueryEvent{event.sum_query().round(), ValueOf(event.sum_query().query())};
    case v1::Event::kRounds:
      return ValueOf(event.rounds());
    case v1::Event::kMechanism:
      return MechanismFromProto(event.mechanism());
    case v1::Event::KIND_NOT_SET:
      break;
  }
  return absl::InternalError("an event of no kind passed its check");
}

absl::StatusOr<filter::Filter> FilterFromProto(const v1::Filter& filter) {
  switch (filter.kind_case()) {
    case v1::Filter::kRdp:
      return filter::RdpFilter{filter.rdp().order(), filter.rdp().epsilon()};
    case v1::Filter::kZcdp:
      return filter::ZcdpFilter{filter.zcdp().rho()};
    case v1::Filter::kGdp:
      return filter::GdpFilter{filter.gdp().mu()};
    case v1::Filter::kMixture:
      return filter::MixtureFilter{
          filter.mixture().epsilon(),
          filter.mixture().delta(),
          {filter.mixture().orders().begin(), filter.mixture().orders().end()}};
    case v1::Filter::KIND_NOT_SET:
      break;
  }
  return FieldError("declaration.filter", "one of rdp, zcdp, gdp, mixture must be set");
}

absl::StatusOr<Adjacency> AdjacencyFromProto(v1::Adjacency adjacency) {
  RETURN_IF_ERROR(events::CheckAdjacency(adjacency));
  return adjacency == v1::REPLACE_ONE ? Adjacency::kReplaceOne
         : adjacency == v1::ZERO_OUT  ? Adjacency::kZeroOut
                                      : Adjacency::kAddOrRemoveOne;
}

}  // namespace dpledger::accountant
