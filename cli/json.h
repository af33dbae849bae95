// The JSON that the program prints. An object's members come in the order they are added.
//
// A number has the fewest digits that identify the double. JSON has no infinity, so it is the
// string "Infinity".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_text.h"

namespace dpledger::cli {

// Precondition: not NaN; no answer contains one.
std::string JsonNumber(double value);
// "[a,b]". The values are JSON.
std::string JsonArray(const std::vector<std::string>& values);
// The array of json(item) for each of `items`.
template <typename Items, typename ToJson>
std::string JsonList(const Items& items, ToJson&& json) {
  std::vector<std::string> values;
  for (const auto& item : items) values.push_back(json(item));
  return JsonArray(values);
}

class JsonObject {
 public:
  JsonObject& AddText(const std::string& key, const std::string& text);
  JsonObject& AddTexts(const std::string& key, const std::vector<std::string>& texts);
  JsonObject& AddNumber(const std::string& key, double value);
  JsonObject& AddCount(const std::string& key, uint64_t value);
  JsonObject& AddFlag(const std::string& key, bool value);
  // Adds a member whose value is JSON.
  JsonObject& AddJson(const std::string& key, const std::string& json);

  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace dpledger::cli
