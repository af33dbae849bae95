#include "events/event_values.h"

#include <array>
#include <atomic>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "accountant/event/fields.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"
#include "google/protobuf/reflection.h"

namespace dpledger::events {
namespace {

using accountant::IsBare;
using accountant::IsTree;
using accountant::IsValue;
using accountant::kIsOptional;
using accountant::kIsVariant;
using accountant::kIsVector;
using accountant::Mark;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// An entry has at most 65,535 bytes; what stands around an event in it takes less than 300.
constexpr size_t kMaxEventBytes = 65'200;

// ---- Where a value's fields are in its message ----

// Looked up once for each type: by name it takes longer than all checks of an event.
struct Place {
  const FieldDescriptor* field = nullptr;
  const OneofDescriptor* oneof = nullptr;
  // Of a oneof: which alternative its fields are, by their order in the .proto, and the reverse.
  std::vector<size_t> alternatives;
  std::vector<const FieldDescriptor*> fields;
};

template <typename... Kinds>
void FindAlternatives(const std::variant<Kinds...>&, Place& place) {
  const auto number = static_cast<size_t>(place.oneof->field_count());
  place.alternatives.assign(number, sizeof...(Kinds));
  for (const char* name : {Kinds::kName...}) {
    const FieldDescriptor* field = place.oneof->containing_type()->FindFieldByName(name);
    place.alternatives[static_cast<size_t>(field->index_in_oneof())] = place.fields.size();
    place.fields.push_back(field);
  }
}

// Of an event, which is its oneof alone, and of a value.
template <typename Value>
struct Places {
  explicit Places(const Message& message)
      : reflection(*message.GetReflection()), descriptor(*message.GetDescriptor()) {
    const Value example{};
    if constexpr (IsValue<Value>) {
      size_t i = 0;
      ForEachField(example, [&](const auto& field, const auto& member) {
        of[i++] = Find(std::string(field.name), member);
        return absl::OkStatus();
      }).IgnoreError();
    } else {
      of[0] = Find("kind", example);
    }
  }
  template <typename Member>
  Place Find(const std::string& name, const Member& member) const {
    Place place;
    if constexpr (kIsVariant<Member>) {
      place.oneof = descriptor.FindOneofByName(name);
      FindAlternatives(member, place);
    } else {
      place.field = descriptor.FindFieldByName(name);
    }
    return place;
  }

