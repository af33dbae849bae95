// What epsilon is recomputed from: forks with their parents, copies, and what has no analysis.
#include "cli/bundle_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/readable_check.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/difference.h"
#include "merkle/compact_tree.h"
#include "tests/cli/process.h"
#include "tests/ledger_store/bundle_sample.h"

namespace dpledger::cli {
namespace {

using bundle::SampleLedger;
using ::testing::HasSubstr;

constexpr double kDelta = 1e-5;

// Ten rounds and a little more.
SampleLedger Parent() {
  SampleLedger parent;
  for (uint64_t round = 1; round <= 10; ++round) parent.AddRound("trainer", round);
  return parent;
}

// Carries on from the parent's first `size` entries with two rounds more.
SampleLedger ForkAt(
    uint64_t size, const std::string& root_of_prefix,
    const std::function<void(v1::Declaration&)>& change = [](v1::Declaration&) {}) {
  SampleLedger child([&](v1::LedgerEntry& entry) {
    v1::Fork& fork = *entry.mutable_fork();
    fork.set_parent("projects/default/ledgers/parent");
    fork.set_parent_size(size);
    fork.set_parent_root(root_of_prefix);
    v1::Declaration& declaration = *fork.mutable_declaration();
    declaration.set_dataset("mnist");
    declaration.set_unit_of_privacy("example");
    declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
    declaration.set_parameters(v1::FIXED);
    change(declaration);
  });
  return child.AddRound("trainer", 1).AddRound("trainer", 2);
}

std::string RootOfFirst(const SampleLedger& ledger, size_t size) {
  return merkle::ToBytes(bundle::RootOf(
      {ledger.entries.begin(), ledger.entries.begin() + static_cast<ptrdiff_t>(size)}));
}

class BundleCheck : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const SampleLedger& ledger) {
    return folder_.Write(name, bundle::SampleBundle(ledger));
  }
  static double Epsilon(const VerifiedLineage& lineage) {
    const auto answer = RecomputeEpsilon(lineage, kDelta);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->epsilon().upper() : 0;
  }

  dpledger::testing::TemporaryFolder folder_;
};

TEST_F(BundleCheck, ForkCostsItsParentsPrefixToo) {
  const SampleLedger parent = Parent();
  // 1 + 2 * 8 entries: eight rounds of the parent's ten count.
  const std::string child = Write("child", ForkAt(17, RootOfFirst(parent, 17)));
  const auto alone = VerifyFiles({child}, {});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_FALSE(alone->whole());
  const absl::Status refused = RecomputeEpsilon(*alone, kDelta).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(refused).reason, "PARENT_MISSING");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("projects/default/ledgers/parent"));

  const auto lineage = VerifyFiles({child, Write("parent", parent)}, {});
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  SampleLedger same;
  for (uint64_t round = 1; round <= 10; ++round) same.AddRound("trainer", round);
  const auto ten_rounds = VerifyFiles({Write("same", same)}, {});
  ASSERT_TRUE(ten_rounds.ok()) << ten_rounds.status();
  EXPECT_EQ(Epsilon(*lineage), Epsilon(*ten_rounds));
}

TEST_F(BundleCheck, ParentMustBeTheOneThatWasForked) {
  const SampleLedger parent = Parent();
  const std::string child = Write("child", ForkAt(17, RootOfFirst(parent, 16)));
  const absl::Status other = VerifyFiles({child, Write("parent", parent)}, {}).status();
  EXPECT_EQ(bundle::ClassOf(other), "fork");
  SampleLedger small;
  const absl::Status shorter = VerifyFiles({child, Write("small", small)}, {}).status();
  EXPECT_EQ(bundle::ClassOf(shorter), "fork");
  EXPECT_THAT(std::string(shorter.message()), HasSubstr("a ledger of 1 entries"));
  const absl::Status useless = VerifyFiles({Write("parent", parent), child}, {}).status();
  EXPECT_EQ(useless.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(useless.message()), HasSubstr("is not a fork"));
}

