#include "events/declaration_rules.h"

#include "absl/strings/str_cat.h"
#include "events/field_checks.h"
#include "events/grant_rules.h"
#include "events/names.h"
#include "events/unknown_fields.h"

namespace dpledger::events {
namespace {

constexpr size_t kMaxName = 256;
constexpr size_t kMaxReleased = 1024;
constexpr size_t kMaxAssignment = 1024;
constexpr size_t kMaxDescription = 4096;

constexpr double kMixtureOrders[] = {2, 3, 4, 5, 6, 8, 12, 24};
constexpr int kMaxMixtureOrders = 64;

absl::Status CheckMixture(const v1::MixtureFilter& mixture) {
  RETURN_IF_ERROR(Positive("epsilon", mixture.epsilon()));
  RETURN_IF_ERROR(
      Must(mixture.delta() > 0 && mixture.delta() < 1, "be in (0, 1)", "delta", mixture.delta()));
  RETURN_IF_ERROR(Must(mixture.orders_size() >= 1 && mixture.orders_size() <= kMaxMixtureOrders,
                       "have 1 to 64 elements", "orders", mixture.orders_size()));
  for (int i = 0; i < mixture.orders_size(); ++i) {
    const std::string field = absl::StrCat("orders[", i, "]");
    RETURN_IF_ERROR(GreaterThan(1, field, mixture.orders(i)));
    if (i > 0 && !(mixture.orders(i) > mixture.orders(i - 1)))
      return Must(false, "be greater than the one before it", field, mixture.orders(i));
  }
  return absl::OkStatus();
}

absl::Status CheckFilter(const v1::Filter& filter) {
  RETURN_IF_ERROR(KindOf(filter).status());
  switch (filter.kind_case()) {
    case v1::Filter::kRdp:
      RETURN_IF_ERROR(GreaterThan(1, "rdp.order", filter.rdp().order()));
      return Positive("rdp.epsilon", filter.rdp().epsilon());
    case v1::Filter::kZcdp:
      return Positive("zcdp.rho", filter.zcdp().rho());
    case v1::Filter::kGdp:
      return Positive("gdp.mu", filter.gdp().mu());
    case v1::Filter::kMixture:
      return Within("mixture", CheckMixture(filter.mixture()));
    case v1::Filter::KIND_NOT_SET:
      break;
  }
  return absl::InternalError("a filter's kind was read before it was checked");
}

absl::Status CheckFilterOf(const v1::Declaration& declaration) {
  if (!declaration.has_filter()) return absl::OkStatus();
  if (declaration.parameters() != v1::ADAPTIVE && declaration.budget().empty()) {
    return FieldError("filter",
                      "must be unset unless parameters is ADAPTIVE, or a budget is named");
  }
  return Within("filter", CheckFilter(declaration.filter()));
}

absl::Status CheckBudgetOf(const v1::Declaration& declaration) {
  const bool is_budget = declaration.kind() == v1::BUDGET;
  if (!is_budget && !declaration.block_assignment().empty()) {
    return FieldError("block_assignment", "must be empty unless kind is BUDGET");
  }
  if (declaration.blocks_size() > 0 && (is_budget || declaration.budget().empty())) {
    return FieldError("blocks", "must be empty unless a budget is named");
  }
  if (!is_budget && declaration.budget().empty()) return absl::OkStatus();
  if (!declaration.budget().empty()) {
    RETURN_IF_ERROR(CheckLedgerName("budget", declaration.budget()));
  }
  RETURN_IF_ERROR(CheckBlocks(declaration.blocks()));
  if (declaration.spool_policy() == v1::SPOOL) {
    return FieldError("spool_policy",
                      "must not be SPOOL where there is a budget: what was released from a spool "
                      "can be refused no more");
  }
  if (!is_budget) return absl::OkStatus();
  if (!declaration.has_filter())
    return FieldError("filter", "must be set: it is the budget's bound");
  if (!declaration.budget().empty()) {
    return FieldError("budget", "must be empty: the ledger is a budget itself");
  }
  RETURN_IF_ERROR(Text(0, kMaxAssignment, "block_assignment", declaration.block_assignment()));
  if (!declaration.block_assignment().empty() && declaration.adjacency() == v1::REPLACE_ONE) {
    return FieldError("block_assignment",
                      "must be empty under REPLACE_ONE: a record that is replaced can move to "
                      "another block");
  }
  return WholeIn(0, 0, "planned_rounds", declaration.planned_rounds());
}

}  // namespace

absl::Status CheckDeclaration(const v1::Declaration& declaration) {
  RETURN_IF_ERROR(CheckNoUnknownFields(declaration));
  RETURN_IF_ERROR(Text(1, kMaxName, "dataset", declaration.dataset()));
  RETURN_IF_ERROR(Text(1, kMaxName, "unit_of_privacy", declaration.unit_of_privacy()));
  RETURN_IF_ERROR(CheckAdjacency(declaration.adjacency()));
  if (declaration.parameters() == v1::PARAMETERS_UNSPECIFIED) {
    return FieldError("parameters", "must be FIXED or ADAPTIVE, got PARAMETERS_UNSPECIFIED");
  }
  RETURN_IF_ERROR(WholeIn(0, kMaxWhole, "planned_rounds", declaration.planned_rounds()));
  RETURN_IF_ERROR(CheckFilterOf(declaration));
  RETURN_IF_ERROR(CheckBudgetOf(declaration));
  RETURN_IF_ERROR(Text(0, kMaxReleased, "released", declaration.released()));
  return Text(0, kMaxDescription, "description", declaration.description());
}

absl::Status CheckAdjacency(v1::Adjacency adjacency) {
  switch (adjacency) {
    case v1::ADD_OR_REMOVE_ONE:
    case v1::REPLACE_ONE:
    case v1::ZERO_OUT:
      return absl::OkStatus();
    default:
      return FieldError(
          "adjacency", absl::StrCat("must be ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT, got ",
                                    v1::Adjacency_IsValid(adjacency) ? v1::Adjacency_Name(adjacency)
                                                                     : absl::StrCat(adjacency)));
  }
}

v1::Filter MixtureFilter(double epsilon, double delta) {
  v1::Filter filter;
  filter.mutable_mixture()->set_epsilon(epsilon);
  filter.mutable_mixture()->set_delta(delta);
  for (const double order : kMixtureOrders) filter.mutable_mixture()->add_orders(order);
  return filter;
}

const v1::Declaration& DeclarationOf(const v1::LedgerEntry& first_entry) {
  if (first_entry.has_fork()) return first_entry.fork().declaration();
  if (first_entry.has_import()) return first_entry.import().declaration();
  return first_entry.declaration();
}

const char* NotInherited(const v1::Declaration& parent, const v1::Declaration& child) {
  if (child.dataset() != parent.dataset()) return "dataset";
  if (child.unit_of_privacy() != parent.unit_of_privacy()) return "unit_of_privacy";
  if (child.adjacency() != parent.adjacency()) return "adjacency";
  if (child.parameters() != parent.parameters()) return "parameters";
  // A filter is numbers: without maps, one message has one spelling in one program.
  if (child.filter().SerializeAsString() != parent.filter().SerializeAsString()) return "filter";
  if (child.plan_independent() != parent.plan_independent()) return "plan_independent";
  if (child.budget() != parent.budget()) return "budget";
  if (child.kind() != parent.kind()) return "kind";
  if (!SameBlocks(child, parent)) return "blocks";
  return nullptr;
}

}  // namespace dpledger::events
