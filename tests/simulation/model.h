// What the clients and a witness know, kept outside of the simulated machines: every receipt that
// was acknowledged, and every checkpoint of the registry that was seen. It compares the store with
// that, from the bytes of the entries alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/store.h"
#include "merkle/compact_tree.h"
#include "merkle/signed_note.h"
#include "registry/registry_log.h"

namespace dpledger::simulation {

// The caller who brings this writer's entries; of "", who makes, forks and seals ledgers.
std::string CallerOf(const std::string& writer);

// Every method that returns a status returns INTERNAL, saying what is wrong, if a promise of
// docs/reliability.md is broken.
class Model {
 public:
  explicit Model(merkle::VerifierKey key) : key_(std::move(key)), witnessed_(key_.name) {}

  // A request that a client has made, with how many entries; sent or not yet.
  void Asked(const std::string& ledger, const std::string& request_id, uint64_t entries) {
    asked_[ledger][request_id] = entries;
  }
  // The same request always has the same receipt, and no other has its place.
  absl::Status Acknowledged(const std::string& ledger, const std::string& request_id,
                            const v1::Receipt& receipt);
  // It was refused for good: it must not be found in the ledger.
  absl::Status Refused(const std::string& ledger, const std::string& request_id);
  void Created(const std::string& ledger) { created_.insert(ledger); }

  bool WasAcknowledged(const std::string& ledger, const std::string& request_id) const;
  // Of the ledger, in the order of their places.
  const std::map<uint64_t, v1::Receipt>& ReceiptsOf(const std::string& ledger) {
    return receipts_[ledger];
  }

  // Reads every ledger whole. With `damaged`, DATA_LOSS is an answer, and wrong contents are not.
  absl::Status CheckLedgers(LedgerReader& store, bool damaged);
  // A witness looks at the published registry, and reads its new entries.
  absl::Status Witness(CheckpointReader& checkpoints);
  // The registry that was witnessed names only prefixes of ledgers that were acknowledged or read.
  absl::Status CheckRegistered() const;
  // How many entries the witness has seen.
  uint64_t witnessed() const { return witnessed_.size(); }
  const std::string& note() const { return note_; }

 private:
  absl::Status CheckLedger(const std::string& name, LedgerReader& store, bool damaged);
  // A root that the ledger was said to have at this size; two must not differ.
  absl::Status SayRoot(const std::string& ledger, uint64_t size, const std::string& root);

  const merkle::VerifierKey key_;
  std::set<std::string> created_;
  std::map<std::string, std::map<std::string, uint64_t>> asked_;
  std::map<std::string, std::set<std::string>> refused_;
  std::map<std::string, std::map<std::string, v1::Receipt>> acknowledged_;
  std::map<std::string, std::map<uint64_t, v1::Receipt>> receipts_;  // by first sequence
  std::map<std::string, std::map<uint64_t, std::string>> roots_;     // by size

  registry::RegistryLog witnessed_;
  merkle::CompactTree tree_;
  std::vector<std::string> entries_;
  std::map<std::string, std::map<uint64_t, std::string>> registered_;
  std::string note_;
};

}  // namespace dpledger::simulation