TEST_F(BundleCheck, ForkCannotTakeBackWhatItsParentDeclares) {
  const SampleLedger parent = Parent();
  const auto difference = [&](const std::function<void(v1::Declaration&)>& change) {
    const std::string child = Write("child", ForkAt(17, RootOfFirst(parent, 17), change));
    return VerifyFiles({child, Write("parent", parent)}, {}).status();
  };
  EXPECT_TRUE(difference([](v1::Declaration& d) { d.set_planned_rounds(100); }).ok());
  const std::vector<std::pair<std::string, std::function<void(v1::Declaration&)>>> changes = {
      {"dataset", [](v1::Declaration& d) { d.set_dataset("cifar"); }},
      {"unit_of_privacy", [](v1::Declaration& d) { d.set_unit_of_privacy("word"); }},
      {"adjacency", [](v1::Declaration& d) { d.set_adjacency(v1::REPLACE_ONE); }},
      {"parameters", [](v1::Declaration& d) { d.set_parameters(v1::ADAPTIVE); }},
      {"filter", [](v1::Declaration& d) { d.mutable_filter()->mutable_zcdp()->set_rho(9); }},
      {"plan_independent", [](v1::Declaration& d) { d.set_plan_independent(true); }}};
  for (const auto& [field, change] : changes) {
    const absl::Status status = difference(change);
    EXPECT_EQ(bundle::ClassOf(status), "fork") << field;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("declaration.", field, " must be the parent's")));
  }
}

TEST_F(BundleCheck, CopyCostsWhatItsOriginalDoesOnceItIsWhole) {
  const SampleLedger original = Parent();
  const uint64_t size = original.entries.size();
  const auto copy_of_first = [&](uint64_t count) {
    SampleLedger copy([&](v1::LedgerEntry& entry) {
      v1::Import& import = *entry.mutable_import();
      import.set_origin(bundle::kSampleOrigin);
      import.set_size(size);
      import.set_root_hash(RootOfFirst(original, size));
      import.set_checkpoint(bundle::OlderCheckpoint(original, size, 7));
      v1::LedgerEntry first;
      first.ParseFromString(original.entries[0]);
      *import.mutable_declaration() = first.declaration();
    });
    for (uint64_t i = 0; i < count; ++i) {
      copy.Add("import", [&](v1::LedgerEntry& entry) {
        entry.mutable_imported()->set_entry(original.entries[i]);
      });
    }
    return copy;
  };
  const auto whole = VerifyFiles({Write("whole", copy_of_first(size))}, {});
  const auto part = VerifyFiles({Write("part", copy_of_first(size - 1))}, {});
  const auto first = VerifyFiles({Write("original", original)}, {});
  ASSERT_TRUE(whole.ok() && part.ok() && first.ok()) << whole.status() << part.status();
  EXPECT_EQ(Epsilon(*whole), Epsilon(*first));
  const absl::Status refused = RecomputeEpsilon(*part, kDelta).status();
  EXPECT_EQ(ReasonOf(refused).reason, "COPY_UNFINISHED");
  // Who signed the original is asked of those who know its key.
  EXPECT_EQ(*CheckOriginal(*whole, {bundle::SampleVerifierKey(7)}), true);
  EXPECT_EQ(*CheckOriginal(*whole, {bundle::SampleVerifierKey(1)}), false);
}

TEST_F(BundleCheck, EventWithoutAnalysisIsRefusedOnlyWhereItCounts) {
  SampleLedger ledger = Parent();
  ledger.Add("trainer", [](v1::LedgerEntry& entry) { entry.mutable_event()->mutable_mechanism(); });
  const auto lineage = VerifyFiles({Write("odd", ledger)}, {});
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  const absl::Status refused = RecomputeEpsilon(*lineage, kDelta).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("entry 21: mechanism.kind: must be set to one of "));
}

