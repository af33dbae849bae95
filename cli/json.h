// The JSON that the program prints: objects whose members come in the order they are added.
//
// A number has the fewest digits that name the double exactly. JSON has no infinity: it is the
// string "Infinity".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dpledger::cli {

// `text` in quotes, escaped. Bytes that are not UTF-8 come out as the code points of the same
// numbers.
std::string JsonString(const std::string& text);
// Never called with NaN: no answer contains one.
std::string JsonNumber(double value);
// "[a,b]" of values that are JSON already.
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
  // A member whose value is JSON already.
  JsonObject& AddJson(const std::string& key, const std::string& json);

  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace dpledger::cli
