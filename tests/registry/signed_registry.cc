#include "tests/registry/signed_registry.h"

#include "absl/strings/str_cat.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/prefix_map.h"
#include "merkle/tile.h"
#include "merkle/tile_tree.h"
#include "registry/head.h"

namespace dpledger::registry {
namespace {

constexpr int64_t kMinute = 1'700'000'040;

}  // namespace

merkle::Ed25519PrivateKey TestKey(int number) {
  return *merkle::Ed25519PrivateKey::FromSeed(std::string(32, static_cast<char>(number)));
}

merkle::VerifierKey TestVerifierKey(int number) {
  return {kTestOrigin, merkle::SignatureType::kEd25519, TestKey(number).public_key()};
}

SignedRegistry& SignedRegistry::Add(const Edit& edit) {
  v1::LedgerEntry entry;
  entry.set_sequence(entries_.size());
  entry.mutable_recorded_time()->set_seconds(kMinute);
  edit(entry);
  entries_.push_back(entry.SerializeAsString());
  return *this;
}

SignedRegistry& SignedRegistry::Key(int number) {
  key_ = number;
  return Add([&](v1::LedgerEntry& entry) {
    entry.mutable_key_rotate()->set_verifier_key(TestVerifierKey(number).ToText());
  });
}

SignedRegistry& SignedRegistry::Register(const std::string& ledger, uint64_t size,
                                         v1::LedgerState state, char root) {
  Point point{entries_.size(), size, {}, state};
  point.root.fill(static_cast<uint8_t>(root));
  Chain& head = heads_[absl::StrCat(kTestOrigin, "/", ledger)];
  head.last = point.ToBytes();
  head.chain = merkle::Sha256({"\x03", merkle::ToBytes(head.chain), head.last});
  ++head.points;
  return Add([&](v1::LedgerEntry& entry) {
    v1::Registered& registered = *entry.mutable_registered();
    registered.set_origin(absl::StrCat(kTestOrigin, "/", ledger));
    registered.set_size(size);
    registered.set_root_hash(merkle::ToBytes(point.root));
    registered.set_state(state);
  });
}

SignedRegistry& SignedRegistry::MapRoot() {
  std::map<merkle::Hash, merkle::Hash> leaves;
  for (const auto& [origin, head] : heads_) {
    std::string value(6, '\0');
    value += {static_cast<char>(head.points >> 8), static_cast<char>(head.points)};
    leaves[HeadKey(origin)] =
        merkle::MapLeafHash(HeadKey(origin), value + head.last + merkle::ToBytes(head.chain));
  }
  const merkle::PrefixMap map = merkle::PrefixMap().With(leaves);
  return Add([&](v1::LedgerEntry& entry) {
    entry.mutable_map_root()->set_ledgers(map.size());
    entry.mutable_map_root()->set_root_hash(merkle::ToBytes(map.Root()));
  });
}

merkle::Note SignedRegistry::Checkpoint(uint64_t size, int key) const {
  merkle::CompactTree tree;
  for (uint64_t i = 0; i < size; ++i) tree.Append(merkle::LeafHash(entries_[i]));
  merkle::Note note;
  note.text = *merkle::CheckpointText({kTestOrigin, size, tree.Root(), {}});
  note.signatures = {*merkle::SignNote(note.text, kTestOrigin, TestKey(key))};
  return note;
}

std::map<std::string, std::string> SignedRegistry::Files() const {
  std::map<std::string, std::string> files = {{"checkpoint", Checkpoint().ToText()}};
  merkle::TileBuilder tree;
  for (const std::string& entry : entries_) tree.Append(merkle::LeafHash(entry));
  for (const auto& [id, hashes] : tree.TakeChanged())
    files[merkle::TilePath(id.level, id.index, static_cast<int>(hashes.size() / 32))] = hashes;
  for (size_t first = 0; first < entries_.size(); first += merkle::kTileWidth) {
    const size_t end = std::min(entries_.size(), first + merkle::kTileWidth);
    const std::vector<std::string> bundle(entries_.begin() + static_cast<ptrdiff_t>(first),
                                          entries_.begin() + static_cast<ptrdiff_t>(end));
    files[merkle::EntriesPath(first / merkle::kTileWidth, static_cast<int>(end - first))] =
        *merkle::EncodeEntryBundle(bundle);
  }
  return files;
}

absl::StatusOr<std::string> MapSource::Read(const std::string& path) {
  ++reads;
  const auto file = files.find(path);
  if (file == files.end()) return absl::NotFoundError(path);
  return file->second;
}

absl::StatusOr<std::vector<merkle::Hash>> MapSource::ProveGrowth(const std::string& ledger,
                                                                 uint64_t old_size,
                                                                 uint64_t new_size) {
  if (!prove_growth) return absl::UnimplementedError("not in this test");
  return prove_growth(ledger, old_size, new_size);
}

}  // namespace dpledger::registry
