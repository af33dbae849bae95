#include "client/internal/declaration_message.h"

#include "events/declaration_rules.h"
#include "events/grant_rules.h"
#include "events/names.h"

namespace dpledger::client::internal {
namespace {

// Messages number what values count from 0 on, behind UNSPECIFIED.
static_assert(static_cast<int>(accountant::Adjacency::kZeroOut) + 1 == v1::ZERO_OUT);
static_assert(static_cast<int>(Parameters::kAdaptive) + 1 == v1::ADAPTIVE);

struct FilterMessage {
  v1::Filter& message;
  void operator()(const RdpFilter& rdp) const {
    message.mutable_rdp()->set_order(rdp.order);
    message.mutable_rdp()->set_epsilon(rdp.epsilon);
  }
  void operator()(const ZcdpFilter& zcdp) const { message.mutable_zcdp()->set_rho(zcdp.rho); }
  void operator()(const GdpFilter& gdp) const { message.mutable_gdp()->set_mu(gdp.mu); }
  void operator()(const MixtureFilter& mixture) const {
    message = events::MixtureFilter(mixture.epsilon, mixture.delta);
  }
  void operator()(std::monostate) const {}
};

}  // namespace

v1::Adjacency ToMessage(accountant::Adjacency adjacency) {
  return static_cast<v1::Adjacency>(static_cast<int>(adjacency) + 1);
}

v1::Declaration ToMessage(const Declaration& declaration) {
  v1::Declaration message;
  message.set_dataset(declaration.dataset);
  message.set_unit_of_privacy(declaration.unit_of_privacy);
  if (declaration.adjacency) message.set_adjacency(ToMessage(*declaration.adjacency));
  if (declaration.parameters) {
    message.set_parameters(
        static_cast<v1::Parameters>(static_cast<int>(*declaration.parameters) + 1));
  }
  message.set_planned_rounds(declaration.planned_rounds);
  message.set_plan_independent(declaration.plan_independent);
  if (declaration.filter.index() != 0)
    std::visit(FilterMessage{*message.mutable_filter()}, declaration.filter);
  // A name that is none is the server's to refuse.
  const absl::StatusOr<std::string> budget = events::FullLedgerName(declaration.budget);
  message.set_budget(budget.ok() && !declaration.budget.empty() ? *budget : declaration.budget);
  const auto blocks = events::BlocksFromText(declaration.blocks);
  if (blocks.ok()) {
    *message.mutable_blocks() = *blocks;
  } else {
    message.add_blocks();  // likewise
  }
  message.set_released(declaration.released);
  message.set_description(declaration.description);
  return message;
}

}  // namespace dpledger::client::internal
