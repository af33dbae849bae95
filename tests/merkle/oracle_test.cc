// Notes and proofs that another implementation wrote: tests/oracle/merkle_oracle.py.
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tile_tree.h"
#include "merkle/tlog_proof.h"
#include "tests/merkle/reference_tree.h"
#include "tests/support/json_file.h"

namespace dpledger::merkle {
namespace {

using testing::ListAt;
using testing::NumberAt;
using testing::StringAt;

google::protobuf::Struct Oracle() { return testing::ReadJsonFile("tests/data/merkle_oracle.json"); }

TEST(Oracle, SignsTheSameNotes) {
  const google::protobuf::Struct oracle = Oracle();
  const testing::JsonList& notes = ListAt(oracle, "notes");
  ASSERT_EQ(notes.size(), 5);
  for (const auto& value : notes) {
    const google::protobuf::Struct& one = value.struct_value();
    const auto text_at = [&one](const char* key, int index) {
      return ListAt(one, key)[index].string_value();
    };
    std::vector<Ed25519PrivateKey> keys;
    std::vector<VerifierKey> known;
    for (int i = 0; i < 2; ++i) {
      keys.push_back(Ed25519PrivateKey::FromPem(text_at("pems", i)).value());
      EXPECT_EQ(keys[i].ToPem(), text_at("pems", i));
      EXPECT_EQ(Ed25519PrivateKey::FromSeed(HexDecode(text_at("seeds", i)).value())->public_key(),
                keys[i].public_key());
      known.push_back(VerifierKey::Parse(text_at("vkeys", i)).value());
      EXPECT_EQ(known[i].public_key, keys[i].public_key());
      EXPECT_EQ(known[i].name, text_at("names", i));
      EXPECT_EQ(known[i].ToText(), text_at("vkeys", i));
    }
    uint64_t unix_seconds = 0;
    ASSERT_TRUE(absl::SimpleAtoi(StringAt(one, "time"), &unix_seconds));
    const std::string text = StringAt(one, "text");
    const Note note{text,
                    {SignNote(text, known[0].name, keys[0]).value(),
                     CosignNote(text, known[1].name, unix_seconds, keys[1]).value()}};
    EXPECT_EQ(note.ToText(), StringAt(one, "note"));
    EXPECT_EQ(VerifyNote(Note::Parse(StringAt(one, "note")).value(), known).value(),
              (std::vector<VerifiedSignature>{{0, std::nullopt}, {1, unix_seconds}}));
  }
}

TEST(Oracle, ProvesTheSameEntries) {
  const google::protobuf::Struct oracle = Oracle();
  const testing::JsonList& proofs = ListAt(oracle, "proofs");
  ASSERT_EQ(proofs.size(), 11);
  for (const auto& value : proofs) {
    const google::protobuf::Struct& one = value.struct_value();
    const auto size = static_cast<uint64_t>(NumberAt(one, "size"));
    const auto index = static_cast<uint64_t>(NumberAt(one, "index"));
    const std::vector<VerifierKey> log = {VerifierKey::Parse(StringAt(one, "log_key")).value()};
    const std::vector<VerifierKey> witness = {
        VerifierKey::Parse(StringAt(one, "witness_key")).value()};
    const TlogProof proof = ParseTlogProof(StringAt(one, "proof")).value();
    EXPECT_EQ(TlogProofText(proof).value(), StringAt(one, "proof"));
    EXPECT_EQ(HexEncode(proof.extra), StringAt(one, "extra"));
    EXPECT_EQ(proof.index, index);

    const Hash leaf = LeafHash(absl::StrCat("entry ", index));
    const auto checkpoint = VerifyTlogProof(proof, leaf, log[0].name, log);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ(checkpoint->size, size);
    EXPECT_EQ(VerifyNote(proof.checkpoint, witness).value(),
              (std::vector<VerifiedSignature>{{0, 1679315147 + size}}));
    EXPECT_EQ(VerifyTlogProof(proof, LeafHash("another"), log[0].name, log).status().code(),
              absl::StatusCode::kDataLoss);

    TileBuilder builder;
    for (uint64_t i = 0; i < size; ++i) builder.Append(LeafHash(absl::StrCat("entry ", i)));
    EXPECT_EQ(builder.Root(), checkpoint->root);
    TilesInMemory tiles;
    tiles.Store(builder.TakeChanged());
    EXPECT_EQ(InclusionProof(index, size, NodesOf(tiles, size)).value(), proof.hashes);
  }
}

}  // namespace
}  // namespace dpledger::merkle
