// Every engine: ledgers that carry on from another one's prefix, and copies of other servers'
// ledgers.
#include "absl/strings/str_cat.h"
#include "merkle/compact_tree.h"
#include "tests/ledger_store/conformance_test.h"

namespace dpledger {
namespace {

using absl::StatusCode;

constexpr char kChild[] = "projects/p/ledgers/child";

v1::ForkLedgerRequest ForkRequest(const std::string& name, const std::string& request_id = "fork") {
  v1::ForkLedgerRequest request;
  request.set_parent(kLedger);
  request.set_name(name);
  request.set_request_id(request_id);
  request.set_reason("another learning rate");
  return request;
}

// A parent of five entries.
void MakeParent(LedgerStore& store) {
  ASSERT_TRUE(store.Create(CreateRequest(kLedger)).ok());
  ASSERT_TRUE(store.Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  ASSERT_TRUE(store.Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
}

uint64_t SizeOf(LedgerStore& store, const std::string& name) {
  const absl::StatusOr<v1::Ledger> ledger = store.Get(name);
  EXPECT_TRUE(ledger.ok()) << ledger.status();
  return ledger.ok() ? ledger->size() : 0;
}

TEST_P(LedgerStoreConformance, ForkBeginsAtItsPointAndTellsTheParent) {
  MakeParent(*store_);
  const LedgerPoint point = PointOf(*store_, kLedger, 3);
  const absl::StatusOr<v1::Ledger> made = store_->Fork(ForkRequest(kChild), point);
  ASSERT_TRUE(made.ok()) << made.status();
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<v1::Ledger> child = store_->Get(kChild);
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ(child->SerializeAsString(), made->SerializeAsString());
    EXPECT_EQ(child->size(), 1u);
    EXPECT_EQ(child->state(), v1::OPEN);
    EXPECT_EQ(child->writers_size(), 0);
    EXPECT_EQ(child->declaration().dataset(), "adult");
    EXPECT_EQ(child->fork().parent(), kLedger);
    EXPECT_EQ(child->fork().parent_size(), 3u);
    EXPECT_EQ(child->fork().parent_root(), merkle::ToBytes(point.root));
    EXPECT_FALSE(child->fork().has_declaration());
    const std::vector<v1::LedgerEntry> entries = WholeLedger(kChild);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].writer(), "");
    EXPECT_EQ(entries[0].request_id(), "fork");
    EXPECT_EQ(entries[0].fork().parent_size(), 3u);
    EXPECT_EQ(entries[0].fork().reason(), "another learning rate");
    EXPECT_EQ(entries[0].fork().declaration().unit_of_privacy(), "example");

    const std::vector<v1::LedgerEntry> parent = WholeLedger(kLedger);
    ASSERT_EQ(parent.size(), 6u);
    EXPECT_EQ(parent[5].fork_notice().child(), kChild);
    EXPECT_EQ(parent[5].fork_notice().size(), 3u);
    EXPECT_EQ(parent[5].writer(), "");
    EXPECT_EQ(parent[5].writer_counter(), 1u);
    Reopen();
  }
  EXPECT_EQ(*store_->CountDeclaring("adult"), 2u);
  // Both go on, each with its own rounds.
  EXPECT_TRUE(store_->Append(RoundBatch(kChild, "w", "r3", 1)).ok());
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r3", 3)).ok());
}

TEST_P(LedgerStoreConformance, SealedParentGetsNoNotice) {
  MakeParent(*store_);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers(std::string("w"));
  ASSERT_TRUE(store_->Seal(seal).ok());
  const absl::StatusOr<v1::Ledger> child =
      store_->Fork(ForkRequest(kChild), PointOf(*store_, kLedger, 6));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->state(), v1::OPEN);
  EXPECT_EQ(SizeOf(*store_, kLedger), 6u);
  EXPECT_TRUE(store_->Append(RoundBatch(kChild, "w", "r3", 3)).ok());
}

