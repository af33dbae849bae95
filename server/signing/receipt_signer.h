// Signs receipts for clients that ask for it. Thread safe.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "dpledger/v1/ledger.pb.h"
#include "merkle/ed25519.h"
#include "merkle/sha256.h"

namespace dpledger::server {

class ReceiptSigner {
 public:
  // `origin` is that of the registry, by which the key is named.
  ReceiptSigner(std::shared_ptr<const merkle::Ed25519PrivateKey> key, std::string origin)
      : key_(std::move(key)), origin_(std::move(origin)) {}

  // Fills in the signature. Takes some 30 us.
  void Sign(const merkle::Hash& request, v1::Receipt& receipt) const;

 private:
  const std::shared_ptr<const merkle::Ed25519PrivateKey> key_;
  const std::string origin_;
};

}  // namespace dpledger::server
