#include "ledger/seal_body.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/seal_rules.h"

namespace dpledger {
namespace {

// An error travels in a call's trailers, which hold some KB.
constexpr size_t kMostNamedOpen = 20;

absl::Status WritersOpen(const std::vector<std::string_view>& open) {
  const auto end = open.begin() + static_cast<ptrdiff_t>(std::min(open.size(), kMostNamedOpen));
  const auto append = [](std::string* out, std::string_view name) { out->append(name); };
  const std::string names = absl::StrJoin(open.begin(), end, ", ", append);
  const size_t more = static_cast<size_t>(open.end() - end);
  return WithReason(
      absl::FailedPreconditionError(
          absl::StrCat("missing_writers: must name every writer that has not closed: ", names,
                       more == 0 ? "" : absl::StrCat(", and ", more, " more"))),
      {"WRITERS_OPEN", {{"writers", names}, {"open_writers", absl::StrCat(open.size())}}});
}

}  // namespace

absl::StatusOr<v1::Seal> SealBody(const LedgerHead& head, const v1::SealLedgerRequest& request) {
  std::vector<std::string> names;
  for (const v1::WriterStatus& writer : head.writers) {
    if (!writer.writer().empty() && !writer.closed()) names.push_back(writer.writer());
  }
  const std::vector<std::string_view> open(names.begin(), names.end());
  if (request.open_writers_are_missing()) return events::SealOf(open);

  const std::set<std::string_view> missing(request.missing_writers().begin(),
                                           request.missing_writers().end());
  std::string_view unknown;
  for (const std::string_view name : missing) {
    const std::optional<v1::WriterStatus> writer = head.writers.Find(name);
    if (!writer.has_value()) unknown = name;
    if (writer.has_value() && writer->closed()) {
      return FieldError("missing_writers",
                        absl::StrCat("must not name ", ToAbsl(name), ": it has closed"));
    }
  }
  std::vector<std::string_view> not_named;
  std::set_difference(open.begin(), open.end(), missing.begin(), missing.end(),
                      std::back_inserter(not_named));
  if (!not_named.empty()) return WritersOpen(not_named);
  if (missing.size() > events::kMostNamedMissing) {
    if (unknown.empty()) return events::SealOf(open);
    return FieldError(
        "missing_writers",
        absl::StrCat("must be writers of the ledger where they are more than ",
                     events::kMostNamedMissing, ": ", ToAbsl(unknown), " has written nothing"));
  }
  v1::Seal seal;
  *seal.mutable_missing_writers() = request.missing_writers();
  return seal;
}

}  // namespace dpledger
