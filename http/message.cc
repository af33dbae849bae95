#include "http/message.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"

namespace dpledger::http {

std::optional<std::string_view> Find(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Last(const Headers& headers, std::string_view name) {
  const auto last = std::find_if(headers.rbegin(), headers.rend(),
                                 [&](const auto& header) { return header.first == name; });
  return last == headers.rend() ? std::nullopt : std::optional<std::string_view>(last->second);
}

size_t Count(const Headers& headers, std::string_view name) {
  return static_cast<size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; }));
}

Response PlainResponse(int status, std::string_view text) {
  return {.status = status,
          .headers = {{"content-type", "text/plain; charset=utf-8"}, {"cache-control", "no-store"}},
          .body = std::string(text) + "\n"};
}

}  // namespace dpledger::http
