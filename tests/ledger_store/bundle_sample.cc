#include "tests/ledger_store/bundle_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ledger/request_rules.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/writer.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/prefix_map.h"
#include "merkle/proof.h"
#include "merkle/tlog_proof.h"
#include "registry/head.h"

namespace dpledger::bundle {
namespace {

constexpr int64_t kFirstMinute = 1'700'000'040;

void Declare(v1::LedgerEntry& entry) {
  v1::Declaration& declaration = *entry.mutable_declaration();
  declaration.set_dataset("mnist");
  declaration.set_unit_of_privacy("example");
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
}

void Query(uint64_t round, v1::LedgerEntry& entry) {
  v1::SumQueryEvent& query = *entry.mutable_event()->mutable_sum_query();
  query.set_round(round);
  query.mutable_query()->set_group("weights");
  query.mutable_query()->set_l2_norm_bound(1);
  query.mutable_query()->set_noise_stddev(10);
}

std::string ProofOf(const std::vector<std::string>& entries, uint64_t index,
                    const std::string& checkpoint) {
  const merkle::NodeSource nodes = [&](int level, uint64_t at) -> absl::StatusOr<merkle::Hash> {
    const auto first = entries.begin() + static_cast<ptrdiff_t>(at << level);
    return RootOf({first, first + (ptrdiff_t{1} << level)});
  };
  merkle::TlogProof proof;
  proof.index = index;
  proof.hashes = *merkle::InclusionProof(index, entries.size(), nodes);
  proof.checkpoint = *merkle::Note::Parse(checkpoint);
  return *merkle::TlogProofText(proof);
}

}  // namespace

merkle::Ed25519PrivateKey SampleKey(int number) {
  return *merkle::Ed25519PrivateKey::FromSeed(std::string(32, static_cast<char>(number)));
}

merkle::VerifierKey SampleVerifierKey(int number) {
  return {kSampleRegistry, merkle::SignatureType::kEd25519, SampleKey(number).public_key()};
}

SampleLedger::SampleLedger() : SampleLedger(Declare) {}

SampleLedger::SampleLedger(const Edit& first) { Add("", first); }

SampleLedger& SampleLedger::Add(const std::string& writer, const Edit& edit) {
  v1::LedgerEntry entry;
  entry.set_sequence(entries.size());
  entry.set_writer(writer);
  entry.set_writer_counter(counts_[writer]++);
  entry.set_request_id(absl::StrCat("request-", entries.size()));
  entry.mutable_recorded_time()->set_seconds(kFirstMinute +
                                             60 * static_cast<int64_t>(entries.size() / 10));
  edit(entry);
  return AddBytes(SerializeDeterministically(entry));
}

SampleLedger& SampleLedger::AddBytes(std::string entry) {
  entries.push_back(std::move(entry));
  return *this;
}

SampleLedger& SampleLedger::AddRound(const std::string& writer, uint64_t round) {
  Add(writer, [&](v1::LedgerEntry& entry) {
    v1::SamplingEvent& sampling = *entry.mutable_event()->mutable_sampling();
    sampling.set_round(round);
    sampling.mutable_scheme()->mutable_poisson()->set_probability(0.01);
  });
  return Add(writer, [&](v1::LedgerEntry& entry) { Query(round, entry); });
}

SampleLedger& SampleLedger::AddQueries(const std::string& writer, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    Add(writer, [&](v1::LedgerEntry& entry) { Query(i + 1, entry); });
  }
  return *this;
}

SampleLedger& SampleLedger::Close(const std::string& writer, uint64_t late) {
  const uint64_t count = counts_[writer] - late + 1;
  return Add(writer, [&](v1::LedgerEntry& entry) {
    entry.mutable_writer_closed()->set_entry_count(count);
  });
}

SampleLedger& SampleLedger::Seal(const std::vector<std::string>& missing) {
  v1::Seal seal;
  *seal.mutable_missing_writers() = {missing.begin(), missing.end()};
  return Seal(seal);
}

SampleLedger& SampleLedger::Seal(const v1::Seal& seal) {
  sealed = true;
  return Add("", [&](v1::LedgerEntry& entry) { *entry.mutable_seal() = seal; });
}

merkle::Hash RootOf(const std::vector<std::string>& entries) {
  merkle::CompactTree tree;
  for (const std::string& entry : entries) tree.Append(merkle::LeafHash(entry));
  return tree.Root();
}

std::string SignedCheckpoint(const std::string& origin, uint64_t size, const merkle::Hash& root,
                             int key) {
  merkle::Note note;
  note.text = *merkle::CheckpointText({origin, size, root, {}});
  note.signatures = {*merkle::SignNote(note.text, kSampleRegistry, SampleKey(key))};
  return note.ToText();
}

std::string OlderCheckpoint(const SampleLedger& ledger, uint64_t size, int key) {
  const auto first = ledger.entries.begin();
  return SignedCheckpoint(kSampleOrigin, size,
                          RootOf({first, first + static_cast<ptrdiff_t>(size)}), key);
}

SampleRegistry RegistryOf(const SampleLedger& ledger) {
  SampleRegistry registry;
  registry.registered.set_origin(kSampleOrigin);
  registry.registered.set_size(ledger.entries.size());
  registry.registered.set_root_hash(merkle::ToBytes(RootOf(ledger.entries)));
  registry.registered.set_state(ledger.sealed ? v1::SEALED : v1::OPEN);
  return registry;
}

