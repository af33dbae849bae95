// The flags that the commands below `ledger` share: the ledger's name, where it is, the request id.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/ledger_place.h"
#include "dpledger/v1/ledger.pb.h"
#include "flags/app.h"

namespace dpledger::cli {

// The default writer of this program's appends; `seal` closes it.
inline constexpr char kOwnWriter[] = "cli";

struct LedgerFlags {
  std::string name;
  WritePlace place;

  void AddTo(flags::App& app);
};

// A new ledger, or a budget.
struct CreateFlags : LedgerFlags {
  v1::Declaration declaration;  // its names and texts
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  v1::Filter filter;
  bool new_dataset = false;
  std::string request_id;

  void AddTo(flags::App& app);
  void Check() const;
  // Sends it with what `rest` declares beside.
  absl::StatusOr<v1::Ledger> Create(const v1::Declaration& rest) const;
};

// The same for a command that only reads: `name` may be empty of ledgers at rest, whose only one
// is meant then.
struct ReadFlags {
  std::string name;
  LedgerPlace place;

  void AddTo(flags::App& app);
};

void AddRequestId(flags::App& app, std::string& request_id);
void AddWriter(flags::App& app, std::string& writer);

// The request id to send: `given`, or random if that is empty. From now on the note of Ctrl-C
// contains it.
std::string RequestId(const std::string& given);

}  // namespace dpledger::cli
