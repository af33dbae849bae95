#include "server/summaries/dataset_names.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace dpledger::server {
namespace {

constexpr size_t kShortest = 4;

std::string Folded(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_ispunct(byte) || absl::ascii_isspace(byte)) continue;
    folded += absl::ascii_tolower(byte);
  }
  return folded;
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

}  // namespace

bool AreNearlySame(std::string_view a, std::string_view b) {
  std::string longer = Folded(a), shorter = Folded(b);
  if (longer == shorter) return true;
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  if (longer.size() > shorter.size() + 1 || shorter.size() < kShortest) return false;
  const auto at = static_cast<size_t>(
      std::mismatch(shorter.begin(), shorter.end(), longer.begin()).first - shorter.begin());
  if (IsDigit(longer[at])) return false;
  const std::string_view rest(std::string_view(longer).substr(at));
  const std::string_view other(std::string_view(shorter).substr(at));
  if (longer.size() > shorter.size()) return rest.substr(1) == other;
  if (IsDigit(other[0])) return false;
  if (rest.substr(1) == other.substr(1)) return true;
  return rest.size() > 1 && rest[0] == other[1] && rest[1] == other[0] &&
         rest.substr(2) == other.substr(2);
}

}  // namespace dpledger::server
