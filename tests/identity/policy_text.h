// A policy as ParsePolicy reads it, without comments.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/rights.h"

namespace dpledger::identity {

inline std::string PolicyText(const std::vector<PolicyLine>& policy) {
  std::string text;
  for (const PolicyLine& line : policy) {
    absl::StrAppend(&text, line.caller, line.prefix ? "* " : " ", line.grant.ToText(), "\n");
  }
  return text;
}

}  // namespace dpledger::identity
