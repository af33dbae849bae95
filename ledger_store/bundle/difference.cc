#include "ledger_store/bundle/difference.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::bundle {

absl::Status Differs(std::string_view difference_class, std::string_view where,
                     std::string_view what) {
  return WithReason(
      absl::DataLossError(absl::StrCat(ToAbsl(where), ": ", ToAbsl(what))),
      {kDifference, {{"class", std::string(difference_class)}, {"where", std::string(where)}}});
}

absl::Status Differs(std::string_view difference_class, std::string_view where,
                     std::string_view expected, std::string_view found) {
  return Differs(difference_class, where,
                 absl::StrCat("must be ", ToAbsl(expected), ", found ", ToAbsl(found)));
}

absl::Status Differs(std::string_view difference_class, std::string_view where,
                     const absl::Status& what) {
  return Differs(difference_class, where, FromAbsl(what.message()));
}

absl::Status NoBundle(std::string_view where, std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(ToAbsl(where), ": ", ToAbsl(what))),
                    {kNoBundle, {{"class", kFormatClass}, {"where", std::string(where)}}});
}

std::string ClassOf(const absl::Status& status) {
  const ErrorReason reason = ReasonOf(status);
  const auto found = reason.metadata.find("class");
  return found == reason.metadata.end() ? "" : found->second;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  return absl::StrCat("\"", absl::CEscape(ToAbsl(text.substr(0, kShown))),
                      text.size() > kShown ? "..." : "", "\"");
}

}  // namespace dpledger::bundle
