// A log that a test signs: its tree is written down as RFC 6962 defines it (reference_tree.h), so
// that the witness's arithmetic is not what makes the proofs it is held against.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "merkle/checkpoint.h"
#include "merkle/ed25519.h"
#include "merkle/signed_note.h"
#include "merkle/witness_request.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::witness {

inline merkle::Ed25519PrivateKey KeyOf(char seed) {
  return merkle::Ed25519PrivateKey::FromSeed(std::string(32, seed)).value();
}

class SignedLog {
 public:
  // The leaves from `common` on are others than those of a log with more in common.
  explicit SignedLog(std::string origin, uint64_t common = 1000, char key = 'l')
      : origin_(std::move(origin)), tree_(common), key_(KeyOf(key)) {}

  const std::string& origin() const { return origin_; }
  merkle::VerifierKey key() const {
    return {origin_, merkle::SignatureType::kEd25519, key_.public_key()};
  }
  merkle::Hash Root(uint64_t size) { return tree_.Root(size); }

  std::string Text(uint64_t size, const merkle::Hash& root) const {
    return merkle::CheckpointText({origin_, size, root, {}}).value();
  }
  merkle::Note Sign(const std::string& text) const {
    return {text, {merkle::SignNote(text, origin_, key_).value()}};
  }
  merkle::Note Checkpoint(uint64_t size) { return Sign(Text(size, Root(size))); }

  std::vector<merkle::Hash> Proof(uint64_t old_size, uint64_t size) {
    if (old_size == 0 || old_size == size) return {};
    return tree_.Subproof(old_size, 0, size, true);
  }
  std::string Request(uint64_t old_size, uint64_t size) {
    return merkle::WitnessRequestText({old_size, Proof(old_size, size), Checkpoint(size)});
  }

 private:
  const std::string origin_;
  merkle::ReferenceTree tree_;
  const merkle::Ed25519PrivateKey key_;
};

}  // namespace dpledger::witness
