#include "certify/json_fields.h"

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace dpledger::certify {
namespace {

std::string InCamelCase(std::string_view name) {
  std::string camel;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool joins = name[i] == '_' && i + 1 < name.size();
    camel +=
        joins ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i]))) : name[i];
  }
  return camel;
}

}  // namespace

absl::Status CheckFieldsOnce(std::string_view json) {
  std::vector<std::set<std::string>> objects;  // the names in those around
  std::string_view text;                       // the last string, if nothing came after it
  bool is_text = false;
  for (size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (letter == '"') {
      size_t end = at + 1;
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      if (end >= json.size()) return absl::InvalidArgumentError("a string without an end");
      text = json.substr(at + 1, end - at - 1), is_text = true;
      at = end;
      continue;
    }
    if (letter == '{') objects.emplace_back();
    if (letter == '}' && !objects.empty()) objects.pop_back();
    if (letter == '\'') return absl::InvalidArgumentError("strings must be in double quotes");
    if (letter == ':') {
      const std::string name(text);
      if (!is_text || objects.empty() || name.find('\\') != std::string::npos)
        return absl::InvalidArgumentError("names of fields must be in double quotes, as they are");
      if (!objects.back().insert(InCamelCase(name)).second)
        return FieldError(name, "must be given once");
    }
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) is_text = false;
  }
  return absl::OkStatus();
}

}  // namespace dpledger::certify
