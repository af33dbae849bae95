#include "cli/list_flag.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace dpledger::cli {
namespace {

// Throws unless the rule holds.
void Must(const std::string& flag, bool holds, const std::string& rule, const std::string& got) {
  RefuseIf(!holds, flag, Wrong(rule, got));
}

double NumberOf(const std::string& flag, const std::string& text, const RealDomain& domain) {
  double value = 0;
  Must(flag, absl::SimpleAtod(text, &value), "must be numbers or FROM:TO:COUNT between commas",
       text.empty() ? "\"\"" : text);
  Must(flag, domain.contains(value), domain.rule, text);
  return value;
}

// To twelve digits: the 0.3 of 0:1:11, not 0.30000000000000004.
double Rounded(double value) {
  double rounded = value;
  return absl::SimpleAtod(absl::StrFormat("%.12g", value), &rounded) ? rounded : value;
}

std::vector<double> RangeOf(const std::string& flag, const std::string& text,
                            const RealDomain& domain, Spacing spacing) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  uint64_t count = 0;
  Must(flag,
       parts.size() == 3 && absl::SimpleAtoi(parts[2], &count) && count >= 2 &&
           count <= kGreatestListLength,
       absl::StrCat("a range must be FROM:TO:COUNT with a count in [2, ", kGreatestListLength, "]"),
       text);
  const double from = NumberOf(flag, parts[0], domain), to = NumberOf(flag, parts[1], domain);
  std::vector<double> values;
  for (uint64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    const double between = spacing == Spacing::kEven
                               ? from + (to - from) * share
                               : std::exp(std::log(from) + std::log(to / from) * share);
    values.push_back(i == 0 ? from : i + 1 == count ? to : Rounded(between));
  }
  return values;
}

}  // namespace

flags::Option* AddList(flags::App& app, const std::string& flag, std::vector<double>& values,
                       const RealDomain& domain, Spacing spacing, const std::string& help) {
  return AddTaken(
      app, flag, "LIST", help, [flag, &values, &domain, spacing](const std::string& list) {
        values.clear();
        for (const std::string& text : std::vector<std::string>(absl::StrSplit(list, ','))) {
          const std::vector<double> more = text.find(':') == std::string::npos
                                               ? std::vector<double>{NumberOf(flag, text, domain)}
                                               : RangeOf(flag, text, domain, spacing);
          values.insert(values.end(), more.begin(), more.end());
        }
        return Unless(values.size() <= kGreatestListLength,
                      absl::StrCat("must have at most ", kGreatestListLength, " numbers"),
                      values.size());
      });
}

}  // namespace dpledger::cli
