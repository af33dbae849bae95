// How fast a bundle of 10^6 events is verified offline, and how long it takes with ε recomputed.
//
//   verify_benchmark [--seconds S]
//
// The limit: reading the same file and hashing its bytes with SHA-256, in the same run. The file is
// in the page cache for both; they take turns, and medians are printed as one JSON object.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "cli/bundle_check.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/writer.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/prefix_map.h"
#include "merkle/tlog_proof.h"
#include "registry/head.h"

namespace dpledger {
namespace {

constexpr int64_t kRecordedSeconds = 1'700'000'040;  // a whole minute
constexpr uint64_t kEvents = 1'000'000;
constexpr char kRegistry[] = "registry.example";
constexpr char kOrigin[] = "registry.example/projects/bench/ledgers/million";
constexpr double kDelta = 1e-6;

// A declaration, and rounds of one writer: a sampling event and a sum query each.
std::string EntryAt(uint64_t sequence) {
  v1::LedgerEntry entry;
  entry.set_sequence(sequence);
  entry.mutable_recorded_time()->set_seconds(kRecordedSeconds);
  if (sequence == 0) {
    *entry.mutable_declaration() = bench::Declared();
    return entry.SerializeAsString();
  }
  entry.set_writer("trainer");
  entry.set_writer_counter(sequence - 1);
  entry.set_request_id(absl::StrFormat("01234567-89ab-cdef-0123-%012x", sequence / 100));
  entry.mutable_claimed_time()->set_seconds(1'700'000'040);
  const uint64_t round = (sequence + 1) / 2;
  if (sequence % 2 == 1) {
    v1::SamplingEvent& sampling = *entry.mutable_event()->mutable_sampling();
    sampling.set_round(round);
    sampling.mutable_scheme()->mutable_poisson()->set_probability(1e-4);
  } else {
    v1::SumQueryEvent& sum = *entry.mutable_event()->mutable_sum_query();
    sum.set_round(round);
    sum.mutable_query()->set_group("weights");
    sum.mutable_query()->set_l2_norm_bound(1);
    sum.mutable_query()->set_noise_stddev(1.1);
  }
  return entry.SerializeAsString();
}

std::string Sign(const std::string& origin, uint64_t size, const merkle::Hash& root,
                 const merkle::Ed25519PrivateKey& key) {
  merkle::Note note;
  note.text = *merkle::CheckpointText({origin, size, root, {}});
  note.signatures = {*merkle::SignNote(note.text, kRegistry, key)};
  return note.ToText();
}

// A registry of two entries: the key, and the ledger.
bundle::Evidence EvidenceOf(const merkle::Hash& root) {
  const auto key = *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k'));
  const merkle::VerifierKey verifier{kRegistry, merkle::SignatureType::kEd25519, key.public_key()};
  v1::LedgerEntry rotate;
  rotate.mutable_recorded_time()->set_seconds(kRecordedSeconds);
  rotate.mutable_key_rotate()->set_verifier_key(verifier.ToText());
  v1::LedgerEntry registered;
  registered.set_sequence(1);
  registered.mutable_recorded_time()->set_seconds(kRecordedSeconds);
  registered.mutable_registered()->set_origin(kOrigin);
  registered.mutable_registered()->set_size(kEvents + 1);
  registered.mutable_registered()->set_root_hash(merkle::ToBytes(root));
  registered.mutable_registered()->set_state(v1::OPEN);
  const registry::Head head = *registry::Head().After({1, kEvents + 1, root, v1::OPEN});
  const merkle::Hash map_key = registry::HeadKey(kOrigin);
  const merkle::PrefixMap map =
      merkle::PrefixMap().With({{map_key, registry::HeadLeaf(kOrigin, head)}});
  v1::LedgerEntry map_root;
  map_root.set_sequence(2);
  map_root.mutable_recorded_time()->set_seconds(kRecordedSeconds);
  map_root.mutable_map_root()->set_ledgers(1);
  map_root.mutable_map_root()->set_root_hash(merkle::ToBytes(map.Root()));
  bundle::Evidence evidence;
  evidence.keys = verifier.ToText() + "\n";
  evidence.key_entries.push_back({rotate.SerializeAsString(), ""});
  evidence.registered = registered.SerializeAsString();
  evidence.map_entry = map_root.SerializeAsString();
  evidence.map_path = map.Prove(map_key)->ToBytes();
  evidence.points = head.last.ToBytes();
  const merkle::Hash leaves[] = {merkle::LeafHash(evidence.key_entries[0].entry),
                                 merkle::LeafHash(evidence.registered),
                                 merkle::LeafHash(evidence.map_entry)};
  const merkle::Hash first_two = merkle::NodeHash(leaves[0], leaves[1]);
  evidence.registry_checkpoint = Sign(kRegistry, 3, merkle::NodeHash(first_two, leaves[2]), key);
  evidence.checkpoint = Sign(kOrigin, kEvents + 1, root, key);
  const auto prove = [&](uint64_t index, std::vector<merkle::Hash> hashes) {
    merkle::TlogProof proof;
    proof.index = index;
    proof.hashes = std::move(hashes);
    proof.checkpoint = *merkle::Note::Parse(evidence.registry_checkpoint);
    return *merkle::TlogProofText(proof);
  };
  evidence.key_entries[0].proof = prove(0, {leaves[1], leaves[2]});
  evidence.registered_proof = prove(1, {leaves[0], leaves[2]});
  evidence.map_proof = prove(2, {first_two});
  return evidence;
}

void WriteBundle(const std::string& path) {
  merkle::CompactTree tree;
  for (uint64_t i = 0; i <= kEvents; ++i) tree.Append(merkle::LeafHash(EntryAt(i)));
  auto file = bench::Must(bundle::NewFile::Make(path));
  auto writer = bench::Must(bundle::BundleWriter::Begin(&file, EvidenceOf(tree.Root())));
  for (uint64_t i = 0; i <= kEvents; ++i) bench::Check(writer.Add(EntryAt(i)));
  bench::Check(writer.FinishTree());
  bench::Check(writer.Finish());
  bench::Check(file.Commit());
}

bundle::FileSource Open(const std::string& path) {
  return bench::Must(bundle::FileSource::Open(path));
}

void Verify(const std::string& path) {
  bundle::FileSource file = Open(path);
  bundle::Verifier verifier({});
  bench::Check(bundle::VerifyBundle(file, verifier));
}

void Audit(const std::string& path) {
  const auto lineage = bench::Must(cli::VerifyFiles({path}, {}));
  bench::Check(cli::RecomputeEpsilon(lineage, kDelta).status());
}

void ReadAndHash(const std::string& path) {
  bundle::FileSource file = Open(path);
  std::string buffer(size_t{1} << 20, '\0');
  while (true) {
    const auto n = bench::Must(file.Read(buffer.data(), buffer.size()));
    if (n == 0) return;
    merkle::Sha256({std::string_view(buffer).substr(0, n)});
  }
}

double SecondsOf(const std::function<void()>& work) {
  const absl::Time start = absl::Now();
  work();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  const std::string path = folder.path() + "/million.bundle";
  WriteBundle(path);
  std::vector<double> verify;
  std::vector<double> audit;
  std::vector<double> limit;
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  do {
    limit.push_back(SecondsOf([&] { ReadAndHash(path); }));
    verify.push_back(SecondsOf([&] { Verify(path); }));
    audit.push_back(SecondsOf([&] { Audit(path); }));
  } while (verify.size() < 3 && absl::Now() < end);
  bench::Report report("store/");
  report.Add("verify_events_per_s", kEvents / bench::Median(verify), "1/s",
             kEvents / bench::Median(limit));
  report.Add("audit_million_events_s", bench::Median(audit), "s");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
