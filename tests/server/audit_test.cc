// The audit calls over gRPC, checked as an auditor would check them: with keys, checkpoints and
// RFC 6962 alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/signed_note.h"
#include "merkle/tile.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using Audit = v1::AuditService::Stub;
using grpc::StatusCode;
using merkle::Hash;
using ::testing::SizeIs;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

Hash ToHash(const std::string& bytes) {
  Hash hash{};
  EXPECT_EQ(bytes.size(), hash.size());
  std::memcpy(hash.data(), bytes.data(), std::min(bytes.size(), hash.size()));
  return hash;
}

template <typename Field>
std::vector<Hash> ToHashes(const Field& field) {
  std::vector<Hash> hashes;
  for (const std::string& bytes : field) hashes.push_back(ToHash(bytes));
  return hashes;
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() { running_.Create(kLedger); }

  void AppendNotes(int count) {
    v1::AppendBatchRequest batch = Batch(kLedger, "w", absl::StrCat("notes-", batches_++));
    for (int i = 0; i < count; ++i) AddNote(batch, absl::StrCat(batches_, ".", i));
    running_.Append(batch);
  }
  std::vector<Hash> Leaves() {
    std::vector<Hash> leaves;
    v1::ReadEntriesRequest request;
    request.set_ledger(kLedger);
    do {
      v1::ReadEntriesResponse response;
      EXPECT_TRUE(IsOk(
          Call(running_.ledgers(), &v1::LedgerService::Stub::ReadEntries, request, &response)));
      for (const std::string& entry : response.entries()) leaves.push_back(merkle::LeafHash(entry));
      request.set_first_sequence(response.next_sequence());
    } while (request.first_sequence() != 0);
    return leaves;
  }
  static Hash RootOf(const std::vector<Hash>& leaves, size_t size) {
    merkle::CompactTree tree;
    for (size_t i = 0; i < size; ++i) tree.Append(leaves[i]);
    return tree.Root();
  }

  v1::GetCheckpointResponse Checkpoint(const std::string& log, uint64_t at_least = 0) {
    v1::GetCheckpointRequest request;
    request.set_log(log);
    request.set_at_least(at_least);
    v1::GetCheckpointResponse response;
    EXPECT_TRUE(IsOk(Call(running_.audit(), &Audit::GetCheckpoint, request, &response)));
    return response;
  }
  // A checkpoint that the last of the answer's keys signed.
  static merkle::Checkpoint Open(const std::string& text, const v1::GetCheckpointResponse& from,
                                 const std::string& log) {
    const auto key = merkle::VerifierKey::Parse(*from.verifier_keys().rbegin());
    EXPECT_TRUE(key.ok()) << key.status();
    const auto note = merkle::Note::Parse(text);
    EXPECT_TRUE(note.ok()) << note.status();
    const std::string origin = log.empty() ? key->name : absl::StrCat(key->name, "/", log);
    const auto checkpoint = merkle::OpenCheckpoint(*note, origin, {{*key}});
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    return checkpoint.ok() ? *checkpoint : merkle::Checkpoint();
  }
  grpc::Status Inclusion(const std::string& log, uint64_t index, uint64_t size,
                         v1::GetInclusionProofResponse* response = nullptr) {
    v1::GetInclusionProofRequest request;
    request.set_log(log);
    request.set_index(index);
    request.set_size(size);
    return Call(running_.audit(), &Audit::GetInclusionProof, request, response);
  }
  grpc::Status Consistency(const std::string& log, uint64_t old_size, uint64_t new_size,
                           v1::GetConsistencyProofResponse* response = nullptr) {
    v1::GetConsistencyProofRequest request;
    request.set_log(log);
    request.set_old_size(old_size);
    request.set_new_size(new_size);
    return Call(running_.audit(), &Audit::GetConsistencyProof, request, response);
  }
  grpc::Status Tile(const std::string& log, const std::string& path,
                    v1::GetTileResponse* response = nullptr) {
    v1::GetTileRequest request;
    request.set_log(log);
    request.set_path(path);
    return Call(running_.audit(), &Audit::GetTile, request, response);
  }

  RunningServer running_;
  int batches_ = 0;
};