TEST_P(LedgerStoreConformance, ForkAgainIsTheSameFork) {
  MakeParent(*store_);
  const LedgerPoint point = PointOf(*store_, kLedger, 5);
  ASSERT_TRUE(store_->Fork(ForkRequest(kChild), point).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kChild, "w", "r3", 3)).ok());
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<v1::Ledger> again = store_->Fork(ForkRequest(kChild), point);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->size(), 3u);
    EXPECT_EQ(SizeOf(*store_, kLedger), 6u);  // one notice
    Reopen();
  }
}

TEST_P(LedgerStoreConformance, TakenNamesAreRefusedAndTheParentNotTold) {
  MakeParent(*store_);
  CreateLedger("projects/p/ledgers/taken");
  const LedgerPoint point = PointOf(*store_, kLedger, 5);
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest("projects/p/ledgers/taken"), point).status(),
                      StatusCode::kAlreadyExists, "LEDGER_EXISTS", "projects/p/ledgers/taken"));
  EXPECT_TRUE(
      IsError(store_->Fork(ForkRequest("projects/p/ledgers/taken", "create"), point).status(),
              StatusCode::kAlreadyExists, "LEDGER_EXISTS", "made by another request"));
  EXPECT_EQ(SizeOf(*store_, kLedger), 5u);
  ASSERT_TRUE(store_->Fork(ForkRequest(kChild), point).ok());
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest(kChild, "other"), point).status(),
                      StatusCode::kAlreadyExists, "LEDGER_EXISTS", kChild));
  v1::ForkLedgerRequest other_reason = ForkRequest(kChild);
  other_reason.set_reason("another optimiser");
  EXPECT_TRUE(IsError(store_->Fork(other_reason, point).status(), StatusCode::kAlreadyExists,
                      "LEDGER_EXISTS", kChild));
  EXPECT_TRUE(IsError(store_->Create(CreateRequest(kChild, "fork")).status(),
                      StatusCode::kAlreadyExists, "LEDGER_EXISTS", kChild));
  EXPECT_EQ(SizeOf(*store_, kLedger), 6u);
  EXPECT_EQ(SizeOf(*store_, kChild), 1u);
}

TEST_P(LedgerStoreConformance, PointsOutsideTheParentAreRefused) {
  MakeParent(*store_);
  const absl::Status beyond = store_->Fork(ForkRequest(kChild), {6, {}}).status();
  EXPECT_TRUE(IsError(beyond, StatusCode::kOutOfRange, "BEYOND_LEDGER",
                      "parent_size: must be at most 5, the size of projects/p/ledgers/a, got 6"));
  EXPECT_EQ(ReasonOf(beyond).metadata["current_sequence"], "5");
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest(kChild), {0, {}}).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "parent_size: must be at least 1"));
  EXPECT_EQ(SizeOf(*store_, kLedger), 5u);
  EXPECT_TRUE(absl::IsNotFound(store_->Get(kChild).status()));
  // Neither its name nor its id is taken.
  EXPECT_TRUE(store_->Fork(ForkRequest(kChild), PointOf(*store_, kLedger, 1)).ok());
}

TEST_P(LedgerStoreConformance, BadRequestsAreRefused) {
  MakeParent(*store_);
  const LedgerPoint point = PointOf(*store_, kLedger, 5);
  v1::ForkLedgerRequest request = ForkRequest(kChild);
  request.set_parent("projects/p/ledgers/none");
  EXPECT_TRUE(IsError(store_->Fork(request, point).status(), StatusCode::kNotFound,
                      "LEDGER_NOT_FOUND", "projects/p/ledgers/none: no such ledger"));
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest(kLedger), point).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "name: must not be the parent's"));
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest("child"), point).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD", "name: must be projects/"));
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest(kChild, ""), point).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD", "request_id: must be 1 to"));
  request = ForkRequest(kChild);
  request.set_reason(std::string(1025, 'x'));
  EXPECT_TRUE(IsError(store_->Fork(request, point).status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "reason: must be at most 1024 bytes"));
  EXPECT_EQ(SizeOf(*store_, kLedger), 5u);
}

