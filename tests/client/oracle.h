// Values that tests/oracle/client_randomness.py computed from the text of docs/formats.md.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/file.h"
#include "gtest/gtest.h"

namespace dpledger::client {

using JsonList = google::protobuf::RepeatedPtrField<google::protobuf::Value>;
using JsonObject = google::protobuf::Map<std::string, google::protobuf::Value>;

inline google::protobuf::Struct LoadOracle() {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  auto json = ReadFile(std::string(source ? source : ".") + "/tests/oracle/client_randomness.json");
  EXPECT_TRUE(json.ok()) << json.status();
  google::protobuf::Struct oracle;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json.value_or("{}"), &oracle);
  EXPECT_TRUE(parsed.ok()) << parsed;
  return oracle;
}

inline const JsonList& ListAt(const JsonObject& object, const std::string& key) {
  return object.at(key).list_value().values();
}

inline double NumberAt(const JsonObject& object, const std::string& key) {
  return object.at(key).number_value();
}

// Integers below 2^53 are JSON numbers, words are strings.
inline std::vector<int64_t> IntegersAt(const JsonObject& object, const std::string& key) {
  std::vector<int64_t> result;
  for (const auto& value : ListAt(object, key)) {
    result.push_back(static_cast<int64_t>(value.number_value()));
  }
  return result;
}

inline std::vector<uint64_t> WordsAt(const JsonObject& object, const std::string& key) {
  std::vector<uint64_t> result;
  for (const auto& value : ListAt(object, key)) {
    uint64_t word = 0;
    EXPECT_TRUE(absl::SimpleAtoi(value.string_value(), &word));
    result.push_back(word);
  }
  return result;
}

}  // namespace dpledger::client
