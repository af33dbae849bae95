// What an auditor trusts: keys and older checkpoints from another source than the verified ledger.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/bundle/verifier.h"

namespace dpledger::cli {

struct TrustFlags {
  std::vector<std::string> keys;
  std::string key_file;
  std::vector<std::string> older;

  void AddTo(CLI::App& app);
  // Errors name the flag or the file and its line.
  absl::StatusOr<bundle::VerifierOptions> Options() const;
};

}  // namespace dpledger::cli
