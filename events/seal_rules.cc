#include "events/seal_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "merkle/sha256.h"

namespace dpledger::events {
namespace {

// SHA-256 over the names, each behind its length as one byte: a writer's name has at most 64.
std::string DigestOf(const std::vector<std::string_view>& names) {
  size_t bytes = 0;
  for (const std::string_view name : names) bytes += 1 + name.size();
  std::string sized;
  sized.reserve(bytes);
  for (const std::string_view name : names) {
    sized.push_back(static_cast<char>(name.size()));
    sized.append(name);
  }
  const merkle::Hash digest = merkle::Sha256({sized});
  return {digest.begin(), digest.end()};
}

}  // namespace

v1::Seal SealOf(const std::vector<std::string_view>& open) {
  v1::Seal seal;
  if (open.size() > kMostNamedMissing) {
    seal.set_missing_count(open.size());
    seal.set_missing_digest(DigestOf(open));
    return seal;
  }
  for (const std::string_view name : open) seal.add_missing_writers(std::string(name));
  return seal;
}

absl::Status CheckCountedMissing(const v1::Seal& seal, const std::vector<std::string_view>& open) {
  if (seal.missing_writers_size() > 0) {
    return absl::InvalidArgumentError("a seal names missing writers or counts them, not both");
  }
  if (seal.missing_count() != open.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a seal's missing_count must be the number of writers that have not closed, ",
                     open.size(), ", found ", seal.missing_count()));
  }
  if (open.size() <= kMostNamedMissing) {
    return absl::InvalidArgumentError(absl::StrCat("a seal must name up to ", kMostNamedMissing,
                                                   " missing writers, and not count them"));
  }
  if (seal.missing_digest() == DigestOf(open)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a seal's missing_digest must be that of the writers that have not closed");
}

}  // namespace dpledger::events
