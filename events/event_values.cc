#include "events/event_values.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/event/fields.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"

namespace dpledger::events {
namespace {

using accountant::IsBare;
using accountant::IsTree;
using accountant::IsValue;
using accountant::kIsOptional;
using accountant::kIsVariant;
using accountant::kIsVector;

template <typename T>
concept IsMessage = std::is_base_of_v<google::protobuf::Message, std::decay_t<T>>;

// An entry has at most 65,535 bytes; what stands around an event in it takes less than 300.
constexpr size_t kMaxEventBytes = 65'200;

// ---- The accessors that protoc made, by a field's name ----

// event_fields.inc, made of event.proto by the build, is DPLEDGER_FIELD(name) for each name that a
// field or oneof has there. Reflection would do, at three times what all checks of an event take.
enum class Name {
#define DPLEDGER_FIELD(name) name,
#include "event_fields.inc"
#undef DPLEDGER_FIELD
};

// Not a constant, so an error of the compiler, where the .proto has no such name.
constexpr Name NameOf(std::string_view text) {
#define DPLEDGER_FIELD(name) \
  if (text == #name) return Name::name;
#include "event_fields.inc"
#undef DPLEDGER_FIELD
  std::abort();
}

// What a message that does not keep whether a field is set holds for one that is not.
bool IsAbsent(double number) { return std::bit_cast<uint64_t>(number) == 0; }
bool IsAbsent(const std::string& text) { return text.empty(); }
template <typename T>
bool IsAbsent(T number) {
  return number == T{};
}

template <Name>
struct Accessors;
#define DPLEDGER_FIELD(name)                                                          \
  template <>                                                                         \
  struct Accessors<Name::name> {                                                      \
    static decltype(auto) Get(const auto& message) { return message.name(); }         \
    static bool Has(const auto& message) {                                            \
      if constexpr (requires { message.has_##name(); }) {                             \
        return message.has_##name();                                                  \
      } else {                                                                        \
        return !IsAbsent(message.name());                                             \
      }                                                                               \
    }                                                                                 \
    static void Set(auto& message, const auto& value) {                               \
      message.set_##name(static_cast<std::decay_t<decltype(message.name())>>(value)); \
    }                                                                                 \
    static auto& Mutable(auto& message) { return *message.mutable_##name(); }         \
  };
#include "event_fields.inc"
#undef DPLEDGER_FIELD

template <typename Kind>
using Alternative = Accessors<NameOf(Kind::kName)>;

// Calls visit(the field's accessors, the field, that of `value`) for each until one is not OK.
template <typename Value, typename Visit>
absl::Status ForEachAccessor(Value& value, const Visit& visit) {
  constexpr auto kFields = std::remove_const_t<Value>::Fields();
  absl::Status status;
  const auto visit_one = [&]<size_t kIndex>() {
    constexpr auto kField = std::get<kIndex>(kFields);
    status = visit(Accessors<NameOf(kField.name)>(), kField, std::invoke(kField.member, value));
    return status.ok();
  };
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    static_cast<void>((... && visit_one.template operator()<kIndex>()));
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(kFields)>>());
  return status;
}

// ---- From messages ----

// Kept: protobuf asks itself each time whether it has made it yet, as long as half an event's rules
// take. An atomic, as a child that was forked while another thread held the lock of a static would
// wait for ever (accounting/fork_gate.h).
template <typename From>
absl::Status CheckNoUnknownNumbers(const From& message) {
  static constinit std::atomic<const google::protobuf::Reflection*> kept = nullptr;
  const google::protobuf::Reflection* reflection = kept.load(std::memory_order_acquire);
  if (reflection == nullptr) {
    reflection = message.GetReflection();
    kept.store(reflection, std::memory_order_release);
  }
  return events::CheckNoUnknownNumbers(*reflection, message);
}

template <IsValue Value, typename From>
absl::Status Read(const From& message, Value& value, int depth);

template <typename Kind, typename From, typename Member>
absl::Status ReadAlternative(const From& message, Member& member, int depth) {
  Kind& kind = member.template emplace<Kind>();
  if constexpr (IsBare<Kind>) {
    std::invoke(std::get<0>(Kind::Fields()).member, kind) = Alternative<Kind>::Get(message);
    return absl::OkStatus();
  } else {
    return Within(Kind::kName, Read(Alternative<Kind>::Get(message), kind, depth));
  }
}

template <typename From, typename... Kinds>
absl::Status ReadOneof(const From& message, std::string_view oneof, std::variant<Kinds...>& member,
                       int depth) {
  absl::Status status;
  const bool is_set = (... || (Alternative<Kinds>::Has(message) &&
                               (status = ReadAlternative<Kinds>(message, member, depth), true)));
  return is_set ? status : NoneIsSet(*From::descriptor()->FindOneofByName(std::string(oneof)));
}

template <typename Accessor, typename From, typename Member>
absl::Status ReadField(Accessor accessor, std::string_view name, const From& message,
                       Member& member, int depth) {
  if constexpr (kIsVariant<Member>) {
    return ReadOneof(message, name, member, depth);
  } else if constexpr (IsValue<Member>) {
    RETURN_IF_ERROR(MustBeSet(accessor.Has(message), name));
    return Within(name, Read(accessor.Get(message), member, depth));
  } else if constexpr (kIsVector<Member>) {
    const auto& list = accessor.Get(message);
    if constexpr (!IsValue<typename Member::value_type>) {
      member.assign(list.begin(), list.end());
    } else if constexpr (IsMessage<decltype(list)>) {  // Mark::kOne
      RETURN_IF_ERROR(MustBeSet(accessor.Has(message), name));
      return Within(name, Read(list, member.emplace_back(), depth));
    } else {
      member.reserve(static_cast<size_t>(list.size()));
      for (int i = 0; i < list.size(); ++i) {
        const absl::Status status = Read(list[i], member.emplace_back(), depth);
        if (!status.ok()) return Within(rules::Element(name, i), status);
      }
    }
  } else if (accessor.Has(message)) {  // else as its value has it
    using Number = std::decay_t<decltype(accessor.Get(message))>;
    if constexpr (std::is_enum_v<Member>) {
      member = static_cast<Member>(accessor.Get(message));
    } else {
      static_assert(std::is_same_v<Member, Number> ||
                    std::is_same_v<Member, std::optional<Number>>);
      member = accessor.Get(message);
    }
  }
  return absl::OkStatus();
}

template <IsValue Value, typename From>
absl::Status Read(const From& message, Value& value, int depth) {
  RETURN_IF_ERROR(CheckNoUnknownNumbers(message));
  if constexpr (IsTree<Value>) {
    if (++depth > accountant::kMaxDepth) {
      ASSIGN_OR_RETURN(const std::string_view kind, KindOf(message));
      return accountant::TooDeep(kind);
    }
  }
  return ForEachAccessor(value, [&](auto accessor, const auto& field, auto& member) {
    return ReadField(accessor, field.name, message, member, depth);
  });
}

// Samples and single queries are small by their own rules.
absl::Status CheckBytes(const v1::Event& event) {
  if (!event.has_rounds() && !event.has_mechanism()) return absl::OkStatus();
  const size_t bytes =
      event.has_rounds() ? event.rounds().ByteSizeLong() : event.mechanism().ByteSizeLong();
  if (bytes <= kMaxEventBytes) return absl::OkStatus();
  return FieldError(event.has_rounds() ? "rounds" : "mechanism",
                    absl::StrCat("must be at most ", kMaxEventBytes, " bytes, got ", bytes));
}

template <typename Value, typename From, typename Check>
absl::StatusOr<Value> ReadAll(const From& message, const Check& check) {
  Value value{};
  RETURN_IF_ERROR(Read(message, value, 0));
  RETURN_IF_ERROR(check(value));
  return value;
}

// ---- To messages ----

template <IsValue Value, typename To>
void Write(const Value& value, To& message);

template <typename Member, typename To>
void WriteOneof(const Member& member, To& message) {
  std::visit(
      [&]<typename Kind>(const Kind& kind) {
        if constexpr (IsBare<Kind>) {
          Alternative<Kind>::Set(message, std::invoke(std::get<0>(Kind::Fields()).member, kind));
        } else {
          Write(kind, Alternative<Kind>::Mutable(message));
        }
      },
      member);
}

template <typename Accessor, typename Member, typename To>
void WriteField(Accessor accessor, const Member& member, const Member& absent, To& message) {
  if constexpr (kIsVariant<Member>) {
    WriteOneof(member, message);
  } else if constexpr (IsValue<Member>) {
    Write(member, accessor.Mutable(message));
  } else if constexpr (kIsVector<Member>) {
    for (const auto& element : member) {
      auto& field = accessor.Mutable(message);
      if constexpr (!IsValue<typename Member::value_type>) {
        field.Add(element);
      } else if constexpr (IsMessage<decltype(field)>) {  // Mark::kOne
        Write(element, field);
      } else {
        Write(element, *field.Add());
      }
    }
  } else if constexpr (kIsOptional<Member>) {
    if (member.has_value()) accessor.Set(message, *member);
  } else if (!(member == absent)) {
    accessor.Set(message, member);
  }
}

template <IsValue Value, typename To>
void Write(const Value& value, To& message) {
  const Value absent{};
  ForEachAccessor(value, [&](auto accessor, const auto& field, const auto& member) {
    WriteField(accessor, member, std::invoke(field.member, absent), message);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

absl::StatusOr<accountant::Event> ValueOf(const v1::Event& message) {
  RETURN_IF_ERROR(CheckNoUnknownNumbers(message));
  RETURN_IF_ERROR(CheckBytes(message));
  accountant::Event event;
  RETURN_IF_ERROR(ReadOneof(message, "kind", event, 0));
  RETURN_IF_ERROR(accountant::CheckEvent(event));
  return event;
}
absl::StatusOr<accountant::SamplingScheme> ValueOf(const v1::SamplingScheme& scheme) {
  return ReadAll<accountant::SamplingScheme>(scheme, accountant::CheckScheme);
}
absl::StatusOr<accountant::SumQuery> ValueOf(const v1::SumQuery& query) {
  return ReadAll<accountant::SumQuery>(query, accountant::CheckQuery);
}

void ToMessage(const accountant::Event& event, v1::Event& message) {
  message.Clear();
  WriteOneof(event, message);
}
void ToMessage(const accountant::SamplingScheme& scheme, v1::SamplingScheme& message) {
  message.Clear();
  Write(scheme, message);
}
void ToMessage(const accountant::SumQuery& query, v1::SumQuery& message) {
  message.Clear();
  Write(query, message);
}

absl::Status CheckEvent(const v1::Event& event) { return ValueOf(event).status(); }

}  // namespace dpledger::events
