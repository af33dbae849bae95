// Flags with a domain. A value that does not parse or lies outside its flag's domain ends parsing
// with flags::ValidationError "<flag>: <rule>, got <value>" (exit code 2), before the program reads
// or sends anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "connection/server_access.h"
#include "dpledger/v1/ledger.pb.h"
#include "flags/app.h"

namespace dpledger::cli {

struct RealDomain {
  bool (*contains)(double);
  const char* rule;
};
extern const RealDomain kOpenUnitInterval;   // (0, 1)
extern const RealDomain kBelowOne;           // [0, 1)
extern const RealDomain kProbability;        // (0, 1]
extern const RealDomain kFiniteNotNegative;  // [0, inf)
extern const RealDomain kFinitePositive;     // (0, inf)
extern const RealDomain kAboveMinusOne;      // (-1, inf)
extern const RealDomain kRelativeGap;        // [1e-9, 1]

// Throws flags::ValidationError if `wrong`: of flags that do not go together.
void RefuseIf(bool wrong, const std::string& flag, const std::string& rule);

// What is wrong with a text, ready for people; or nothing, and the text is taken.
using Take = std::function<std::string(const std::string& text)>;
flags::Option* AddTaken(flags::App& app, const std::string& flag, const std::string& type,
                        const std::string& help, const Take& take);
// "<rule>, got <got>"; and the same unless the rule holds.
std::string Wrong(const std::string& rule, const absl::AlphaNum& got);
std::string Unless(bool holds, const std::string& rule, const absl::AlphaNum& got);

// Text that is taken as it is: a path, or what the server knows. The help calls it `type`.
template <typename Value>
flags::Option* AddPlain(flags::App& app, const char* flag, Value& value, const char* type,
                        const char* help) {
  return app.add_option(flag, value, help)->type_name(type);
}

// A number, or a quotient of two: "256/60000".
flags::Option* AddReal(flags::App& app, const std::string& flag, double& value,
                       const RealDomain& domain, const std::string& help);

// A whole number in [least, 2^53], also as "1e4".
flags::Option* AddCount(flags::App& app, const std::string& flag, uint64_t& value, uint64_t least,
                        const std::string& help);

// Text of 1 to `bound_bytes` bytes.
flags::Option* AddText(flags::App& app, const std::string& flag, std::string& value,
                       size_t bound_bytes, const std::string& help);

// The same, refusing white space at either end: names that differ only in it look alike.
flags::Option* AddName(flags::App& app, const std::string& flag, std::string& value,
                       size_t bound_bytes, const std::string& help);

// 1 to `bound_bytes` bytes of [A-Za-z0-9._-].
flags::Option* AddToken(flags::App& app, const std::string& flag, std::string& value,
                        size_t bound_bytes, const std::string& help);

// --server, and how to speak to it: --ca, --cert, --cert-key, --token-file. What is not given is
// taken from the environment or client.conf (connection/server_access.h) when the server is called.
void AddServer(flags::App& app, connection::ServerAccess& value);
// Throws flags::ValidationError if the server cannot be told, or its parts do not go together.
void CheckServer(const connection::ServerAccess& value);
// AddServer for a command that does nothing without a server.
void AddRequiredServer(flags::App& app, connection::ServerAccess& value);

flags::Option* AddAdjacency(flags::App& app, v1::Adjacency& value, const std::string& help);
flags::Option* AddParameters(flags::App& app, v1::Parameters& value, const std::string& help);

// --blocks: of a budget, like 1-12,14.
flags::Option* AddBlocks(flags::App& app, google::protobuf::RepeatedPtrField<v1::BlockRange>& value,
                         const std::string& help);
// --filter: mixture:EPSILON:DELTA, rdp:ORDER:EPSILON, zcdp:RHO or gdp:MU.
flags::Option* AddFilter(flags::App& app, v1::Filter& value);

// A ledger's short or full name; `value` gets the full one.
flags::Option* AddLedgerName(flags::App& app, const std::string& flag, std::string& value,
                             const std::string& help);

// The same for a flag that may repeat.
flags::Option* AddLedgerNames(flags::App& app, const std::string& flag,
                              std::vector<std::string>& values, const std::string& help);

// One of the names in `choices`.
template <typename Value>
flags::Option* AddChoice(flags::App& app, const std::string& flag, Value& value,
                         const std::map<std::string, Value>& choices, const std::string& help) {
  const auto words = [choices](const char* between) {
    return absl::StrJoin(choices, between,
                         [](std::string* out, const auto& choice) { *out += choice.first; });
  };
  return AddTaken(app, flag, absl::StrCat("{", words(","), "}"), help,
                  [&value, choices, words](const std::string& text) {
                    const auto found = choices.find(text);
                    if (found != choices.end()) value = found->second;
                    return Unless(found != choices.end(),
                                  absl::StrCat("must be one of ", words(" ")), text);
                  });
}

}  // namespace dpledger::cli
