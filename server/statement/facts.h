// What a statement is made from: everything that the server knows of the ledgers in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "dpledger/v1/statement_service.pb.h"
#include "questions/answers.h"

namespace dpledger::server::statement {

struct LedgerFacts {
  v1::Ledger ledger;  // as it is now
  // Its entries by themselves, as far as the statement covers them. nullopt: they cannot be
  // accounted for, and `unreadable` says why.
  std::optional<questions::Subject> own;
  std::string unreadable;

  const v1::Declaration& declaration() const { return ledger.declaration(); }
};

struct Facts {
  bool of_dataset = false;
  std::string name;  // of the ledger or of the data set
  std::vector<LedgerFacts> ledgers;
  // How many ledgers of this server declare the data set, those included. nullopt: who asks may not
  // know.
  std::optional<uint64_t> declaring;
  double delta = 0;
  // Without in_words.
  v1::Statement::Answer answer;
  // Of prior 1/2 and a false alarm of 1 %. nullopt: refused.
  std::optional<v1::ComputeProfileResponse> profile;
  // The entries that are covered, by ledger, in the order of `ledgers`.
  std::vector<v1::Statement::LedgerCheckpoint> checkpoints;
  std::string version;
  absl::Time time;
  // Who states it, and under which number. Without hashes: the documents do not hold their own.
  std::optional<v1::IssuedStatement> issued;
};

}  // namespace dpledger::server::statement