TEST_F(AuditTest, CheckpointIsTiedToTheRegistry) {
  AppendNotes(9);
  const v1::GetCheckpointResponse response = Checkpoint(kLedger, 10);
  const merkle::Checkpoint checkpoint = Open(response.note(), response, kLedger);
  EXPECT_EQ(checkpoint.size, 10u);
  EXPECT_EQ(merkle::ToBytes(checkpoint.root), running_.Get(kLedger).root_hash());

  const merkle::Checkpoint registry = Open(response.registry().note(), response, "");
  EXPECT_EQ(merkle::VerifyInclusion(merkle::LeafHash(response.registry().entry()),
                                    response.registry().index(), registry.size, registry.root,
                                    ToHashes(response.registry().proof())),
            absl::OkStatus());
  v1::LedgerEntry entry;
  ASSERT_TRUE(entry.ParseFromString(response.registry().entry()));
  EXPECT_EQ(entry.sequence(), response.registry().index());
  EXPECT_EQ(entry.registered().origin(), checkpoint.origin);
  EXPECT_EQ(entry.registered().size(), 10u);
  EXPECT_EQ(entry.registered().root_hash(), merkle::ToBytes(checkpoint.root));
  // The control: another entry is not in that place.
  EXPECT_TRUE(absl::IsDataLoss(merkle::VerifyInclusion(
      merkle::LeafHash(response.registry().entry() + "x"), response.registry().index(),
      registry.size, registry.root, ToHashes(response.registry().proof()))));

  const v1::GetCheckpointResponse of_registry = Checkpoint("");
  EXPECT_EQ(of_registry.note(), response.registry().note());
  EXPECT_FALSE(of_registry.has_registry());
  EXPECT_THAT(of_registry.verifier_keys(), SizeIs(1));
}

TEST_F(AuditTest, CheckpointWaitsForWhatIsAskedAndNoMore) {
  EXPECT_EQ(Open(Checkpoint(kLedger).note(), Checkpoint(kLedger), kLedger).size, 1u);
  AppendNotes(4);
  const v1::GetCheckpointResponse before = Checkpoint(kLedger);
  EXPECT_EQ(Open(before.note(), before, kLedger).size, 1u);  // as it is
  const v1::GetCheckpointResponse after = Checkpoint(kLedger, 5);
  EXPECT_EQ(Open(after.note(), after, kLedger).size, 5u);
  v1::GetCheckpointRequest beyond;
  beyond.set_log(kLedger);
  beyond.set_at_least(6);
  EXPECT_TRUE(IsError(Call(running_.audit(), &Audit::GetCheckpoint, beyond),
                      StatusCode::OUT_OF_RANGE, "BEYOND_LOG",
                      "at_least: projects/p/ledgers/a has 5 entries, 6 are asked for"));
  beyond.set_log("");
  beyond.set_at_least(kMax);
  EXPECT_TRUE(IsError(Call(running_.audit(), &Audit::GetCheckpoint, beyond),
                      StatusCode::OUT_OF_RANGE, "BEYOND_LOG", "at_least: the registry has "));
}

TEST_F(AuditTest, InclusionProofsVerify) {
  AppendNotes(299);
  const std::vector<Hash> leaves = Leaves();
  for (const uint64_t size : {1, 2, 3, 255, 256, 257, 300}) {
    const Hash root = RootOf(leaves, size);
    for (const uint64_t index : {uint64_t{0}, size / 2, size - 1}) {
      v1::GetInclusionProofResponse response;
      ASSERT_TRUE(IsOk(Inclusion(kLedger, index, size, &response)));
      EXPECT_EQ(response.size(), size);
      EXPECT_EQ(ToHash(response.leaf_hash()), leaves[index]);
      EXPECT_EQ(
          merkle::VerifyInclusion(leaves[index], index, size, root, ToHashes(response.proof())),
          absl::OkStatus())
          << index << " of " << size;
    }
  }
  // Of what is not signed yet, and at the latest checkpoint.
  AppendNotes(10);
  v1::GetInclusionProofResponse response;
  ASSERT_TRUE(IsOk(Inclusion(kLedger, 0, 0, &response)));
  EXPECT_EQ(response.size(), 300u);
  ASSERT_TRUE(IsOk(Inclusion(kLedger, 305, 0, &response)));
  EXPECT_EQ(response.size(), 310u);
}