TEST_P(LedgerStoreConformance, DeclarationKeepsWhatThePrefixRestsOn) {
  MakeParent(*store_);
  const LedgerPoint point = PointOf(*store_, kLedger, 5);
  const struct {
    const char* field;
    void (*change)(v1::Declaration&);
  } kChanges[] = {
      {"dataset", [](v1::Declaration& d) { d.set_dataset("mnist"); }},
      {"unit_of_privacy", [](v1::Declaration& d) { d.set_unit_of_privacy("user"); }},
      {"adjacency", [](v1::Declaration& d) { d.set_adjacency(v1::REPLACE_ONE); }},
      {"parameters", [](v1::Declaration& d) { d.set_parameters(v1::ADAPTIVE); }},
      {"filter", [](v1::Declaration& d) { d.mutable_filter()->mutable_gdp()->set_mu(1); }},
      {"plan_independent", [](v1::Declaration& d) { d.set_plan_independent(true); }},
  };
  for (const auto& [field, change] : kChanges) {
    v1::ForkLedgerRequest request = ForkRequest(kChild);
    *request.mutable_declaration() = CreateRequest(kLedger).declaration();
    change(*request.mutable_declaration());
    EXPECT_TRUE(IsError(store_->Fork(request, point).status(), StatusCode::kInvalidArgument,
                        "INVALID_FIELD",
                        absl::StrCat("declaration.", field, ": must be the parent's")));
  }
  EXPECT_EQ(SizeOf(*store_, kLedger), 5u);
  v1::ForkLedgerRequest request = ForkRequest(kChild);
  *request.mutable_declaration() = CreateRequest(kLedger).declaration();
  request.mutable_declaration()->set_planned_rounds(500);
  request.mutable_declaration()->set_description("the second run");
  const absl::StatusOr<v1::Ledger> child = store_->Fork(request, point);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->declaration().planned_rounds(), 500u);
  EXPECT_EQ(child->declaration().description(), "the second run");
}

