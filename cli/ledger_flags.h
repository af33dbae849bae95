// What the commands below `ledger` share: their name and server, and the id of their request.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "dpledger/v1/ledger.pb.h"

namespace dpledger::cli {

// The writer that this program appends as, unless told otherwise; `seal` closes it.
inline constexpr char kOwnWriter[] = "cli";

struct LedgerFlags {
  std::string name;
  std::string server;

  void AddTo(CLI::App& app);
};

void AddRequestId(CLI::App& app, std::string& request_id);
void AddWriter(CLI::App& app, std::string& writer);

// The id to send, random unless given; from now on Ctrl-C tells it.
std::string RequestId(const std::string& given);

}  // namespace dpledger::cli
