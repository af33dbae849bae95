// Domains of flags, for the example programs' command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dpledger::dp_sgd {

// Lets no NaN through, which CLI::Range does. `what` describes the domain.
template <typename Predicate>
CLI::Validator Must(const std::string& what, Predicate holds) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool parsed = CLI::detail::lexical_cast(text, value);
        return parsed && holds(value) ? std::string() : "must be " + what + ", got " + text;
      },
      what);
}

inline CLI::Validator Between(double least, double most) {
  return Must(CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most),
              [=](double value) { return value >= least && value <= most; });
}

}  // namespace dpledger::dp_sgd
