// Registries made up for tests, entry by entry, signed whatever they say. What is wrong with one is
// what a test makes wrong: nothing here checks anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "merkle/ed25519.h"
#include "merkle/signed_note.h"
#include "registry/registry_source.h"

namespace dpledger::registry {

inline constexpr char kTestOrigin[] = "registry.example";

merkle::Ed25519PrivateKey TestKey(int number);
merkle::VerifierKey TestVerifierKey(int number);

class SignedRegistry {
 public:
  using Edit = std::function<void(v1::LedgerEntry&)>;

  // Appends an entry: sequence and time are as they must be until `edit` changes them.
  SignedRegistry& Add(const Edit& edit);
  SignedRegistry& Key(int number);  // from now on it signs
  SignedRegistry& Register(const std::string& ledger, uint64_t size,
                           v1::LedgerState state = v1::OPEN, char root = 'r');
  // The map of heads so far, chained whether they obey the rules or not.
  SignedRegistry& MapRoot();

  uint64_t size() const { return entries_.size(); }
  // The note of the first `size` entries; of all of them without a size.
  merkle::Note Checkpoint(uint64_t size, int key) const;
  merkle::Note Checkpoint() const { return Checkpoint(size(), key_); }
  // The files of the registry at its present size, by C2SP tlog-tiles path.
  std::map<std::string, std::string> Files() const;

 private:
  struct Chain {
    uint64_t points = 0;
    std::string last;
    merkle::Hash chain = {};
  };

  std::vector<std::string> entries_;
  std::map<std::string, Chain> heads_;
  int key_ = 1;
};

// A source of such files, which a test may change.
class MapSource : public RegistrySource {
 public:
  MapSource() = default;
  explicit MapSource(const SignedRegistry& registry) : files(registry.Files()) {}
  absl::StatusOr<std::string> Read(const std::string& path) override;
  absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string& ledger,
                                                        uint64_t old_size,
                                                        uint64_t new_size) override;

  std::map<std::string, std::string> files;
  std::function<absl::StatusOr<std::vector<merkle::Hash>>(const std::string&, uint64_t, uint64_t)>
      prove_growth;
  int reads = 0;
};

}  // namespace dpledger::registry
