// A flag that takes a length of time: 30s, 15m, 12h, 90d.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "flags/app.h"

namespace dpledger::cli {

// A whole number below a million and a unit; nullopt for anything else.
std::optional<absl::Duration> ParseLength(const std::string& text);

flags::Option* AddLength(flags::App& app, const std::string& flag, absl::Duration& value,
                         const std::string& help);

// The same, or `never`, which becomes nullopt.
flags::Option* AddLengthOrNever(flags::App& app, const std::string& flag,
                                std::optional<absl::Duration>& value, const std::string& help);

}  // namespace dpledger::cli