  static constexpr size_t Size() {
    if constexpr (IsValue<Value>) {
      return std::tuple_size_v<decltype(Value::Fields())>;
    } else {
      return 1;
    }
  }
  const Reflection& reflection;
  const Descriptor& descriptor;
  std::array<Place, Size()> of;
};

// Each type of value is read from one type of message. Without a lock, as a child that was forked
// while another thread held it would wait for ever (accounting/fork_gate.h): of two that are made
// at the same time one goes again.
template <typename Value>
const Places<Value>& PlacesIn(const Message& message) {
  static constinit std::atomic<const Places<Value>*> kept = nullptr;
  const Places<Value>* places = kept.load(std::memory_order_acquire);
  if (places != nullptr) return *places;
  auto made = std::make_unique<const Places<Value>>(message);
  if (kept.compare_exchange_strong(places, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *places;
}

// ---- From messages ----

template <IsValue Value>
absl::Status Read(const Message& message, Value& value, int depth);

template <typename T>
T GetNumber(const Message& message, const Reflection& reflection, const FieldDescriptor* field) {
  if constexpr (std::is_same_v<T, double>) return reflection.GetDouble(message, field);
  if constexpr (std::is_same_v<T, uint64_t>) return reflection.GetUInt64(message, field);
  if constexpr (std::is_same_v<T, bool>) return reflection.GetBool(message, field);
  if constexpr (std::is_same_v<T, std::string>) return reflection.GetString(message, field);
  if constexpr (std::is_enum_v<T>) return static_cast<T>(reflection.GetEnumValue(message, field));
}

template <typename... Kinds>
absl::Status ReadOneof(const Message& message, const Reflection& reflection, const Place& place,
                       std::variant<Kinds...>& member, int depth) {
  const FieldDescriptor* field = reflection.GetOneofFieldDescriptor(message, place.oneof);
  if (field == nullptr) {
    std::vector<std::string> names;
    for (int i = 0; i < place.oneof->field_count(); ++i)
      names.push_back(place.oneof->field(i)->name());
    return FieldError(place.oneof->name(),
                      absl::StrCat("must be set to one of ", absl::StrJoin(names, ", ")));
  }
  const size_t alternative = place.alternatives[static_cast<size_t>(field->index_in_oneof())];
  absl::Status status;
  const auto read = [&]<typename Kind>(Kind& kind) {
    if constexpr (IsBare<Kind>) {
      std::invoke(std::get<0>(Kind::Fields()).member, kind) = reflection.GetDouble(message, field);
    } else {
      status = Within(field->name(), Read(reflection.GetMessage(message, field), kind, depth));
    }
  };
  size_t i = 0;
  static_cast<void>(
      (... || (i++ == alternative && (read(member.template emplace<Kinds>()), true))));
  return status;
}

template <typename Member>
absl::Status ReadField(const Message& message, const Reflection& reflection, const Place& place,
                       Mark mark, Member& member, int depth) {
  const FieldDescriptor* field = place.field;
  if constexpr (kIsVariant<Member>) {
    return ReadOneof(message, reflection, place, member, depth);
  } else if constexpr (IsValue<Member>) {
    RETURN_IF_ERROR(MustBeSet(reflection.HasField(message, field), field->name()));
    return Within(field->name(), Read(reflection.GetMessage(message, field), member, depth));
  } else if constexpr (kIsVector<Member>) {
    using Element = typename Member::value_type;
    if constexpr (!IsValue<Element>) {
      const auto list = reflection.GetRepeatedFieldRef<Element>(message, field);
      member.assign(list.begin(), list.end());
    } else if (mark == Mark::kOne) {
      RETURN_IF_ERROR(MustBeSet(reflection.HasField(message, field), field->name()));
      return Within(field->name(),
                    Read(reflection.GetMessage(message, field), member.emplace_back(), depth));
    } else {
      const int size = reflection.FieldSize(message, field);
      member.reserve(static_cast<size_t>(size));
      for (int i = 0; i < size; ++i) {
        const absl::Status status =
            Read(reflection.GetRepeatedMessage(message, field, i), member.emplace_back(), depth);
        if (!status.ok()) return Within(rules::Element(field->name(), i), status);
      }
    }
  } else if constexpr (kIsOptional<Member>) {
    if (reflection.HasField(message, field))
      member = GetNumber<typename Member::value_type>(message, reflection, field);
  } else if (reflection.HasField(message, field)) {  // else as its value has it
    member = GetNumber<Member>(message, reflection, field);
  }
  return absl::OkStatus();
}

template <IsValue Value>
absl::Status Read(const Message& message, Value& value, int depth) {
  const Places<Value>& places = PlacesIn<Value>(message);
  RETURN_IF_ERROR(CheckNoUnknownNumbers(places.reflection, message));
  if constexpr (IsTree<Value>) {
    if (++depth > accountant::kMaxDepth) {
      ASSIGN_OR_RETURN(const std::string_view kind, KindOf(message));
      return accountant::TooDeep(kind);
    }
  }
  const Place* place = places.of.data();
  return ForEachField(value, [&](const auto& field, auto& member) {
    return ReadField(message, places.reflection, *place++, field.mark, member, depth);
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

template <typename Value, typename Check>
absl::StatusOr<Value> ReadAll(const Message& message, const Check& check) {
  Value value{};
  RETURN_IF_ERROR(Read(message, value, 0));
  RETURN_IF_ERROR(check(value));
  return value;
}

// ---- To messages ----

template <IsValue Value>
void Write(const Value& value, Message& message);

template <typename T>
void SetNumber(const T& number, const Reflection& reflection, const FieldDescriptor* field,
               Message& message) {
  if constexpr (std::is_same_v<T, double>) reflection.SetDouble(&message, field, number);
  if constexpr (std::is_same_v<T, uint64_t>) reflection.SetUInt64(&message, field, number);
  if constexpr (std::is_same_v<T, bool>) reflection.SetBool(&message, field, number);
  if constexpr (std::is_same_v<T, std::string>) reflection.SetString(&message, field, number);
  if constexpr (std::is_enum_v<T>)
    reflection.SetEnumValue(&message, field, static_cast<int>(number));
}

template <typename Member>
void WriteOneof(const Member& member, const Reflection& reflection, const Place& place,
                Message& message) {
  const FieldDescriptor* field = place.fields[member.index()];
  std::visit(
      [&]<typename Kind>(const Kind& kind) {
        if constexpr (IsBare<Kind>) {
          reflection.SetDouble(&message, field,
                               std::invoke(std::get<0>(Kind::Fields()).member, kind));
        } else {
          Write(kind, *reflection.MutableMessage(&message, field));
        }
      },
      member);
}

template <typename Member>
void WriteField(const Member& member, const Member& absent, const Reflection& reflection,
                const Place& place, Mark mark, Message& message) {
  const FieldDescriptor* field = place.field;
  if constexpr (kIsVariant<Member>) {
    WriteOneof(member, reflection, place, message);
  } else if constexpr (IsValue<Member>) {
    Write(member, *reflection.MutableMessage(&message, field));
  } else if constexpr (kIsVector<Member>) {
    using Element = typename Member::value_type;
    for (const auto& element : member) {
      if constexpr (!IsValue<Element>) {
        reflection.GetMutableRepeatedFieldRef<Element>(&message, field).Add(element);
      } else {
        Write(element, mark == Mark::kOne ? *reflection.MutableMessage(&message, field)
                                          : *reflection.AddMessage(&message, field));
      }
    }
  } else if constexpr (kIsOptional<Member>) {
    if (member.has_value()) SetNumber(*member, reflection, field, message);
  } else if (!(member == absent)) {
    SetNumber(member, reflection, field, message);
  }
}

template <IsValue Value>
void Write(const Value& value, Message& message) {
  const Places<Value>& places = PlacesIn<Value>(message);
  const Place* place = places.of.data();
  const Value absent{};
  ForEachField(value, [&](const auto& field, const auto& member) {
    WriteField(member, std::invoke(field.member, absent), places.reflection, *place++, field.mark,
               message);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

absl::StatusOr<accountant::Event> ValueOf(const v1::Event& message) {
  const auto& places = PlacesIn<accountant::Event>(message);
  RETURN_IF_ERROR(CheckNoUnknownNumbers(places.reflection, message));
  RETURN_IF_ERROR(CheckBytes(message));
  accountant::Event event;
  RETURN_IF_ERROR(ReadOneof(message, places.reflection, places.of[0], event, 0));
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
  const auto& places = PlacesIn<accountant::Event>(message);
  message.Clear();
  WriteOneof(event, places.reflection, places.of[0], message);
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
