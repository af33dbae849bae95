// Every engine: grants of a budget, which stand in the budget and in the run, or in neither. What
// fits is the gate's to say (tests/server/budget_test.cc).
#include "absl/strings/str_cat.h"
#include "ledger_store/store.h"
#include "tests/ledger_store/conformance_test.h"

namespace dpledger {
namespace {

using absl::StatusCode;

constexpr char kBudget[] = "projects/p/ledgers/budget";

// Refuses what is asked about `refuses`.
class OneSidedGate : public AppendGate {
 public:
  bool Guards(const LedgerHead&) const override { return true; }
  absl::Status Admit(const LedgerHead& head, const LedgerChange&, std::string_view, LedgerReader&,
                     Ahead*) override {
    asked += absl::StrCat(head.name == kBudget ? "b" : "r");
    return head.name == refuses ? absl::FailedPreconditionError("no") : absl::OkStatus();
  }
  std::string refuses, asked;
};

void MakeBoth(LedgerStore& store) {
  v1::CreateLedgerRequest create = CreateRequest(kBudget);
  create.mutable_declaration()->set_kind(v1::BUDGET);
  create.mutable_declaration()->set_parameters(v1::ADAPTIVE);
  create.mutable_declaration()->mutable_filter()->mutable_zcdp()->set_rho(1);
  ASSERT_TRUE(store.Create(create).ok());
  create = CreateRequest(kLedger);
  create.mutable_declaration()->set_budget(kBudget);
  const auto run = store.Create(create);
  ASSERT_TRUE(run.ok()) << run.status();
  // The filter that the request left out.
  EXPECT_EQ(run->declaration().filter().zcdp().rho(), 1);
}

v1::GrantBudgetRequest GrantRequest(const std::string& id) {
  v1::GrantBudgetRequest request;
  request.set_budget(kBudget);
  request.set_ledger(kLedger);
  request.set_request_id(id);
  request.add_plan()->mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(2);
  request.set_reason("the first run");
  return request;
}

TEST_P(LedgerStoreConformance, GrantStandsInBothAndIsAnsweredAgain) {
  MakeBoth(*store_);
  // The run's writers may use the same id: a grant is answered in the budget.
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "grant", 1)).ok());
  const auto receipt = store_->Grant(GrantRequest("grant"), "token:t");
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  for (int i = 0; i < 2; ++i) {
    const std::vector<v1::LedgerEntry> budget = WholeLedger(kBudget), run = WholeLedger(kLedger);
    ASSERT_EQ(budget.size(), 2u);
    ASSERT_EQ(run.size(), 4u);
    EXPECT_EQ(budget[1].grant().ledger(), kLedger);
    EXPECT_EQ(budget[1].caller(), "token:t");
    EXPECT_EQ(budget[1].writer(), "");
    EXPECT_EQ(run[3].granted().SerializeAsString(), budget[1].grant().SerializeAsString());
    EXPECT_EQ(run[3].writer(), "");
    EXPECT_EQ(run[3].granted().reason(), "the first run");
    const auto again = store_->Grant(GrantRequest("grant"), "token:t");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), receipt->SerializeAsString());
    EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "grant", 1)).ok());
    Reopen();
  }
  EXPECT_TRUE(IsError(store_->Grant(GrantRequest("grant"), "token:other").status(),
                      StatusCode::kPermissionDenied, "REQUEST_OF_ANOTHER_CALLER", ""));
}

TEST_P(LedgerStoreConformance, CopyIsGrantedNothing) {
  MakeBoth(*store_);
  v1::CreateLedgerRequest create = CreateRequest("projects/p/ledgers/copy");
  v1::Import& import = *create.mutable_import();
  import.set_origin("elsewhere.example/projects/p/ledgers/a");
  import.set_size(3);
  import.set_root_hash(std::string(32, 'r'));
  import.set_checkpoint("a signed note\n");
  *import.mutable_declaration() = store_->Get(kLedger)->declaration();
  create.clear_declaration();
  ASSERT_TRUE(store_->Create(create).ok());
  v1::GrantBudgetRequest request = GrantRequest("to-the-copy");
  request.set_ledger(create.name());
  EXPECT_TRUE(IsError(store_->Grant(request, "").status(), StatusCode::kFailedPrecondition,
                      "IMPORT_ONLY", "is a copy of another ledger: what it spent was granted"));
  EXPECT_EQ(WholeLedger(create.name()).size(), 1u);
  EXPECT_EQ(WholeLedger(kBudget).size(), 1u);
}

TEST_P(LedgerStoreConformance, RefusedGrantIsInNeither) {
  OneSidedGate gate;
  store_->Guard(&gate);
  MakeBoth(*store_);
  for (const std::string& refuses : {std::string(kBudget), std::string(kLedger)}) {
    gate.refuses = refuses;
    EXPECT_TRUE(IsError(store_->Grant(GrantRequest("g"), "").status(),
                        StatusCode::kFailedPrecondition, "", "no"));
    EXPECT_EQ(WholeLedger(kBudget).size(), 1u);
    EXPECT_EQ(WholeLedger(kLedger).size(), 1u);
  }
  EXPECT_EQ(gate.asked, "bbr");
  gate.refuses.clear();
  EXPECT_TRUE(store_->Grant(GrantRequest("g"), "").ok());
  v1::SealLedgerRequest seal;
  seal.set_name(kLedger);
  seal.set_request_id("seal");
  ASSERT_TRUE(store_->Seal(seal).ok());
  const uint64_t sealed_at = WholeLedger(kLedger).size();
  EXPECT_TRUE(store_->Grant(GrantRequest("h"), "").ok());  // it may give back
  EXPECT_EQ(WholeLedger(kBudget).size(), 3u);
  EXPECT_EQ(WholeLedger(kLedger).size(), sealed_at);
  seal.set_name(kBudget);
  ASSERT_TRUE(store_->Seal(seal).ok());
  EXPECT_TRUE(IsError(store_->Grant(GrantRequest("i"), "").status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", "is sealed"));
}

}  // namespace
}  // namespace dpledger
