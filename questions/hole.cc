#include "questions/hole.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::questions {
namespace {

using events::Element;
using events::Within;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Far beyond what is used, and squares stay normal doubles.
constexpr double kLeastReal = 1e-9, kGreatestReal = 1e9;
constexpr double kLeastProbability = 1e-18;

absl::Status Bad(const std::string& path, absl::string_view what) {
  return FieldError("hole", absl::StrCat(what, ", got \"", path, "\""));
}

// "queries[3]" as a name and an index; -1 without one.
bool Split(absl::string_view part, std::string& name, int& index) {
  const size_t open = part.find('[');
  name = std::string(part.substr(0, open));
  index = -1;
  if (open == absl::string_view::npos) return !name.empty();
  return part.back() == ']' &&
         absl::SimpleAtoi(part.substr(open + 1, part.size() - open - 2), &index) && index >= 0;
}

const FieldDescriptor* FindField(const Message& message, const std::string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  return field != nullptr ? field : message.GetDescriptor()->FindFieldByCamelcaseName(name);
}

bool IsProbability(const FieldDescriptor& field) {
  const std::string& name = field.name();
  return absl::StrContains(name, "probability") || name == "delta" ||
         (name == "noise_parameter" && field.containing_type()->name() == "RandomizedResponse");
}

// The rounds that an epoch scheme's count is a multiple of; 1 for other schemes.
double RoundsPerEpoch(const v1::RoundsEvent& rounds) {
  const absl::StatusOr<accountant::SamplingScheme> scheme = events::ValueOf(rounds.scheme());
  const std::optional<accountant::Epoch> epoch =
      scheme.ok() ? accountant::EpochOf(*scheme) : std::nullopt;
  return epoch.has_value() ? static_cast<double>(epoch->rounds) : 1;
}

}  // namespace

absl::StatusOr<Hole> Hole::At(const std::string& path, std::vector<v1::Event> events) {
  Hole hole;
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  std::string name;
  if (!Split(parts.front(), name, hole.event_) || name != "events" || hole.event_ < 0 ||
      static_cast<size_t>(hole.event_) >= events.size()) {
    return Bad(path,
               absl::StrCat("must begin with one of events[0] to events[", events.size() - 1, "]"));
  }
  hole.message_ = std::move(events[hole.event_]);
  Message* at = &hole.message_;
  for (size_t i = 1; i < parts.size(); ++i) {
    int index;
    if (!Split(parts[i], name, index)) return Bad(path, "must be a path of field names");
    const FieldDescriptor* field = FindField(*at, name);
    const auto* reflection = at->GetReflection();
    if (field == nullptr) {
      return Bad(path, absl::StrCat("has no field ", name, " in ", at->GetDescriptor()->name()));
    }
    if (field->is_repeated() != (index >= 0) ||
        (field->is_repeated() && index >= reflection->FieldSize(*at, field))) {
      return Bad(path,
                 absl::StrCat(
                     name, " needs an index of an element that is there, and only a list has one"));
    }
    hole.path_.push_back({field, index});
    const bool is_last = i + 1 == parts.size();
    if ((field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) == is_last) {
      return Bad(path, "must lead to a number");
    }
    if (is_last) break;
    if (!field->is_repeated() && !reflection->HasField(*at, field)) {
      return Bad(path, absl::StrCat(name, " must be set"));
    }
    at = field->is_repeated() ? reflection->MutableRepeatedMessage(at, field, index)
                              : reflection->MutableMessage(at, field);
  }
  if (hole.path_.empty()) return Bad(path, "must lead to a number");

  const FieldDescriptor& field = *hole.path_.back().field;
  const int index = hole.path_.back().index;
  const auto* reflection = at->GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    hole.least_ = IsProbability(field) ? kLeastProbability : kLeastReal;
    hole.greatest_ = IsProbability(field) ? 1 : kGreatestReal;
    hole.start_ = index < 0 ? reflection->GetDouble(*at, &field)
                            : reflection->GetRepeatedDouble(*at, &field, index);
    if (!(hole.start_ >= hole.least_ && hole.start_ <= hole.greatest_)) {
      hole.start_ = IsProbability(field) ? 0.01 : 1;
    }
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    const bool counts_rounds = field.containing_type() == v1::RoundsEvent::descriptor();
    hole.unit_ = counts_rounds ? RoundsPerEpoch(hole.message_.rounds()) : 1;
    hole.least_ = hole.unit_;
    hole.greatest_ = std::floor(0x1p53 / hole.unit_) * hole.unit_;
    const auto start =
        static_cast<double>(index < 0 ? reflection->GetUInt64(*at, &field)
                                      : reflection->GetRepeatedUInt64(*at, &field, index));
    hole.start_ =
        std::clamp(std::nearbyint(start / hole.unit_) * hole.unit_, hole.least_, hole.greatest_);
  } else {
    return Bad(path, "must lead to a number");
  }
  events.erase(events.begin() + hole.event_);
  for (size_t i = 0; i < events.size(); ++i) {
    const int place = static_cast<int>(i) + (static_cast<int>(i) >= hole.event_ ? 1 : 0);
    ASSIGN_OR_RETURN(accountant::Event value,
                     Within(Element("events", place), events::ValueOf(events[i])));
    hole.events_.push_back(std::move(value));
  }
  return std::move(hole).WithinItsRules();
}

Hole Hole::WithinItsRules() && {
  if (Fill(start_).ok()) {
    least_ = LastValid(least_);
    greatest_ = LastValid(greatest_);
  }
  return std::move(*this);
}

double Hole::LastValid(double end) const {
  double valid = start_;
  for (double tried = end; tried != valid;) {
    (Fill(tried).ok() ? valid : end) = tried;
    if (valid == end) break;
    tried = std::sqrt(valid * end);
    if (unit_ > 0) tried = std::nearbyint(tried / unit_) * unit_;
    if (tried == end) break;
  }
  return valid;
}

absl::StatusOr<accountant::History> Hole::Fill(double x) const {
  v1::Event message = message_;
  Message* at = &message;
  for (size_t i = 0; i + 1 < path_.size(); ++i) {
    const auto& [field, index] = path_[i];
    at = index < 0 ? at->GetReflection()->MutableMessage(at, field)
                   : at->GetReflection()->MutableRepeatedMessage(at, field, index);
  }
  const auto& [field, index] = path_.back();
  const auto* reflection = at->GetReflection();
  if (unit_ == 0) {
    if (index < 0) reflection->SetDouble(at, field, x);
    if (index >= 0) reflection->SetRepeatedDouble(at, field, index, x);
  } else {
    const auto count = static_cast<uint64_t>(x);
    if (index < 0) reflection->SetUInt64(at, field, count);
    if (index >= 0) reflection->SetRepeatedUInt64(at, field, index, count);
  }
  ASSIGN_OR_RETURN(const accountant::Event filled,
                   Within(Element("events", event_), events::ValueOf(message)));
  accountant::History history;
  for (size_t i = 0; i <= events_.size(); ++i) {
    if (static_cast<int>(i) == event_) history.Add("", filled);
    if (i < events_.size()) history.Add("", events_[i]);
  }
  return history;
}

}  // namespace dpledger::questions
