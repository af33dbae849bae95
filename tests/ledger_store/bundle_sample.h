// Ledgers and registries made up for tests, entry by entry, with fixed keys; and the bundles of
// them. What is wrong with one is what a test makes wrong: nothing here checks anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/bundle/evidence.h"
#include "ledger_store/bundle/ustar.h"
#include "merkle/ed25519.h"
#include "merkle/signed_note.h"

namespace dpledger::bundle {

inline constexpr char kSampleRegistry[] = "registry.example";
inline constexpr char kSampleOrigin[] = "registry.example/projects/default/ledgers/sample";

// The same key for the same number, and its verifier key.
merkle::Ed25519PrivateKey SampleKey(int number);
merkle::VerifierKey SampleVerifierKey(int number);

class SampleLedger {
 public:
  using Edit = std::function<void(v1::LedgerEntry&)>;

  // With a declaration at 0, unless it is to begin with what `first` makes.
  SampleLedger();
  explicit SampleLedger(const Edit& first);

  // Appends an entry of this writer: its frame is as it must be until `edit` changes it.
  SampleLedger& Add(const std::string& writer, const Edit& edit);
  SampleLedger& AddBytes(std::string entry);
  // One round: a sampling event and its sum query.
  SampleLedger& AddRound(const std::string& writer, uint64_t round);
  // `count` entries of one writer: sum queries of rounds from 1.
  SampleLedger& AddQueries(const std::string& writer, uint64_t count);
  // `late` of the writer's entries are conflicts and late ones.
  SampleLedger& Close(const std::string& writer, uint64_t late = 0);
  SampleLedger& Seal(const std::vector<std::string>& missing = {});
  SampleLedger& Seal(const v1::Seal& seal);

  std::vector<std::string> entries;
  bool sealed = false;

 private:
  std::map<std::string, uint64_t> counts_;
};

merkle::Hash RootOf(const std::vector<std::string>& entries);

// A signed note of a checkpoint.
std::string SignedCheckpoint(const std::string& origin, uint64_t size, const merkle::Hash& root,
                             int key);
// Of the ledger's first `size` entries.
std::string OlderCheckpoint(const SampleLedger& ledger, uint64_t size, int key = 1);

struct SampleRegistry {
  std::vector<int> keys = {1};          // that have signed; the last one signs
  v1::Registered registered;            // as the ledger has it, unless changed
  std::vector<v1::Registered> earlier;  // the same ledger's, before that
  std::vector<v1::Registered> later;    // and after that: the map knows them, points has not
  bool with_map = true;
  bool map_before_later = false;
  std::string checkpoint_origin = kSampleOrigin;
  std::string after_registered;  // bytes behind the ledger's entry
};
// As the ledger is.
SampleRegistry RegistryOf(const SampleLedger& ledger);
// The same at an earlier size of the ledger.
v1::Registered RegisteredAt(const SampleLedger& ledger, uint64_t size);
Evidence EvidenceOf(const SampleRegistry& registry);

class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : rest_(bytes) {}
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override;

 private:
  std::string_view rest_;
};
class StringSink : public ByteSink {
 public:
  absl::Status Write(std::string_view more) override {
    bytes += more;
    return absl::OkStatus();
  }
  std::string bytes;
};

// The members of a bundle, for tests that change them, and the tar file of any members.
struct SampleMember {
  std::string name;
  std::string content;
};
std::vector<SampleMember> MembersOf(const std::string& bundle);
std::string TarOf(const std::vector<SampleMember>& members);

// A whole bundle, by BundleWriter; with events.jsonl if `events` is not empty.
std::string SampleBundle(const SampleLedger& ledger, const Evidence& evidence,
                         const std::string& events = "");
std::string SampleBundle(const SampleLedger& ledger);

}  // namespace dpledger::bundle
