#include "server/summaries/list_token.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/names.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::server {
namespace {

// Names and values cannot hold it.
constexpr char kBetween = '\n';
constexpr size_t kFingerprintBytes = 8;

absl::Status NotOurs() { return FieldError("page_token", "must come from the answer before"); }

std::string FingerprintOf(const v1::ListLedgersRequest& request) {
  v1::ListLedgersRequest list;
  list.set_parent(request.parent());
  list.set_filter(request.filter());
  list.set_order_by(request.order_by());
  return HexEncode(
      merkle::ToBytes(merkle::Sha256({list.SerializeAsString()})).substr(0, kFingerprintBytes));
}

// A letter for the kind, then the value.
struct AsText {
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(std::string_view text) const { return absl::StrCat("s", HexEncode(text)); }
  std::string operator()(double number) const {
    return absl::StrCat("n", std::bit_cast<uint64_t>(number));
  }
  std::string operator()(absl::Time time) const {
    return absl::StrCat("t", absl::ToUnixNanos(time));
  }
  std::string operator()(absl::Duration duration) const {
    return absl::StrCat("d", absl::ToInt64Nanoseconds(duration));
  }
};

// `text` becomes what a text's value is of.
absl::StatusOr<FieldValue> ValueFrom(std::string& text) {
  if (text == "-") return FieldValue();
  if (text.empty()) return NotOurs();
  const std::string rest = text.substr(1);
  int64_t whole = 0;
  uint64_t bits = 0;
  switch (text[0]) {
    case 's': {
      auto decoded = HexDecode(rest);
      if (!decoded.ok()) return NotOurs();
      text = *std::move(decoded);
      return FieldValue(text);
    }
    case 'n':
      if (!absl::SimpleAtoi(rest, &bits)) return NotOurs();
      return FieldValue(std::bit_cast<double>(bits));
    case 't':
      if (!absl::SimpleAtoi(rest, &whole)) return NotOurs();
      return FieldValue(absl::FromUnixNanos(whole));
    case 'd':
      if (!absl::SimpleAtoi(rest, &whole)) return NotOurs();
      return FieldValue(absl::Nanoseconds(whole));
    default:
      return NotOurs();
  }
}

}  // namespace

std::string ToText(const ListToken& token, const v1::ListLedgersRequest& request) {
  const std::string between(1, kBetween);
  return HexEncode(absl::StrCat(FingerprintOf(request), between, absl::ToUnixNanos(token.now),
                                between, std::visit(AsText(), token.last.value), between,
                                ToAbsl(token.last.name)));
}

absl::StatusOr<ListToken> TokenOf(const v1::ListLedgersRequest& request) {
  const auto text = HexDecode(request.page_token());
  if (!text.ok()) return NotOurs();
  std::vector<std::string> parts = absl::StrSplit(*text, kBetween);
  int64_t now = 0;
  if (parts.size() != 4 || parts[0].size() != 2 * kFingerprintBytes ||
      !absl::SimpleAtoi(parts[1], &now) || !events::CheckLedgerName("page_token", parts[3]).ok()) {
    return NotOurs();
  }
  if (parts[0] != FingerprintOf(request)) {
    return FieldError("page_token",
                      "must come from the answer before, for the same parent, filter and order");
  }
  ASSIGN_OR_RETURN(FieldValue value, ValueFrom(parts[2]));
  const auto texts = std::make_shared<const std::vector<std::string>>(std::move(parts));
  return ListToken{{value, (*texts)[3]}, absl::FromUnixNanos(now), texts};
}

}  // namespace dpledger::server
