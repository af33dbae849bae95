#include "tests/cli/json_object.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace dpledger::testing {

JsonObject::JsonObject(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &object_);
  EXPECT_TRUE(status.ok()) << status.ToString() << " in " << text;
}

bool JsonObject::Has(const std::string& key) const { return object_.fields().count(key) > 0; }

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.fields()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

const google::protobuf::Value& JsonObject::At(const std::string& path) const {
  static const google::protobuf::Value& missing = *new google::protobuf::Value;
  const google::protobuf::Struct* object = &object_;
  const google::protobuf::Value* value = &missing;
  for (const std::string& key : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    const auto& items = value->list_value().values();
    int index = 0;
    const auto found = object->fields().find(key);
    if (found != object->fields().end()) {
      value = &found->second;
    } else if (absl::SimpleAtoi(key, &index) && index < items.size()) {
      value = &items[index];
    } else {
      ADD_FAILURE() << "no member " << path;
      return missing;
    }
    object = &value->struct_value();
  }
  return *value;
}

double JsonObject::Number(const std::string& path) const {
  double number = At(path).number_value();
  const bool is_text = At(path).has_string_value();  // 64-bit integers, infinity
  EXPECT_TRUE(is_text ? absl::SimpleAtod(At(path).string_value(), &number)
                      : At(path).has_number_value())
      << path;
  return number;
}

bool JsonObject::Flag(const std::string& path) const {
  EXPECT_EQ(At(path).kind_case(), google::protobuf::Value::kBoolValue) << path;
  return At(path).bool_value();
}

std::string JsonObject::Text(const std::string& path) const {
  EXPECT_TRUE(At(path).has_string_value()) << path;
  return At(path).string_value();
}

std::vector<google::protobuf::Value> JsonObject::Array(const std::string& path) const {
  EXPECT_TRUE(At(path).has_list_value()) << path;
  const auto& values = At(path).list_value().values();
  return {values.begin(), values.end()};
}

std::vector<std::string> JsonObject::Texts(const std::string& path) const {
  std::vector<std::string> texts;
  for (const auto& value : Array(path)) texts.push_back(value.string_value());
  return texts;
}

}  // namespace dpledger::testing
