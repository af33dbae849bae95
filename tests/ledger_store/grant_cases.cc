#include "tests/ledger_store/grant_cases.h"

#include <string>

namespace dpledger::bundle {
namespace {

using Entry = v1::LedgerEntry;

constexpr char kBudget[] = "projects/default/ledgers/budget";

// Of a budget, or of a run under it: a grant of two events, made twice.
void SetGrant(v1::BudgetGrant& grant) {
  grant.set_budget(kBudget);
  grant.set_ledger("projects/default/ledgers/run");
  grant.add_plan()->mutable_rounds()->set_count(100);
  grant.add_plan()->mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(2);
  grant.set_reason("\u03b5 is left");
}
void SetRetired(v1::LedgerEntry& e) {
  v1::BlockRange& range = *e.mutable_retired_blocks()->add_blocks();
  range.set_first(2);
  range.set_last(5);
  e.mutable_retired_blocks()->set_reason("too old");
}
SampleLedger EmptyBudget() {
  return SampleLedger([](v1::LedgerEntry& e) {
    e.mutable_declaration()->set_dataset("mnist");
    e.mutable_declaration()->set_kind(v1::BUDGET);
  });
}

RuleCase Bad(const std::string& name, SampleLedger ledger, const SampleLedger::Edit& edit,
             const std::string& message, const std::string& writer = "") {
  ledger.Add(writer, edit);
  return {name, ledger, message};
}

}  // namespace

SampleLedger BudgetLedger() {
  SampleLedger ledger = EmptyBudget();
  ledger.Add("", [](v1::LedgerEntry& e) { SetGrant(*e.mutable_grant()); });
  ledger.Add("", [](v1::LedgerEntry& e) {
    SetGrant(*e.mutable_grant());
    e.mutable_grant()->clear_plan();
    e.mutable_grant()->clear_reason();
  });
  return ledger;
}
SampleLedger BudgetWithBlocks() {
  SampleLedger ledger([](v1::LedgerEntry& e) {
    e.mutable_declaration()->set_dataset("mnist");
    e.mutable_declaration()->set_kind(v1::BUDGET);
    e.mutable_declaration()->set_block_assignment("by year");
  });
  ledger.Add("admin", SetRetired);
  ledger.Add("", [](v1::LedgerEntry& e) { SetGrant(*e.mutable_grant()); });
  return ledger;
}
SampleLedger BudgetedRun() {
  SampleLedger ledger([](v1::LedgerEntry& e) {
    e.mutable_declaration()->set_dataset("mnist");
    e.mutable_declaration()->set_budget(kBudget);
  });
  ledger.Add("", [](v1::LedgerEntry& e) { SetGrant(*e.mutable_granted()); });
  ledger.AddRound("trainer", 1);
  return ledger;
}

std::vector<RuleCase> BadGrants() {
  const auto grant = [](Entry& e) { SetGrant(*e.mutable_grant()); };
  const auto granted = [](Entry& e) { SetGrant(*e.mutable_granted()); };
  const SampleLedger no_budget([](Entry& e) { e.mutable_declaration()->set_dataset("mnist"); });
  return {
      Bad("grant in no budget", no_budget, grant, "a grant stands in a budget"),
      Bad("granted in a budget", EmptyBudget(), granted, "a grant stands in a budget"),
      Bad(
          "granted of other blocks", BudgetedRun(),
          [=](Entry& e) {
            granted(e);
            e.mutable_granted()->add_blocks()->set_first(1);
            e.mutable_granted()->mutable_blocks(0)->set_last(1);
          },
          "the blocks that the ledger declares"),
      Bad(
          "blocks of a budget without any", EmptyBudget(),
          [=](Entry& e) {
            grant(e);
            e.mutable_grant()->add_blocks()->set_first(1);
            e.mutable_grant()->mutable_blocks(0)->set_last(1);
          },
          "no blocks of a budget without any"),
      Bad(
          "granted of another budget", BudgetedRun(),
          [=](Entry& e) {
            granted(e);
            e.mutable_granted()->set_budget("projects/default/ledgers/other");
          },
          "granted must be of the budget that the ledger declares"),
      Bad(
          "grant to nobody", EmptyBudget(),
          [=](Entry& e) {
            grant(e);
            e.mutable_grant()->clear_ledger();
          },
          "its grant must be well-formed, and name the budget and the ledger"),
      Bad(
          "grant of no event", EmptyBudget(),
          [=](Entry& e) {
            grant(e);
            e.mutable_grant()->add_plan();
          },
          "its grant must be well-formed"),
      Bad("blocks of a budget without any retired", EmptyBudget(), SetRetired,
          "blocks are retired in a budget that has some", "admin"),
      Bad(
          "no blocks retired", BudgetWithBlocks(), [](Entry& e) { e.mutable_retired_blocks(); },
          "must be well-formed, and name blocks", "admin"),
      Bad(
          "blocks retired that are none", BudgetWithBlocks(),
          [](Entry& e) {
            SetRetired(e);
            e.mutable_retired_blocks()->mutable_blocks(0)->set_first(6);
          },
          "must be well-formed, and name blocks", "admin"),
      Bad("blocks retired by nobody", BudgetWithBlocks(), SetRetired, "the server's own"),
      Bad("grant of a writer", EmptyBudget(), grant, "the server's own", "trainer"),
  };
}

}  // namespace dpledger::bundle
