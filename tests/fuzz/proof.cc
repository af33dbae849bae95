// Proofs (C2SP tlog-proof) and requests to witnesses: each has one spelling.
#include "merkle/proof.h"

#include "merkle/tlog_proof.h"
#include "merkle/witness_request.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = Text(data, size);
  if (const auto proof = merkle::ParseTlogProof(input); proof.ok()) {
    FUZZ_CHECK(*merkle::TlogProofText(*proof) == input);
    const auto checkpoint = merkle::ParseCheckpoint(proof->checkpoint.text);
    FUZZ_CHECK(checkpoint.ok());
    (void)merkle::VerifyTlogProof(*proof, merkle::Hash(), checkpoint->origin, {});
    (void)merkle::VerifyInclusion(merkle::Hash(), proof->index, checkpoint->size, checkpoint->root,
                                  proof->hashes);
  }
  if (const auto request = merkle::ParseWitnessRequest(input); request.ok()) {
    FUZZ_CHECK(merkle::WitnessRequestText(*request) == input);
    const auto checkpoint = merkle::ParseCheckpoint(request->checkpoint.text);
    FUZZ_CHECK(checkpoint.ok());
    (void)merkle::VerifyConsistency(request->old_size, merkle::Hash(), checkpoint->size,
                                    checkpoint->root, request->proof);
  }
  return 0;
}

}  // namespace dpledger::fuzz