TEST_P(LedgerStoreConformance, ChildAndNoticeComeTogetherOrNotAtAll) {
  MakeParent(*store_);
  v1::ForkLedgerRequest request = ForkRequest(kChild);
  *request.mutable_declaration() = CreateRequest(kLedger).declaration();
  request.mutable_declaration()->set_description(std::string(70'000, 'x'));
  const LedgerPoint point = PointOf(*store_, kLedger, 5);
  EXPECT_TRUE(IsError(store_->Fork(request, point).status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "declaration: must be at most 65535 bytes"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 5u);
  EXPECT_TRUE(absl::IsNotFound(store_->Get(kChild).status()));
  request.mutable_declaration()->set_description(std::string(4096, 'x'));
  EXPECT_TRUE(store_->Fork(request, point).ok());
  EXPECT_EQ(WholeLedger(kLedger).size(), 6u);
}

TEST_P(LedgerStoreConformance, ForksForkAgain) {
  MakeParent(*store_);
  ASSERT_TRUE(store_->Fork(ForkRequest(kChild), PointOf(*store_, kLedger, 5)).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kChild, "w", "r3", 3)).ok());
  v1::ForkLedgerRequest request = ForkRequest("projects/q/ledgers/grandchild");
  request.set_parent(kChild);
  const absl::StatusOr<v1::Ledger> grandchild = store_->Fork(request, PointOf(*store_, kChild, 2));
  ASSERT_TRUE(grandchild.ok()) << grandchild.status();
  EXPECT_EQ(grandchild->fork().parent(), kChild);
  EXPECT_EQ(grandchild->fork().parent_size(), 2u);
  EXPECT_EQ(grandchild->declaration().dataset(), "adult");
  EXPECT_EQ(WholeLedger(kChild).back().fork_notice().child(), "projects/q/ledgers/grandchild");
  EXPECT_EQ(SizeOf(*store_, kLedger), 6u);
}

v1::CreateLedgerRequest ImportRequest(uint64_t size) {
  v1::CreateLedgerRequest request = CreateRequest(kLedger);
  v1::Import& import = *request.mutable_import();
  import.set_origin("elsewhere.example/projects/p/ledgers/a");
  import.set_size(size);
  import.set_root_hash(std::string(32, 'r'));
  import.set_checkpoint("a signed note\n");
  import.mutable_declaration()->Swap(request.mutable_declaration());
  request.clear_declaration();
  return request;
}

// Entries [first, first + count) of the original.
v1::AppendBatchRequest Copies(const std::string& request_id, uint64_t first, uint64_t count) {
  v1::AppendBatchRequest request = Batch(kLedger, "import", request_id);
  for (uint64_t k = first; k < first + count; ++k) {
    v1::LedgerEntry original;
    original.set_sequence(k);
    original.set_writer("their writer");
    original.mutable_note()->set_text("theirs");
    request.add_entries()->mutable_imported()->set_entry(original.SerializeAsString());
  }
  return request;
}

TEST_P(LedgerStoreConformance, CopyNamesItsOrigin) {
  const absl::StatusOr<v1::Ledger> made = store_->Create(ImportRequest(3));
  ASSERT_TRUE(made.ok()) << made.status();
  Reopen();
  const absl::StatusOr<v1::Ledger> copy = store_->Create(ImportRequest(3));
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->SerializeAsString(), made->SerializeAsString());
  EXPECT_EQ(copy->size(), 1u);
  EXPECT_EQ(copy->declaration().dataset(), "adult");
  EXPECT_EQ(copy->import().origin(), "elsewhere.example/projects/p/ledgers/a");
  EXPECT_EQ(copy->import().size(), 3u);
  EXPECT_EQ(copy->import().root_hash(), std::string(32, 'r'));
  EXPECT_FALSE(copy->import().has_declaration());
  EXPECT_EQ(copy->import().checkpoint(), "");
  EXPECT_EQ(WholeLedger(kLedger).at(0).import().checkpoint(), "a signed note\n");
  EXPECT_EQ(*store_->CountDeclaring("adult"), 1u);
}