v1::Registered RegisteredAt(const SampleLedger& ledger, uint64_t size) {
  v1::Registered registered;
  registered.set_origin(kSampleOrigin);
  registered.set_size(size);
  const auto first = ledger.entries.begin();
  registered.set_root_hash(merkle::ToBytes(RootOf({first, first + static_cast<ptrdiff_t>(size)})));
  registered.set_state(v1::OPEN);
  return registered;
}

Evidence EvidenceOf(const SampleRegistry& registry) {
  Evidence evidence;
  // Each key, then another ledger's checkpoint, so that the registry has more than what is asked.
  std::vector<std::string> entries;
  const auto add = [&entries](const std::function<void(v1::LedgerEntry&)>& edit) {
    v1::LedgerEntry entry;
    entry.set_sequence(entries.size());
    entry.mutable_recorded_time()->set_seconds(kFirstMinute);
    edit(entry);
    entries.push_back(SerializeDeterministically(entry));
    return entries.size() - 1;
  };
  std::map<merkle::Hash, merkle::Hash> leaves;
  std::map<std::string, registry::Head> heads;
  const auto register_one = [&](const v1::Registered& registered) {
    const uint64_t index =
        add([&](v1::LedgerEntry& entry) { *entry.mutable_registered() = registered; });
    registry::Point point{index, registered.size(), {}, registered.state()};
    std::copy_n(registered.root_hash().begin(),
                std::min(registered.root_hash().size(), point.root.size()), point.root.begin());
    registry::Head& head = heads[registered.origin()];
    // What breaks the rules of registrations is chained all the same.
    head = {head.points + 1, point,
            merkle::Sha256(
                {std::string_view("\x03", 1), merkle::ToBytes(head.chain), point.ToBytes()})};
    leaves[registry::HeadKey(registered.origin())] = registry::HeadLeaf(registered.origin(), head);
    return point;
  };
  std::vector<uint64_t> key_indexes;
  for (const int key : registry.keys) {
    const std::string text = SampleVerifierKey(key).ToText();
    evidence.keys += text + "\n";
    key_indexes.push_back(
        add([&](v1::LedgerEntry& entry) { entry.mutable_key_rotate()->set_verifier_key(text); }));
    v1::Registered other = registry.registered;
    other.set_origin(absl::StrCat("registry.example/projects/default/ledgers/other-", key));
    register_one(other);
  }
  for (const v1::Registered& earlier : registry.earlier)
    evidence.points += register_one(earlier).ToBytes();
  const registry::Point point = register_one(registry.registered);
  evidence.points += point.ToBytes();
  entries[point.index] += registry.after_registered;
  const auto register_later = [&] {
    for (const v1::Registered& later : registry.later) register_one(later);
  };
  if (!registry.map_before_later) register_later();
  const merkle::PrefixMap map = merkle::PrefixMap().With(leaves);
  const uint64_t map_index = add([&](v1::LedgerEntry& entry) {
    entry.mutable_map_root()->set_ledgers(map.size());
    entry.mutable_map_root()->set_root_hash(merkle::ToBytes(map.Root()));
  });
  if (registry.map_before_later) register_later();

  const int signer = registry.keys.back();
  evidence.registry_checkpoint =
      SignedCheckpoint(kSampleRegistry, entries.size(), RootOf(entries), signer);
  for (const uint64_t index : key_indexes) {
    evidence.key_entries.push_back(
        {entries[index], ProofOf(entries, index, evidence.registry_checkpoint)});
  }
  evidence.registered = entries[point.index];
  evidence.registered_proof = ProofOf(entries, point.index, evidence.registry_checkpoint);
  if (registry.with_map) {
    evidence.map_entry = entries[map_index];
    evidence.map_proof = ProofOf(entries, map_index, evidence.registry_checkpoint);
    evidence.map_path = map.Prove(registry::HeadKey(registry.registered.origin()))->ToBytes();
  }
  evidence.checkpoint =
      SignedCheckpoint(registry.checkpoint_origin, registry.registered.size(), point.root, signer);
  return evidence;
}

absl::StatusOr<size_t> StringSource::Read(char* into, size_t max_bytes) {
  const size_t n = std::min(max_bytes, rest_.size());
  std::memcpy(into, rest_.data(), n);
  rest_.remove_prefix(n);
  return n;
}

std::vector<SampleMember> MembersOf(const std::string& bundle) {
  std::vector<SampleMember> members;
  StringSource source(bundle);
  UstarReader reader(&source);
  while (const auto member = *reader.Next()) {
    members.push_back({member->name, *reader.Content()});
  }
  return members;
}

std::string TarOf(const std::vector<SampleMember>& members) {
  std::string tar;
  for (const SampleMember& member : members) {
    const auto header = UstarHeader(member.name, member.content.size());
    tar.append(header.data(), header.size());
    tar += member.content;
    tar.append(PaddingOf(member.content.size()), '\0');
  }
  return tar.append(2 * kBlockBytes, '\0');
}

std::string SampleBundle(const SampleLedger& ledger, const Evidence& evidence,
                         const std::string& events) {
  StringSink sink;
  absl::StatusOr<BundleWriter> writer = BundleWriter::Begin(&sink, evidence);
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const std::string& entry : ledger.entries) EXPECT_TRUE(writer->Add(entry).ok());
  const absl::Status finished = writer->FinishTree();
  EXPECT_TRUE(finished.ok()) << finished;
  if (!events.empty()) {
    StringSource source(events);
    EXPECT_TRUE(writer->AddEvents(source, events.size()).ok());
  }
  EXPECT_TRUE(writer->Finish().ok());
  return std::move(sink.bytes);
}

std::string SampleBundle(const SampleLedger& ledger) {
  return SampleBundle(ledger, EvidenceOf(RegistryOf(ledger)));
}

}  // namespace dpledger::bundle
