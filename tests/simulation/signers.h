// Two notaries that sign one store, each in a server of its own, and the witness that cosigns. Who
// acts between two calls of a notary is whoever runs the simulation's to say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/model.h"
#include "tests/simulation/shared_store.h"
#include "tests/simulation/trace.h"

namespace dpledger::simulation {

// Of the log that they sign.
merkle::VerifierKey RegistryKey();

class Signers {
 public:
  // All arguments must outlive this.
  Signers(Chance& chance, Trace& trace, Model& model, SimulatedClock& clock)
      : chance_(chance), trace_(trace), model_(model), clock_(clock) {}

  // The two take the same name: then the registry's size alone keeps them apart.
  void TakeTheSameName() { same_holder_ = true; }
  void ExpectDamage() { damaged_ = true; }

  // The server that signs has a new life, or none (null).
  void Connect(size_t signer, LedgerStore* store);
  // Makes the notary, if there is none: most lives are short, and it verifies many signatures.
  absl::Status Open(size_t signer);
  // A round of it, and a look of the witness. Nothing if it is not open.
  void Sign(size_t signer);
  bool is_signing() const { return signing_; }
  size_t signer() const { return signer_; }

  NotaryOptions OptionsOf(size_t signer, const std::string& second_place);

 private:
  // The witness that signs: it compares by proofs, where the model compares by entries.
  std::vector<merkle::NoteSignature> Cosign(const std::string& text, uint64_t size,
                                            const ConsistencyProver& prove);

  Chance& chance_;
  Trace& trace_;
  Model& model_;
  SimulatedClock& clock_;
  bool same_holder_ = false;
  bool damaged_ = false;
  bool signing_ = false;
  size_t signer_ = 0;
  merkle::Checkpoint cosigned_;
  std::map<uint64_t, merkle::Hash> shown_;  // to the witness that cosigns, by size
  LedgerStore* stores_[2] = {};
  std::unique_ptr<Notary> notaries_[2];
};

}  // namespace dpledger::simulation