TEST_P(LedgerStoreConformance, BadImportsAreRefused) {
  v1::CreateLedgerRequest request = ImportRequest(3);
  const auto refused = [&](const char* message) {
    return IsError(store_->Create(request).status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                   message);
  };
  request.mutable_declaration()->set_dataset("adult");
  EXPECT_TRUE(refused("declaration: must not be set beside an import"));
  request = ImportRequest(0);
  EXPECT_TRUE(refused("import.size: must be at least 1"));
  request = ImportRequest(3);
  request.mutable_import()->set_root_hash("short");
  EXPECT_TRUE(refused("import.root_hash: must be 32 bytes, got 5"));
  request = ImportRequest(3);
  request.mutable_import()->clear_origin();
  EXPECT_TRUE(refused("import.origin: must be set"));
  request = ImportRequest(3);
  request.mutable_import()->clear_declaration();
  EXPECT_TRUE(refused("import.declaration: must be set"));
  request = ImportRequest(3);
  request.mutable_import()->set_checkpoint(std::string(16'385, 'x'));
  EXPECT_TRUE(refused("import.checkpoint: must be at most 16384 bytes"));
  EXPECT_TRUE(absl::IsNotFound(store_->Get(kLedger).status()));
}

TEST_P(LedgerStoreConformance, TakesTheOriginalsEntriesInTheirOrder) {
  ASSERT_TRUE(store_->Create(ImportRequest(4)).ok());
  const auto refused = [&](const v1::AppendBatchRequest& request, const char* message) {
    return IsError(store_->Append(request).status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                   message);
  };
  EXPECT_TRUE(refused(Copies("c1", 1, 1),
                      "entries[0].imported.entry: must be entry 0 of the original, got entry 1"));
  ASSERT_TRUE(store_->Append(Copies("c1", 0, 2)).ok());
  Reopen();
  v1::AppendBatchRequest gap = Copies("c2", 2, 1);
  gap.MergeFrom(Copies("c2", 4, 1));
  EXPECT_TRUE(
      refused(gap, "entries[1].imported.entry: must be entry 3 of the original, got entry"));
  EXPECT_TRUE(refused(Copies("c2", 1, 1), "must be entry 2 of the original, got entry 1"));
  EXPECT_TRUE(refused(Copies("c2", 2, 3),
                      "entries[2].imported.entry: must not follow the 4 entries that the import"));
  v1::AppendBatchRequest rubbish = Batch(kLedger, "import", "c2");
  rubbish.add_entries()->mutable_imported()->set_entry(std::string(2, 0x7f));
  EXPECT_TRUE(refused(rubbish, "entries[0].imported.entry: must be a serialised LedgerEntry"));
  ASSERT_TRUE(store_->Append(Copies("c2", 2, 2)).ok());
  EXPECT_TRUE(refused(Copies("c3", 4, 1), "must not follow the 4 entries"));
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 5u);
  for (uint64_t k = 0; k < 4; ++k) {
    v1::LedgerEntry original;
    ASSERT_TRUE(original.ParseFromString(entries[k + 1].imported().entry()));
    EXPECT_EQ(original.sequence(), k);
    EXPECT_EQ(original.writer(), "their writer");
  }
}

TEST_P(LedgerStoreConformance, CopyTakesNothingElse) {
  ASSERT_TRUE(store_->Create(ImportRequest(2)).ok());
  const auto import_only = [&](const v1::AppendBatchRequest& request) {
    return IsError(store_->Append(request).status(), StatusCode::kFailedPrecondition, "IMPORT_ONLY",
                   "is a copy of another ledger, and takes its entries only");
  };
  v1::AppendBatchRequest note = Batch(kLedger, "w", "n");
  AddNote(note, "mine");
  EXPECT_TRUE(import_only(note));
  ASSERT_TRUE(store_->Append(Copies("c", 0, 2)).ok());
  EXPECT_TRUE(import_only(note));
  EXPECT_TRUE(import_only(RoundBatch(kLedger, "w", "r", 1)));
  v1::AppendBatchRequest close = Batch(kLedger, "import", "close");
  close.add_entries()->mutable_writer_closed()->set_entry_count(3);
  EXPECT_TRUE(store_->Append(close).ok());
  EXPECT_TRUE(store_->Seal(SealRequest(kLedger)).ok());
  EXPECT_EQ(WholeLedger(kLedger).size(), 5u);
  // Nor a CONFLICT: the original's record says what was released.
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "import", "late", 1)).status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", "is sealed"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 5u);
}

TEST_P(LedgerStoreConformance, OrdinaryLedgersTakeNoCopies) {
  CreateLedger(kLedger);
  EXPECT_TRUE(IsError(store_->Append(Copies("c", 0, 1)).status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD",
                      "entries[0].imported: must not be set: this ledger was not made by an"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 1u);
}

TEST_P(LedgerStoreConformance, CompleteCopiesCanBeForked) {
  ASSERT_TRUE(store_->Create(ImportRequest(2)).ok());
  ASSERT_TRUE(store_->Append(Copies("c1", 0, 1)).ok());
  EXPECT_TRUE(IsError(store_->Fork(ForkRequest(kChild), PointOf(*store_, kLedger, 2)).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "parent_size: must take all 3 entries of a copied ledger, got 2"));
  ASSERT_TRUE(store_->Append(Copies("c2", 1, 1)).ok());
  const absl::StatusOr<v1::Ledger> child =
      store_->Fork(ForkRequest(kChild), PointOf(*store_, kLedger, 3));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->declaration().dataset(), "adult");
  EXPECT_TRUE(WholeLedger(kLedger).at(3).has_fork_notice());
  EXPECT_TRUE(store_->Append(RoundBatch(kChild, "w", "r", 1)).ok());
}

}  // namespace
}  // namespace dpledger
