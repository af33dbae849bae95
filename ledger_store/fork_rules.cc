#include "ledger_store/fork_rules.h"

namespace dpledger {

const char* NotInherited(const v1::Declaration& parent, const v1::Declaration& child) {
  if (child.dataset() != parent.dataset()) return "dataset";
  if (child.unit_of_privacy() != parent.unit_of_privacy()) return "unit_of_privacy";
  if (child.adjacency() != parent.adjacency()) return "adjacency";
  if (child.parameters() != parent.parameters()) return "parameters";
  // A filter is numbers: without maps, one message has one spelling in one program.
  if (child.filter().SerializeAsString() != parent.filter().SerializeAsString()) return "filter";
  if (child.plan_independent() != parent.plan_independent()) return "plan_independent";
  return nullptr;
}

}  // namespace dpledger
