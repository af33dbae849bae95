#include "cli/json.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/number_text.h"

namespace dpledger::cli {
std::string JsonNumber(double value) {
  const std::string text = ExactText(value);
  return std::isinf(value) ? JsonString(text) : text;
}

std::string JsonArray(const std::vector<std::string>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

JsonObject& JsonObject::AddJson(const std::string& key, const std::string& json) {
  absl::StrAppend(&members_, members_.empty() ? "" : ",", JsonString(key), ":", json);
  return *this;
}

JsonObject& JsonObject::AddText(const std::string& key, const std::string& text) {
  return AddJson(key, JsonString(text));
}

JsonObject& JsonObject::AddTexts(const std::string& key, const std::vector<std::string>& texts) {
  return AddJson(key, JsonList(texts, &JsonString));
}

JsonObject& JsonObject::AddNumber(const std::string& key, double value) {
  return AddJson(key, JsonNumber(value));
}

JsonObject& JsonObject::AddCount(const std::string& key, uint64_t value) {
  return AddJson(key, absl::StrCat(value));
}

JsonObject& JsonObject::AddFlag(const std::string& key, bool value) {
  return AddJson(key, value ? "true" : "false");
}

}  // namespace dpledger::cli
