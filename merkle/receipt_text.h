// The bytes that a server signs of a receipt, for a client that asks for it, and their check. The
// key is the one that signs the server's checkpoints; docs/formats.md, section 7.2. Pure; thread
// safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/ed25519.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

struct StatedReceipt {
  Hash request{};  // SHA-256 of the request's bytes, as they were sent
  uint64_t first_sequence = 0;
  uint64_t count = 0;
  uint64_t size = 0;  // of the ledger after its entries
  Hash root{};        // and its root
};

// Never the text of a note: that has a number in its second line.
std::string ReceiptText(std::string_view origin, const StatedReceipt& receipt);

// Whether one of the keys signed the receipt, under its own name.
bool IsSigned(const std::vector<VerifierKey>& keys, const StatedReceipt& receipt,
              std::string_view signature);

}  // namespace dpledger::merkle