TEST_F(AuditTest, ConsistencyProofsVerify) {
  AppendNotes(299);
  const std::vector<Hash> leaves = Leaves();
  for (const uint64_t new_size : {1, 2, 256, 299, 300}) {
    for (const uint64_t old_size : {uint64_t{0}, uint64_t{1}, new_size / 2, new_size}) {
      v1::GetConsistencyProofResponse response;
      ASSERT_TRUE(IsOk(Consistency(kLedger, old_size, new_size, &response)));
      EXPECT_EQ(response.new_size(), new_size);
      EXPECT_EQ(ToHash(response.new_root()), RootOf(leaves, new_size));
      EXPECT_EQ(merkle::VerifyConsistency(old_size, RootOf(leaves, old_size), new_size,
                                          RootOf(leaves, new_size), ToHashes(response.proof())),
                absl::OkStatus())
          << old_size << " to " << new_size;
    }
  }
  AppendNotes(1);
  v1::GetConsistencyProofResponse response;
  ASSERT_TRUE(IsOk(Consistency(kLedger, 7, 0, &response)));
  EXPECT_EQ(response.new_size(), 300u);
  ASSERT_TRUE(IsOk(Consistency("", 1, 0, &response)));
}

TEST_F(AuditTest, BadProofRequestsAreRefused) {
  EXPECT_TRUE(IsFieldError(Inclusion("x", 0, 1), "log", "must be projects/"));
  EXPECT_TRUE(IsFieldError(Consistency("x", 0, 1), "log", "must be projects/"));
  EXPECT_TRUE(IsFieldError(Tile("x", "checkpoint"), "log", "must be projects/"));
  EXPECT_TRUE(IsError(Inclusion("projects/p/ledgers/none", 0, 1), StatusCode::NOT_FOUND,
                      "LEDGER_NOT_FOUND", "projects/p/ledgers/none"));
  EXPECT_TRUE(IsFieldError(Inclusion(kLedger, 1, 1), "index", "must be below size 1, got 1"));
  EXPECT_TRUE(IsFieldError(Inclusion(kLedger, kMax, 0), "index", "must be the index of an entry"));
  EXPECT_TRUE(IsError(Inclusion(kLedger, 1, 0), StatusCode::OUT_OF_RANGE, "BEYOND_LOG",
                      "index: projects/p/ledgers/a has 1 entries, 2 are asked for"));
  EXPECT_TRUE(IsError(Inclusion(kLedger, 0, 2), StatusCode::OUT_OF_RANGE, "BEYOND_LOG", "size: "));
  EXPECT_TRUE(IsError(Inclusion("", 0, kMax), StatusCode::OUT_OF_RANGE, "BEYOND_LOG", "size: "));
  EXPECT_TRUE(IsFieldError(Consistency(kLedger, 2, 1), "old_size", "must be at most new_size 1"));
  EXPECT_TRUE(
      IsError(Consistency(kLedger, 2, 0), StatusCode::OUT_OF_RANGE, "BEYOND_LOG", "old_size: "));
  EXPECT_TRUE(
      IsError(Consistency(kLedger, 0, kMax), StatusCode::OUT_OF_RANGE, "BEYOND_LOG", "new_size: "));
  v1::GetCheckpointRequest unknown;
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddVarint(99, 1);
  EXPECT_TRUE(IsError(Call(running_.audit(), &Audit::GetCheckpoint, unknown),
                      StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", "99"));
}

TEST_F(AuditTest, TilesAndBundlesAreThoseOfTheTree) {
  AppendNotes(299);
  const v1::GetCheckpointResponse checkpoint = Checkpoint(kLedger, 300);
  const std::vector<Hash> leaves = Leaves();
  v1::GetTileResponse response;
  ASSERT_TRUE(IsOk(Tile(kLedger, "checkpoint", &response)));
  EXPECT_EQ(response.content(), checkpoint.note());
  std::string hashes;
  for (const Hash& leaf : leaves) hashes += merkle::ToBytes(leaf);
  ASSERT_TRUE(IsOk(Tile(kLedger, "tile/0/000", &response)));
  EXPECT_EQ(response.content(), hashes.substr(0, 8192));
  ASSERT_TRUE(IsOk(Tile(kLedger, "tile/0/001.p/44", &response)));
  EXPECT_EQ(response.content(), hashes.substr(8192));
  ASSERT_TRUE(IsOk(Tile(kLedger, "tile/0/001.p/3", &response)));
  EXPECT_EQ(response.content(), hashes.substr(8192, 96));
  ASSERT_TRUE(IsOk(Tile(kLedger, "tile/1/000.p/1", &response)));
  EXPECT_EQ(response.content(), merkle::ToBytes(RootOf(leaves, 256)));
  ASSERT_TRUE(IsOk(Tile(kLedger, "tile/entries/001.p/44", &response)));
  const auto entries = merkle::DecodeEntryBundle(response.content(), 44);
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (size_t i = 0; i < entries->size(); ++i) {
    EXPECT_EQ(merkle::LeafHash((*entries)[i]), leaves[256 + i]);
  }
  ASSERT_TRUE(IsOk(Tile("", "tile/entries/000.p/1", &response)));
  v1::LedgerEntry first;
  ASSERT_TRUE(first.ParseFromString(
      std::string((*merkle::DecodeEntryBundle(response.content(), 1)).front())));
  EXPECT_EQ(first.key_rotate().verifier_key(), checkpoint.verifier_keys(0));
}

TEST_F(AuditTest, TilesThatAreNotSignedAreNotThere) {
  AppendNotes(299);
  Checkpoint(kLedger, 300);
  AppendNotes(1);
  for (const char* path :
       {"tile/0/001.p/45", "tile/0/001", "tile/0/002.p/1", "tile/1/000.p/2", "tile/2/000.p/1",
        "tile/63/000.p/1", "tile/entries/001.p/45", "tile/entries/x001/000.p/1"}) {
    EXPECT_TRUE(IsError(Tile(kLedger, path), StatusCode::NOT_FOUND, "TILE_NOT_FOUND", "path: "))
        << path;
  }
  for (const char* path : {"", "/", "tile", "tile/0", "tile/0/0", "tile/0/001.p/0", "tile/64/000",
                           "tile/0/001.p/256", "tile/0/x000/001", "../checkpoint", "checkpoint/",
                           "tile/00/000", "tile/0/000/", "tile/-1/000", "tile/entries/000.p/01"}) {
    EXPECT_TRUE(IsFieldError(Tile(kLedger, path), "path", "as C2SP tlog-tiles spells them"))
        << path;
  }
}

TEST_F(AuditTest, SealIsSignedAtOnce) {
  AppendNotes(1);
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  ASSERT_TRUE(IsOk(Call(running_.ledgers(), &v1::LedgerService::Stub::SealLedger, seal)));
  // The cadence of this server is endless, and nobody asked for a signature.
  v1::GetTileResponse response;
  v1::GetCheckpointResponse checkpoint = Checkpoint(kLedger);
  while (Open(checkpoint.note(), checkpoint, kLedger).size != 3) checkpoint = Checkpoint(kLedger);
  v1::LedgerEntry entry;
  ASSERT_TRUE(entry.ParseFromString(checkpoint.registry().entry()));
  EXPECT_EQ(entry.registered().state(), v1::SEALED);
}

TEST_F(AuditTest, ChangedEntryIsNotSignedAndEndsTheService) {
  Checkpoint(kLedger);
  AppendNotes(5);
  running_.store().lies = true;
  v1::GetCheckpointRequest request;
  request.set_log(kLedger);
  request.set_at_least(6);
  const std::string what = "projects/p/ledgers/a: its 6 stored entries hash to the root ";
  EXPECT_TRUE(IsError(Call(running_.audit(), &Audit::GetCheckpoint, request), StatusCode::DATA_LOSS,
                      "DATA_LOSS", what));
  EXPECT_TRUE(IsError(running_.server().CheckHealth(), absl::StatusCode::kDataLoss, "", what));
  EXPECT_EQ(running_.Health(""), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  // What was signed before is still there, and true; a bundle of what is changed is not given.
  const v1::GetCheckpointResponse before = Checkpoint(kLedger);
  EXPECT_EQ(Open(before.note(), before, kLedger).size, 1u);
  EXPECT_TRUE(IsError(Tile(kLedger, "tile/entries/000.p/1"), StatusCode::DATA_LOSS, "DATA_LOSS",
                      "entry 0 is not what was signed"));
}

// Who can write the store's files may exchange entries; what was signed of them does not go with
// it.
TEST_F(AuditTest, ChangedEntryIsNotReadEither) {
  AppendNotes(5);
  v1::GetCheckpointRequest sign;
  sign.set_log(kLedger);
  sign.set_at_least(6);
  ASSERT_TRUE(IsOk(Call(running_.audit(), &Audit::GetCheckpoint, sign)));
  v1::ReadEntriesRequest read;
  read.set_ledger(kLedger);
  ASSERT_TRUE(IsOk(Call(running_.ledgers(), &v1::LedgerService::Stub::ReadEntries, read)));
  running_.store().lies = true;
  EXPECT_TRUE(IsError(Call(running_.ledgers(), &v1::LedgerService::Stub::ReadEntries, read),
                      StatusCode::DATA_LOSS, "DATA_LOSS", "is not what was signed"));
}

TEST(Signing, GoesOnByItselfAtItsCadence) {
  ServerOptions options;
  options.signing.every = absl::Milliseconds(1);
  RunningServer running(options);
  running.Create(kLedger);
  v1::GetCheckpointRequest request;
  v1::GetCheckpointResponse response;
  uint64_t size = 0;
  while (size < 4) {  // before the ledger: the key and an empty map
    ASSERT_TRUE(IsOk(Call(running.audit(), &Audit::GetCheckpoint, request, &response)));
    size = merkle::ParseCheckpoint(merkle::Note::Parse(response.note())->text)->size;
  }
  EXPECT_EQ(size, 4u);
}

// ---- Forks ----

class ForkTest : public AuditTest {
 protected:
  ForkTest() {
    AppendNotes(9);
    request_.set_parent(kLedger);
    request_.set_name("projects/p/ledgers/child");
    request_.set_request_id("fork");
  }
  grpc::Status Fork(v1::Ledger* child = nullptr) {
    return Call(running_.ledgers(), &v1::LedgerService::Stub::ForkLedger, request_, child);
  }
  v1::ForkLedgerRequest request_;
};

TEST_F(ForkTest, CarriesOnFromTheRootOfAnyPrefix) {
  const std::vector<Hash> leaves = Leaves();
  int forks = 0;
  for (const uint64_t size : {1, 5, 10}) {  // signed never before, signed with the first, whole
    request_.set_parent_size(size);
    request_.set_name(absl::StrCat("projects/p/ledgers/child-", size));
    request_.set_request_id(absl::StrCat("fork-", size));
    v1::Ledger child;
    ASSERT_TRUE(IsOk(Fork(&child)));
    EXPECT_EQ(child.fork().parent(), kLedger);
    EXPECT_EQ(child.fork().parent_size(), size);
    EXPECT_EQ(ToHash(child.fork().parent_root()), RootOf(leaves, size));
    EXPECT_EQ(child.declaration().dataset(), "adult");
    EXPECT_EQ(running_.Get(kLedger).size(), 10u + ++forks);  // FORK_NOTICE
  }
}

TEST_F(ForkTest, SizeZeroIsTheWholeParentAndARetryTheSameFork) {
  v1::Ledger child;
  ASSERT_TRUE(IsOk(Fork(&child)));
  EXPECT_EQ(child.fork().parent_size(), 10u);
  EXPECT_EQ(ToHash(child.fork().parent_root()), RootOf(Leaves(), 10));
  AppendNotes(3);
  v1::Ledger again;
  ASSERT_TRUE(IsOk(Fork(&again)));
  EXPECT_EQ(again.fork().parent_size(), 10u);
  EXPECT_EQ(running_.Get(kLedger).size(), 14u);  // one FORK_NOTICE
}

TEST_F(ForkTest, BadForksAreRefused) {
  request_.set_parent_size(11);
  EXPECT_TRUE(IsError(Fork(), StatusCode::OUT_OF_RANGE, "BEYOND_LEDGER",
                      "parent_size: must be at most 10, the size of projects/p/ledgers/a, got 11"));
  request_.set_parent_size(3);
  request_.set_parent("projects/p/ledgers/none");
  EXPECT_TRUE(IsError(Fork(), StatusCode::NOT_FOUND, "LEDGER_NOT_FOUND", "none"));
  request_.set_parent("none");
  EXPECT_TRUE(IsFieldError(Fork(), "parent", "must be projects/"));
  request_.set_parent(kLedger);
  request_.set_name("child");
  EXPECT_TRUE(IsFieldError(Fork(), "name", "must be projects/"));
  request_.set_name("projects/p/ledgers/child");
  request_.mutable_declaration()->set_dataset("adult");
  EXPECT_TRUE(IsFieldError(Fork(), "declaration.unit_of_privacy", ""));
  *request_.mutable_declaration() = CreateRequest(kLedger).declaration();
  request_.mutable_declaration()->set_dataset("mnist");
  EXPECT_TRUE(IsFieldError(Fork(), "declaration.dataset", ""));
  EXPECT_EQ(running_.Get(kLedger).size(), 10u);
  v1::GetLedgerRequest get;
  get.set_name("projects/p/ledgers/child");
  EXPECT_TRUE(IsError(Call(running_.ledgers(), &v1::LedgerService::Stub::GetLedger, get),
                      StatusCode::NOT_FOUND, "LEDGER_NOT_FOUND", "child"));
}

TEST(CreateLedger, ChecksTheDeclarationAndTheNoteOfAnImport) {
  RunningServer running;
  v1::CreateLedgerRequest request = CreateRequest(kLedger);
  v1::Import& import = *request.mutable_import();
  import.set_origin("elsewhere/projects/p/ledgers/a");
  import.set_size(1);
  import.set_root_hash(std::string(32, 'r'));
  merkle::Hash root;
  root.fill('r');
  merkle::Note note;
  note.text = *merkle::CheckpointText({import.origin(), 1, root, {}});
  note.signatures = {*merkle::SignNote(note.text, "elsewhere",
                                       *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'e')))};
  import.set_checkpoint(note.ToText());
  *import.mutable_declaration() = request.declaration();
  request.clear_declaration();
  import.mutable_declaration()->clear_adjacency();
  EXPECT_TRUE(IsFieldError(Call(running.ledgers(), &v1::LedgerService::Stub::CreateLedger, request),
                           "import.declaration.adjacency", ""));
  import.mutable_declaration()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  // Copies without the note of their origin were taken once, and fsck called them damaged for ever.
  const std::function<void(v1::Import&)> changes[] = {
      [](v1::Import& changed) { changed.clear_checkpoint(); },
      [](v1::Import& changed) { changed.set_checkpoint("note"); },
      [](v1::Import& changed) { changed.set_origin("elsewhere/projects/p/ledgers/b"); },
      [](v1::Import& changed) { changed.set_size(2); },
      [](v1::Import& changed) { changed.mutable_root_hash()->back() = 's'; },
  };
  for (const auto& change : changes) {
    v1::CreateLedgerRequest wrong = request;
    change(*wrong.mutable_import());
    EXPECT_TRUE(IsFieldError(Call(running.ledgers(), &v1::LedgerService::Stub::CreateLedger, wrong),
                             "import.checkpoint", "must be a signed note"));
  }
  EXPECT_TRUE(IsOk(Call(running.ledgers(), &v1::LedgerService::Stub::CreateLedger, request)));
}

}  // namespace
}  // namespace dpledger::server
