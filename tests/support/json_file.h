// Reads the values that tests compare with: a JSON file below the source tree, as protobuf's
// Struct.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "gtest/gtest.h"

namespace dpledger::testing {

using JsonObject = google::protobuf::Map<std::string, google::protobuf::Value>;
using JsonList = google::protobuf::RepeatedPtrField<google::protobuf::Value>;

// `path` is relative to the source tree. A test that cannot read its values fails.
inline google::protobuf::Struct ReadJsonFile(const std::string& path) {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  const auto json = ReadFile(std::string(source != nullptr ? source : ".") + "/" + path);
  EXPECT_TRUE(json.ok()) << json.status();
  google::protobuf::Struct values;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json.value_or("{}"), &values);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString();
  return values;
}

inline const JsonList& ListAt(const google::protobuf::Struct& object, const std::string& key) {
  return object.fields().at(key).list_value().values();
}
inline double NumberAt(const google::protobuf::Struct& object, const std::string& key) {
  return object.fields().at(key).number_value();
}
inline std::string StringAt(const google::protobuf::Struct& object, const std::string& key) {
  return object.fields().at(key).string_value();
}

}  // namespace dpledger::testing
