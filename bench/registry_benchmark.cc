// How fast the registry's map of heads moves on, and how fast somebody who watches a registry
// catches up with it.
//
//   registry_benchmark [--seconds S], which changes nothing: it takes about ten seconds
//
// The registry has 10^6 registrations of 10^5 ledgers and is held in memory; the limit of following
// it is hashing its entries with SHA-256, in the same run. Prints one JSON object.
#include <sys/resource.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench/program.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/ed25519.h"
#include "merkle/tile.h"
#include "registry/follower.h"

namespace dpledger::registry {
namespace {

constexpr char kOrigin[] = "registry.example";
constexpr uint64_t kLedgers = 100'000;
constexpr uint64_t kRegistrations = 1'000'000;
constexpr uint64_t kChanged = 10'000;

std::string OriginOf(uint64_t ledger) {
  return absl::StrCat(kOrigin, "/projects/default/ledgers/l-", ledger);
}

class Entries : public RegistrySource {
 public:
  Entries() : key_(*merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k'))) {
    v1::LedgerEntry key = Next();
    key.mutable_key_rotate()->set_verifier_key(verifier_key().ToText());
    Add(key);
    for (uint64_t i = 0; i < kRegistrations; ++i) Register(i % kLedgers, i / kLedgers + 1);
    Publish();
  }

  merkle::VerifierKey verifier_key() const {
    return {kOrigin, merkle::SignatureType::kEd25519, key_.public_key()};
  }
  void Register(uint64_t ledger, uint64_t size) {
    v1::LedgerEntry entry = Next();
    v1::Registered& registered = *entry.mutable_registered();
    registered.set_origin(OriginOf(ledger));
    registered.set_size(size);
    registered.set_root_hash(std::string(32, 'r'));
    registered.set_state(v1::OPEN);
    Add(entry);
  }
  void Publish() {
    v1::LedgerEntry entry = Next();
    entry.mutable_map_root()->set_ledgers(log_.map().size());
    entry.mutable_map_root()->set_root_hash(merkle::ToBytes(log_.map().Root()));
    Add(entry);
  }
  merkle::Note Checkpoint() const {
    merkle::Note note;
    note.text = *merkle::CheckpointText({kOrigin, entries_.size(), tree_.Root(), {}});
    note.signatures = {*merkle::SignNote(note.text, kOrigin, key_)};
    return note;
  }
  const std::vector<std::string>& entries() const { return entries_; }
  RegistryLog& log() { return log_; }

  absl::StatusOr<std::string> Read(const std::string& path) override {
    ASSIGN_OR_RETURN(const merkle::ParsedTilePath tile, merkle::ParseTilePath(path));
    const size_t first = tile.tile.id.index * merkle::kTileWidth;
    return merkle::EncodeEntryBundle(
        {entries_.data() + first, static_cast<size_t>(tile.tile.width)});
  }
  absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string&, uint64_t,
                                                        uint64_t) override {
    return absl::UnimplementedError("not measured");
  }

 private:
  v1::LedgerEntry Next() const {
    v1::LedgerEntry entry;
    entry.set_sequence(entries_.size());
    entry.mutable_recorded_time()->set_seconds(1'700'000'040);
    return entry;
  }
  void Add(const v1::LedgerEntry& entry) {
    entries_.push_back(entry.SerializeAsString());
    bench::Check(log_.Take(entries_.back()));
    tree_.Append(merkle::LeafHash(entries_.back()));
  }

  const merkle::Ed25519PrivateKey key_;
  std::vector<std::string> entries_;
  RegistryLog log_{kOrigin};
  merkle::CompactTree tree_;
};

int64_t ResidentKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int Run(int argc, char** argv) {
  bench::Seconds(argc, argv);  // it takes as long as it takes
  Entries registry;
  std::vector<double> rounds;
  for (uint64_t round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < kChanged; ++i)
      registry.Register((i * 37 + round) % kLedgers, kRegistrations + round);
    rounds.push_back(bench::SecondsOf([&] { registry.log().map(); }));
    registry.Publish();
  }
  size_t path_bytes = 0;
  const double prove = bench::SecondsOf([&] {
    for (uint64_t i = 0; i < 1000; ++i)
      path_bytes += registry.log().map().Prove(HeadKey(OriginOf(i)))->ToBytes().size();
  });

  const bench::ScratchFolder folder;
  const int64_t before = ResidentKilobytes();
  auto follower =
      bench::Must(Follower::Open({folder.path() + "/state", {registry.verifier_key()}, false}));
  const double followed = bench::SecondsOf(
      [&] { bench::Check(follower->Advance(registry.Checkpoint(), registry).status()); });
  const int64_t grown = ResidentKilobytes() - before;
  merkle::CompactTree tree;
  const double hashed = bench::SecondsOf([&] {
    for (const std::string& entry : registry.entries()) tree.Append(merkle::LeafHash(entry));
  });
  bench::Report report("registry/");
  report.Add("map_10k_of_100k_heads_ms", 1e3 * bench::Median(rounds), "ms");
  report.Add("map_path_us", 1e3 * prove, "us");
  report.Add("map_path_bytes", static_cast<double>(path_bytes) / 1000, "B");
  report.Add("follow_1m_entries_s", followed, "s", hashed);
  report.Add("follower_memory_mb", static_cast<double>(grown) / 1024, "MB");
  return 0;
}

}  // namespace
}  // namespace dpledger::registry

int main(int argc, char** argv) { return dpledger::registry::Run(argc, argv); }