TEST_F(BundleCheck, DeclarationIsCheckedBeforeEpsilon) {
  SampleLedger ledger([](v1::LedgerEntry& entry) {
    entry.mutable_declaration()->set_dataset("mnist");
    entry.mutable_declaration()->set_unit_of_privacy("example");
    entry.mutable_declaration()->set_parameters(v1::FIXED);
  });
  const auto lineage = VerifyFiles({Write("undeclared", ledger)}, {});
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_THAT(std::string(RecomputeEpsilon(*lineage, kDelta).status().message()),
              HasSubstr("declaration.adjacency"));
}

TEST_F(BundleCheck, StatementMustFitTheEntries) {
  const auto lineage = VerifyFiles({Write("ledger", Parent())}, {});
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  const double epsilon = Epsilon(*lineage);
  v1::ComputeEpsilonResponse answer = *RecomputeEpsilon(*lineage, kDelta);
  answer.mutable_details()->mutable_ledgers(0)->set_name("projects/default/ledgers/sample");
  answer.mutable_epsilon()->set_upper(2 * epsilon);
  answer.mutable_details()->add_warnings("of another ledger");
  using Change = std::function<void(v1::ComputeEpsilonResponse&)>;
  const auto check = [&](const Change& change) {
    v1::ComputeEpsilonResponse changed = answer;
    change(changed);
    return CheckStatement(*lineage, events::MessageToJson(changed)).status();
  };
  EXPECT_TRUE(check([](auto&) {}).ok()) << check([](auto&) {});
  // Another version says less, more, or in other words.
  const auto another = [](auto& other) {
    other.mutable_details()->set_version("0.0.1");
    other.mutable_details()->set_method("another");
    other.mutable_details()->clear_regime();
  };
  EXPECT_TRUE(check(another).ok()) << check(another);
  const std::string text = [&] {
    another(answer);
    return events::MessageToJson(answer);
  }();
  EXPECT_TRUE(CheckStatement(*lineage, "{\"surprise\":1," + text.substr(1)).ok());
  answer.mutable_details()->set_version(RecomputeEpsilon(*lineage, kDelta)->details().version());
  EXPECT_EQ(bundle::ClassOf(check([](auto&) {})), "statement") << "of this version it is wrong";

  answer = *RecomputeEpsilon(*lineage, kDelta);
  answer.mutable_details()->mutable_ledgers(0)->set_name("projects/default/ledgers/sample");
  for (const Change& wrong : std::vector<Change>{
           [&](auto& a) { a.mutable_epsilon()->set_upper(epsilon / 2); },
           [&](auto& a) { a.mutable_epsilon()->set_upper(epsilon * (1 - 1e-9)); },
           [&](auto& a) { a.mutable_epsilon()->set_lower(2 * epsilon); },
           [&](auto& a) { a.mutable_epsilon()->set_lower(-1); },
           [&](auto& a) { a.mutable_planned_epsilon()->set_upper(9); },
           [&](auto& a) { a.clear_epsilon(); }, [&](auto& a) { a.clear_delta(); },
           [&](auto& a) { a.mutable_details()->set_regime(v1::ODOMETER); },
           [&](auto& a) { a.mutable_details()->clear_assumptions(); },
           [&](auto& a) { a.mutable_details()->clear_ledgers(); },
           [&](auto& a) { a.mutable_details()->mutable_ledgers(0)->set_root_hash("00"); }}) {
    EXPECT_EQ(bundle::ClassOf(check(wrong)), "statement");
  }
  const std::string good = events::MessageToJson(answer);
  ASSERT_TRUE(CheckStatement(*lineage, good).ok());
  for (const std::string& wrong :
       {"{\"epsilon\":{\"lower\":0,\"upper\":0.001}," + good.substr(1),
        "{\"surprise\":1," + good.substr(1), std::string("{}"), std::string("{\"delta\":")}) {
    EXPECT_EQ(bundle::ClassOf(CheckStatement(*lineage, wrong).status()), "statement") << wrong;
  }
}

}  // namespace
}  // namespace dpledger::cli
