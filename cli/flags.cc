#include "cli/flags.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/address.h"
#include "base/utf8.h"
#include "events/declaration_rules.h"
#include "events/grant_rules.h"
#include "events/names.h"

namespace dpledger::cli {
namespace {

constexpr uint64_t kGreatestCount = uint64_t{1} << 53;

// A number, or a quotient of two: "256/60000".
bool ReadReal(absl::string_view text, double& value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  if (!absl::SimpleAtod(parts.first, &value)) return false;
  if (!absl::StrContains(text, '/')) return true;
  double divisor = 0;
  if (!absl::SimpleAtod(parts.second, &divisor) || divisor == 0) return false;
  value /= divisor;
  return true;
}

// A whole number, also as "1e4" or "2.5e6".
bool ReadWhole(absl::string_view text, uint64_t& value) {
  if (absl::SimpleAtoi(text, &value)) return true;
  double real = 0;
  if (!absl::SimpleAtod(text, &real) || !(real >= 0 && real <= 0x1p53) || real != std::floor(real))
    return false;
  value = static_cast<uint64_t>(real);
  return true;
}

bool IsToken(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace

const RealDomain kOpenUnitInterval = {[](double x) { return x > 0 && x < 1; }, "must be in (0, 1)"};
const RealDomain kBelowOne = {[](double x) { return x >= 0 && x < 1; }, "must be in [0, 1)"};
const RealDomain kProbability = {[](double x) { return x > 0 && x <= 1; }, "must be in (0, 1]"};
const RealDomain kFiniteNotNegative = {[](double x) { return x >= 0 && std::isfinite(x); },
                                       "must be finite and >= 0"};
const RealDomain kFinitePositive = {[](double x) { return x > 0 && std::isfinite(x); },
                                    "must be finite and > 0"};
const RealDomain kAboveMinusOne = {[](double x) { return x > -1 && std::isfinite(x); },
                                   "must be finite and > -1"};
const RealDomain kRelativeGap = {[](double x) { return x >= 1e-9 && x <= 1; },
                                 "must be in [1e-9, 1]"};

void RefuseIf(bool wrong, const std::string& flag, const std::string& rule) {
  if (wrong) throw flags::ValidationError(flag, rule);
}

std::string Wrong(const std::string& rule, const absl::AlphaNum& got) {
  return absl::StrCat(rule, ", got ", got);
}

std::string Unless(bool holds, const std::string& rule, const absl::AlphaNum& got) {
  return holds ? "" : Wrong(rule, got);
}

flags::Option* AddTaken(flags::App& app, const std::string& flag, const std::string& type,
                        const std::string& help, const Take& take) {
  const std::function<void(const std::string&)> take_or_throw = [flag,
                                                                 take](const std::string& text) {
    if (const std::string wrong = take(text); !wrong.empty())
      throw flags::ValidationError(flag, wrong);
  };
  return app.add_option(flag, take_or_throw, help)->type_name(type);
}

flags::Option* AddReal(flags::App& app, const std::string& flag, double& value,
                       const RealDomain& domain, const std::string& help) {
  return AddTaken(app, flag, "NUMBER", help, [&value, &domain](const std::string& text) {
    if (!ReadReal(text, value)) return Wrong("must be a number, or a quotient of two", text);
    return Unless(domain.contains(value), domain.rule, text);
  });
}

flags::Option* AddCount(flags::App& app, const std::string& flag, uint64_t& value, uint64_t least,
                        const std::string& help) {
  return AddTaken(app, flag, "COUNT", help, [&value, least](const std::string& text) {
    return Unless(ReadWhole(text, value) && value >= least && value <= kGreatestCount,
                  absl::StrCat("must be a whole number in [", least, ", 2^53]"), text);
  });
}

flags::Option* AddText(flags::App& app, const std::string& flag, std::string& value,
                       size_t bound_bytes, const std::string& help) {
  return AddTaken(
      app, flag, "TEXT", help, [&value, bound_bytes](const std::string& text) -> std::string {
        value = text;
        if (!IsUtf8(text)) return "must be UTF-8";
        return Unless(text.size() <= bound_bytes,
                      absl::StrCat("must have 1 to ", bound_bytes, " bytes"), text.size());
      });
}

flags::Option* AddName(flags::App& app, const std::string& flag, std::string& value,
                       size_t bound_bytes, const std::string& help) {
  return AddText(app, flag, value, bound_bytes, help)
      ->check([](const std::string& text) -> std::string {
        if (absl::StripAsciiWhitespace(text) == text) return "";
        return absl::StrCat("must not begin or end with white space, got \"", text, "\"");
      });
}

flags::Option* AddToken(flags::App& app, const std::string& flag, std::string& value,
                        size_t bound_bytes, const std::string& help) {
  return AddTaken(app, flag, "ID", help, [&value, bound_bytes](const std::string& text) {
    value = text;
    return Unless(!text.empty() && text.size() <= bound_bytes && IsToken(text),
                  absl::StrCat("must be 1 to ", bound_bytes, " of A-Z a-z 0-9 . _ -"), text);
  });
}

void AddServer(flags::App& app, connection::ServerAccess& value) {
  AddTaken(app, "--server", "HOST:PORT",
           "the server's host:port, or several of one database with commas between them, of which "
           "the first that answers is asked; TLS unless of this machine or beginning with http://; "
           "default: DPLEDGER_SERVER, or that of client.conf",
           [&value](const std::string& text) -> std::string {
             for (const connection::ServerAccess& one : connection::EachOf(text)) {
               const auto address = ParseAddress(connection::TargetOf(one));
               if (!address.has_value() || address->port == 0)
                 return Wrong("must be host:port", one.address);
             }
             value.address = text;
             return "";
           });
  const auto file = [&app](const char* flag, std::string& path, const char* help) {
    app.add_option(flag, path, help)
        ->check([](const std::string& given) {
          if (access(given.c_str(), R_OK) == 0) return std::string();
          constexpr char kRule[] = "must be a file that can be read";
          return connection::LooksLikeAToken(given)
                     ? absl::StrCat(kRule, ", and not the token itself")
                     : Wrong(kRule, given);
        })
        ->type_name("FILE");
  };
  file("--ca", value.ca, "who signs the server's certificate, PEM; default: the system's list");
  file("--cert", value.certificate, "one's own certificate, PEM, for mutual TLS");
  file("--cert-key", value.key, "the key of --cert, PEM");
  file("--token-file", value.token_file, "a token that says who asks");
  AddPlain(app, "--log-key", value.log_key, "VKEY",
           "the server's log key: only what it signed counts as acknowledged");
}

void CheckServer(const connection::ServerAccess& value) {
  const absl::Status status = connection::Complete(value).status();
  if (status.ok()) return;
  const auto [field, rule] = std::pair<std::string, std::string>(
      absl::StrSplit(status.message(), absl::MaxSplits(": ", 1)));
  throw flags::ValidationError(absl::StrCat("--", absl::StrReplaceAll(field, {{"_", "-"}})), rule);
}

void AddRequiredServer(flags::App& app, connection::ServerAccess& value) {
  AddServer(app, value);
  app.parse_complete_callback([&value] { CheckServer(value); });
}

flags::Option* AddAdjacency(flags::App& app, v1::Adjacency& value, const std::string& help) {
  return AddChoice<v1::Adjacency>(app, "--adjacency", value,
                                  {{"add-or-remove-one", v1::ADD_OR_REMOVE_ONE},
                                   {"replace-one", v1::REPLACE_ONE},
                                   {"zero-out", v1::ZERO_OUT}},
                                  help);
}

flags::Option* AddParameters(flags::App& app, v1::Parameters& value, const std::string& help) {
  return AddChoice<v1::Parameters>(app, "--parameters", value,
                                   {{"fixed", v1::FIXED}, {"adaptive", v1::ADAPTIVE}}, help);
}

flags::Option* AddBlocks(flags::App& app, google::protobuf::RepeatedPtrField<v1::BlockRange>& value,
                         const std::string& help) {
  return AddTaken(app, "--blocks", "LIST", help, [&value](const std::string& text) -> std::string {
    auto blocks = events::BlocksFromText(text);
    if (!blocks.ok()) return std::string(blocks.status().message());
    value = *std::move(blocks);
    return "";
  });
}

flags::Option* AddFilter(flags::App& app, v1::Filter& value) {
  return AddTaken(
      app, "--filter", "FILTER",
      "adaptive only: the bound that the ledger is held to, whatever its outputs show; its epsilon "
      "is that of this bound",
      [&value](const std::string& text) -> std::string {
        const std::vector<std::string> parts = absl::StrSplit(text, ':');
        double numbers[2] = {1, 1};
        bool good = parts.size() == 2 || parts.size() == 3;
        for (size_t i = 1; good && i < parts.size(); ++i) {
          good = absl::SimpleAtod(parts[i], &numbers[i - 1]) &&
                 kFinitePositive.contains(numbers[i - 1]);
        }
        const auto [first, second] = numbers;
        const std::string& kind = parts[0];
        if (good && parts.size() == 2 && kind == "zcdp") {
          value.mutable_zcdp()->set_rho(first);
        } else if (good && parts.size() == 2 && kind == "gdp") {
          value.mutable_gdp()->set_mu(first);
        } else if (good && parts.size() == 3 && kind == "rdp" && first > 1) {
          value.mutable_rdp()->set_order(first);
          value.mutable_rdp()->set_epsilon(second);
        } else if (good && parts.size() == 3 && kind == "mixture" && second < 1) {
          value = events::MixtureFilter(first, second);
        } else {
          return Wrong(
              "must be mixture:EPSILON:DELTA, rdp:ORDER:EPSILON, zcdp:RHO or gdp:MU, with an "
              "order above 1, positive bounds and a delta below 1",
              text);
        }
        return "";
      });
}

flags::Option* AddLedgerName(flags::App& app, const std::string& flag, std::string& value,
                             const std::string& help) {
  return AddTaken(app, flag, "NAME", help, [&value](const std::string& text) -> std::string {
    absl::StatusOr<std::string> full = events::FullLedgerName(text);
    if (!full.ok()) return std::string(full.status().message());
    value = *std::move(full);
    return "";
  });
}

flags::Option* AddLedgerNames(flags::App& app, const std::string& flag,
                              std::vector<std::string>& values, const std::string& help) {
  const std::function<void(const std::vector<std::string>&)> take =
      [flag, &values](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          absl::StatusOr<std::string> full = events::FullLedgerName(text);
          if (!full.ok()) throw flags::ValidationError(flag, std::string(full.status().message()));
          values.push_back(*std::move(full));
        }
      };
  return app.add_option(flag, take, help)->type_name("NAME");
}

}  // namespace dpledger::cli
