// Mechanisms in words, from the one list of their fields: "2 × gaussian (noise multiplier 2)".
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "accountant/event/event.h"
#include "base/absl_view.h"
#include "server/statement/fields.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

using accountant::Mechanism;

constexpr size_t kMostBytes = 240, kMostElements = 4, kMostMechanisms = 10;

std::string Spaced(std::string_view name) {
  return absl::StrReplaceAll(ToAbsl(name), {{"_", " "}});
}

// The words so far. A tree may be as wide as its message: none is read further than they may be
// long.
class Words {
 public:
  void Add(const Mechanism& mechanism) {
    if (mechanism.count > 1) absl::StrAppend(&text_, CountText(mechanism.count), " × ");
    std::visit([this](const auto& kind) { AddKind(kind); }, mechanism.kind);
  }
  std::string Text() const { return IsLong() ? text_.substr(0, kMostBytes) + "…" : text_; }

 private:
  bool IsLong() const { return text_.size() > kMostBytes; }

  template <typename Kind>
  void AddKind(const Kind& kind) {
    if constexpr (std::is_same_v<Kind, accountant::NonPrivate>) {
      text_ += "the data themselves, without noise (non private)";
    } else {
      text_ += Spaced(Kind::kName);
      AddFields(kind, " (", ")");
    }
  }

  template <typename Value>
  void AddFields(const Value& value, const char* open, const char* close) {
    size_t fields = 0;
    ForEachField(value, [&](const auto& field, const auto& member) {
      if (IsLong() || !IsSaid(member)) return absl::OkStatus();
      text_ += fields++ == 0 ? open : ", ";
      if (field.name != "kind" && field.mark != accountant::Mark::kOne)
        absl::StrAppend(&text_, Spaced(field.name), " ");
      AddValue(member);
      return absl::OkStatus();
    }).IgnoreError();
    if (fields > 0) text_ += close;
  }

  template <typename T>
  static bool IsSaid(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return false;
    } else if constexpr (accountant::kIsOptional<T>) {
      return value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return !value.empty();
    } else {
      return true;
    }
  }

  template <typename T>
  void AddValue(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      text_ += StatedText(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      text_ += value ? "yes" : "no";
    } else if constexpr (std::is_integral_v<T>) {
      text_ += CountText(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text_ += Shown(value);
    } else if constexpr (accountant::kIsOptional<T>) {
      AddValue(*value);
    } else if constexpr (accountant::kIsVariant<T>) {
      std::visit([this](const auto& kind) { AddKind(kind); }, value);
    } else if constexpr (std::is_same_v<T, Mechanism>) {
      Add(value);
    } else if constexpr (accountant::IsValue<T>) {
      AddFields(value, "", "");
    } else if constexpr (accountant::kIsVector<T>) {
      for (size_t i = 0; i < value.size() && !IsLong(); ++i) {
        if (i == kMostElements) {
          absl::StrAppend(&text_, " and ", value.size() - i, " more");
          break;
        }
        if (i > 0) text_ += ", ";
        AddValue(value[i]);
      }
    }
  }

  std::string text_;
};

}  // namespace

std::string MechanismsText(const LedgerFacts& ledger) {
  if (!ledger.own.has_value()) return "";
  struct Counted {
    Mechanism mechanism;
    uint64_t count = 0;
  };
  std::vector<Counted> found;
  std::unordered_map<std::string, size_t> places;  // by key
  for (const Mechanism& mechanism : ledger.own->history.Mechanisms()) {
    std::string key;
    Mechanism once = mechanism;
    once.count = 1;
    AppendKey(once, key);
    const size_t place = places.emplace(std::move(key), found.size()).first->second;
    if (place == found.size()) found.push_back({std::move(once), 0});
    // It cannot pass 2^64: a ledger has below 2^53 rounds.
    found[place].count += mechanism.count;
  }
  std::vector<std::string> lines;
  for (const Counted& one : found) {
    if (lines.size() == kMostMechanisms) {
      lines.push_back(absl::StrCat("and ", found.size() - lines.size(), " other mechanisms"));
      break;
    }
    Words words;
    Mechanism all = one.mechanism;
    all.count = one.count;
    words.Add(all);
    lines.push_back(SetAside(ledger) + words.Text());
  }
  return absl::StrJoin(lines, "; ");
}

}  // namespace dpledger::server::statement
