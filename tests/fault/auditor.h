// An auditor who looks at one ledger of a server again and again, and believes nothing but its own
// arithmetic: RFC 6962 over the bytes of the entries, the log's signature, and ε computed offline
// from the same bytes.
//
// Remembers the key that it saw first, the leaves and the last checkpoint; what a server serves
// later must carry them on. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpledger/v1/audit_service.grpc.pb.h"
#include "merkle/checkpoint.h"
#include "merkle/sha256.h"

namespace dpledger::testing {

// RFC 6962, section 2.1, word for word, over leaf hashes: the root of the first `size`.
merkle::Hash TreeRoot(const std::vector<merkle::Hash>& leaves, uint64_t size);
// SHA-256(0x00 ‖ entry).
merkle::Hash HashOfLeaf(std::string_view entry);

class Auditor {
 public:
  explicit Auditor(std::string ledger) : ledger_(std::move(ledger)) {}

  // What is wrong with what the server at `address` serves; nothing, if all is well: entries are
  // dense and those seen before unchanged; the checkpoint of them all is signed by the known key
  // and stands in the registry; its root is that of the entries; it carries on the last checkpoint
  // and the proof of that verifies; the last entry's inclusion proof verifies; ε is the same as
  // computed offline. Others may append meanwhile.
  std::vector<std::string> Audit(const std::string& address);

  uint64_t audits() const { return audits_; }
  // Of the last checkpoint that was as it should be.
  uint64_t checkpoint_size() const { return checkpoint_.size; }

 private:
  // From where it stopped, to the end.
  void ReadEntries(const std::string& address);
  void CheckCheckpoint(const std::string& address);
  void CheckRegistry(const v1::RegistryEvidence& evidence, const merkle::Checkpoint& checkpoint);
  void CheckConsistency(v1::AuditService::Stub& audit, const merkle::Checkpoint& checkpoint);
  void CheckInclusion(v1::AuditService::Stub& audit, const merkle::Checkpoint& checkpoint);
  void CheckEpsilon(const std::string& address, const merkle::Checkpoint& checkpoint);
  // The checkpoint of a note that the known key signed as `log`'s; one without an origin if it did
  // not.
  merkle::Checkpoint Open(const std::string& note, const std::string& log);
  void Complain(std::string complaint) { complaints_.push_back(std::move(complaint)); }

  const std::string ledger_;  // full name
  std::string key_;           // the verifier key's text; empty: none seen
  std::vector<std::string> entries_;
  std::vector<merkle::Hash> leaves_;
  merkle::Checkpoint checkpoint_;
  std::vector<std::string> complaints_;
  uint64_t audits_ = 0;
};

}  // namespace dpledger::testing
