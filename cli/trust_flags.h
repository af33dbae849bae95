// Whom an auditor believes: keys and older checkpoints from elsewhere than what is verified, and
// what is kept for the next time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "flags/app.h"
#include "ledger_store/bundle/verifier.h"

namespace dpledger::cli {

struct KeyFlags {
  std::vector<std::string> keys;
  std::string key_file;

  void AddTo(flags::App& app);
  // Errors name the flag or the file and its line.
  absl::StatusOr<std::vector<merkle::VerifierKey>> Keys() const;
};

struct TrustFlags {
  KeyFlags keys;
  std::vector<std::string> older;
  std::string pin;
  bool self_signed = false;

  void AddTo(flags::App& app);
  // Without what is of one ledger: --older and --pin.
  void AddKeysTo(flags::App& app);
  absl::StatusOr<bundle::VerifierOptions> Options() const;
  // After a verification: OK if a key that the auditor brought signed, or nobody had to. A
  // difference of class trust otherwise.
  absl::Status CheckTrust(const bundle::EvidenceCheck& evidence) const;
  // Writes the pin, if there is to be one.
  absl::Status Keep(const bundle::EvidenceCheck& evidence) const;
};

}  // namespace dpledger::cli
