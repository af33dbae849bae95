// The list of a value's fields, and what follows from it: the value's rule, equality, key and
// memory (here), and its message (events/event_values.h). No second list of them exists.
//
// A value is a struct with
//   static constexpr auto Fields();      a tuple of Field, the only list
//   absl::Status Check() const;          optional: a rule over several fields
//   static constexpr char kName[];       one alternative of several: its name in the .proto
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/value_rules.h"

namespace dpledger::accountant {

struct Mechanism;

// Levels of a tree of mechanisms.
inline constexpr int kMaxDepth = 32;

// A mark on a field.
enum class Mark {
  kNone,
  kLabel,  // for people: values that differ in it alone are one
  kOne,    // a list of exactly one value, for a field that can hold its own type
};

// name: as the .proto spells it. member: std::invoke(member, value) is the field, a number, an
// enum, a text, a value, a std::optional or std::vector of one, or a std::variant of values (a
// oneof of that name). rule: rule(field's name, field) or rule(field's name, field, value).
template <typename Member, typename Rule>
struct Field {
  std::string_view name;
  Member member;
  Rule rule;
  Mark mark = Mark::kNone;
};
template <typename Member, typename Rule>
Field(std::string_view, Member, Rule) -> Field<Member, Rule>;
template <typename Member, typename Rule>
Field(std::string_view, Member, Rule, Mark) -> Field<Member, Rule>;

template <typename T>
concept IsValue = requires {
  T::Fields();
};
// An alternative that stands in its message as one bare field.
template <typename T>
concept IsBare = IsValue<T> && requires {
  T::kIsBare;
};
template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsVariant = false;
template <typename... Ts>
inline constexpr bool kIsVariant<std::variant<Ts...>> = true;

// Calls visit(field, member) for each field of `value` until one is not OK, and returns that.
template <IsValue Value, typename Visit>
absl::Status ForEachField(Value& value, const Visit& visit) {
  absl::Status status;
  std::apply(
      [&](const auto&... fields) {
        static_cast<void>(
            (... && (status = visit(fields, std::invoke(fields.member, value))).ok()));
      },
      std::remove_const_t<Value>::Fields());
  return status;
}

// ---- Rules, beside those of base/value_rules.h ----

// No rule of its own: its type, and the value's Check(), say what it may be.
inline constexpr auto kAny = [](std::string_view, const auto&) { return absl::OkStatus(); };
inline constexpr auto kOne = [](std::string_view field, const auto& list) {
  return list.size() == 1 ? absl::OkStatus() : FieldError(field, "must be set");
};
constexpr auto WholeBetween(uint64_t low, uint64_t high) {
  return [=](std::string_view field, uint64_t value) {
    return rules::WholeIn(low, high, field, value);
  };
}
constexpr auto TextUpTo(size_t bytes) {
  return [=](std::string_view field, std::string_view text) {
    return rules::Text(0, bytes, field, text);
  };
}
// At least one element, and `rule` for each.
template <typename Rule>
constexpr auto Each(Rule rule) {
  return [=](std::string_view field, const auto& list) -> absl::Status {
    RETURN_IF_ERROR(rules::NotEmpty(field, static_cast<int>(list.size())));
    for (size_t i = 0; i < list.size(); ++i)
      RETURN_IF_ERROR(rule(rules::Element(field, static_cast<int>(i)), list[i]));
    return absl::OkStatus();
  };
}
// Enums bear the numbers of the .proto, from 0.
absl::Status UnknownNumber(std::string_view field, int number);
template <typename Enum>
constexpr auto UpTo(Enum last) {
  return [=](std::string_view field, Enum value) {
    const int number = static_cast<int>(value);
    if (number >= 0 && number <= static_cast<int>(last)) return absl::OkStatus();
    return UnknownNumber(field, number);
  };
}

// ---- Check ----

// OK, or INVALID_ARGUMENT that names the field by its path, the rule and the value:
// "poisson.probability: must be in (0, 1], got -0.5". depth: of the tree of mechanisms above.
template <IsValue Value>
absl::Status CheckValue(const Value& value, int depth = 0);

// The same of the values that a field holds.
template <typename Member>
absl::Status CheckBelow(std::string_view name, Mark mark, const Member& member, int depth) {
  if constexpr (IsValue<Member>) {
    return rules::Within(name, CheckValue(member, depth));
  } else if constexpr (kIsVariant<Member>) {
    return std::visit(
        [depth]<typename Kind>(const Kind& kind) {
          const absl::Status status = CheckValue(kind, depth);
          return IsBare<Kind> ? status : rules::Within(Kind::kName, status);
        },
        member);
  } else if constexpr (kIsVector<Member>) {
    if constexpr (IsValue<typename Member::value_type>) {
      for (size_t i = 0; i < member.size(); ++i) {
        const absl::Status status = CheckValue(member[i], depth);
        if (status.ok()) continue;
        return rules::Within(
            mark == Mark::kOne ? std::string(name) : rules::Element(name, static_cast<int>(i)),
            status);
      }
    }
  }
  return absl::OkStatus();
}

template <typename Value>
concept IsTree = std::is_same_v<Value, Mechanism>;

absl::Status TooDeep(std::string_view kind);
template <IsTree Tree>
absl::Status CheckDepth(const Tree& tree, int depth) {
  if (depth <= kMaxDepth) return absl::OkStatus();
  return TooDeep(std::visit([]<typename Kind>(const Kind&) { return Kind::kName; }, tree.kind));
}

template <IsValue Value>
absl::Status CheckValue(const Value& value, int depth) {
  if constexpr (IsTree<Value>) RETURN_IF_ERROR(CheckDepth(value, ++depth));
  RETURN_IF_ERROR(ForEachField(value, [&](const auto& field, const auto& member) {
    absl::Status status;
    if constexpr (requires { field.rule(field.name, member, value); }) {
      status = field.rule(field.name, member, value);
    } else {
      status = field.rule(field.name, member);
    }
    return status.ok() ? CheckBelow(field.name, field.mark, member, depth) : status;
  }));
  if constexpr (requires { value.Check(); }) return value.Check();
  return absl::OkStatus();
}

// ---- Equality ----

template <IsValue Value>
bool operator==(const Value& a, const Value& b) {
  return std::apply(
      [&](const auto&... fields) {
        return (... && (std::invoke(fields.member, a) == std::invoke(fields.member, b)));
      },
      Value::Fields());
}

// ---- Key ----

// Appends fixed-width words that two values have in common only if they are equal, doubles by their
// bits; labels are left out. No key is the beginning of another one of its type.
inline void AppendWord(uint64_t word, std::string& key) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(word >> (8 * i));
  key.append(bytes, sizeof(bytes));
}
template <typename T>
void AppendKey(const T& value, std::string& key) {
  if constexpr (std::is_floating_point_v<T>) {
    AppendWord(std::bit_cast<uint64_t>(value), key);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    AppendWord(static_cast<uint64_t>(value), key);
  } else if constexpr (kIsOptional<T>) {
    AppendWord(value.has_value(), key);
    if (value.has_value()) AppendKey(*value, key);
  } else if constexpr (kIsVariant<T>) {
    AppendWord(value.index(), key);
    std::visit([&key](const auto& kind) { AppendKey(kind, key); }, value);
  } else if constexpr (IsValue<T>) {
    ForEachField(value, [&key](const auto& field, const auto& member) {
      if (field.mark != Mark::kLabel) AppendKey(member, key);
      return absl::OkStatus();
    }).IgnoreError();
  } else {  // a list or a text
    AppendWord(value.size(), key);
    for (const auto& element : value) AppendKey(element, key);
  }
}

// ---- Memory ----

// The memory that a value holds outside itself, in bytes.
template <typename T>
size_t BytesElsewhere(const T& value) {
  size_t bytes = 0;
  if constexpr (kIsVariant<T>) {
    bytes = std::visit([](const auto& kind) { return BytesElsewhere(kind); }, value);
  } else if constexpr (IsValue<T>) {
    ForEachField(value, [&bytes](const auto&, const auto& member) {
      bytes += BytesElsewhere(member);
      return absl::OkStatus();
    }).IgnoreError();
  } else if constexpr (std::is_same_v<T, std::string>) {
    bytes = value.capacity();
  } else if constexpr (kIsVector<T>) {
    bytes = value.capacity() * sizeof(typename T::value_type);
    for (const auto& element : value) bytes += BytesElsewhere(element);
  }
  return bytes;
}

}  // namespace dpledger::accountant
