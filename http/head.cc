#include "http/head.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "boost/beast/http/status.hpp"

namespace dpledger::http {
namespace {

// Two of one of these could be read as either. (A list in two lines, such as accept-encoding, is
// HTTP.)
constexpr std::array<std::string_view, 14> kOnce = {
    "host",          "content-length",  "transfer-encoding",
    "authorization", "content-type",    "content-encoding",
    "expect",        "origin",          "upgrade",
    "referer",       "user-agent",      "sec-fetch-site",
    "range",         "content-location"};

bool IsTokenByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenByte);
}

bool IsControl(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x20 || value == 0x7f;
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char byte) { return IsControl(byte) && byte != '\t'; });
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<Refusal> CheckRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !IsToken(line.substr(0, first))) {
    return Refusal{400, "not an HTTP/1.1 request"};
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  const bool visible = std::all_of(target.begin(), target.end(),
                                   [](char byte) { return byte > 0x20 && byte < 0x7f; });
  if (target.empty() || !visible) {
    return Refusal{400, "the target of the request has a character that must be percent-encoded"};
  }
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return std::nullopt;
  if (version.substr(0, 5) == "HTTP/") return Refusal{505, "this server speaks HTTP/1.1"};
  return Refusal{400, "not an HTTP/1.1 request"};
}

std::optional<Refusal> CheckFraming(const Headers& headers, bool http_1_0) {
  for (const std::string_view name : kOnce) {
    if (Count(headers, name) > 1) {
      return Refusal{400, absl::StrCat("the header ", ToAbsl(name), " must not be there twice")};
    }
  }
  const auto length = Find(headers, "content-length");
  const auto encoding = Find(headers, "transfer-encoding");
  if (encoding.has_value()) {
    if (length.has_value()) {
      return Refusal{400, "content-length must not stand beside transfer-encoding"};
    }
    if (http_1_0) return Refusal{400, "HTTP/1.0 has no transfer-encoding"};
    if (absl::AsciiStrToLower(ToAbsl(*encoding)) != "chunked") {
      return Refusal{501, "transfer-encoding: must be chunked"};
    }
  }
  if (length.has_value() &&
      (length->empty() || !std::all_of(length->begin(), length->end(),
                                       [](char byte) { return byte >= '0' && byte <= '9'; }))) {
    return Refusal{400, "content-length: must be a decimal number"};
  }
  if (!http_1_0 && !Find(headers, "host").has_value()) {
    return Refusal{400, "the header host is missing"};
  }
  return std::nullopt;
}

// As RFC 9110 names them; Beast has two of its predecessor's names.
std::string ReasonPhrase(int status) {
  if (status == 413) return "Content Too Large";
  if (status == 422) return "Unprocessable Content";
  return std::string(
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status)));
}

}  // namespace

std::optional<size_t> FindHeadEnd(std::string_view bytes, size_t* seen) {
  for (size_t i = *seen; i < bytes.size(); ++i) {
    const char byte = bytes[i];
    const bool after_cr = i > 0 && bytes[i - 1] == '\r';
    if ((byte == '\n') != after_cr || byte == '\0') return 0;
    if (byte == '\n' && i >= 3 && bytes[i - 2] == '\n') return i + 1;
    *seen = i + 1;
  }
  return std::nullopt;
}

std::optional<Refusal> CheckHead(std::string_view head, size_t max_headers) {
  const size_t first_end = head.find("\r\n");
  const std::string_view first_line = head.substr(0, first_end);
  if (auto refusal = CheckRequestLine(first_line)) return refusal;
  Headers headers;
  for (size_t begin = first_end + 2; begin < head.size();) {
    const size_t end = head.find("\r\n", begin);
    const std::string_view line = head.substr(begin, end - begin);
    begin = end + 2;
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !IsToken(line.substr(0, colon)) ||
        HasControl(line.substr(colon))) {
      return Refusal{400, "a header line is folded, or is not 'name: value'"};
    }
    if (headers.size() == max_headers) return Refusal{431, "too many headers"};
    headers.emplace_back(absl::AsciiStrToLower(ToAbsl(line.substr(0, colon))),
                         Trim(line.substr(colon + 1)));
  }
  return CheckFraming(headers, first_line.back() == '0');
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const absl::StatusOr<std::string> byte = HexDecode(text.substr(i + 1, 2));
    if (!byte.ok() || byte->size() != 1) return std::nullopt;
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

std::optional<Target> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const size_t mark = target.find('?');
  const std::string written = absl::AsciiStrToLower(ToAbsl(target.substr(0, mark)));
  std::optional<std::string> path = PercentDecode(target.substr(0, mark));
  if (absl::StrContains(written, "%2f") || absl::StrContains(written, "%2e") || !path.has_value() ||
      absl::StrContains(*path, '\\') || std::any_of(path->begin(), path->end(), IsControl) ||
      !IsUtf8(*path)) {
    return std::nullopt;
  }
  for (size_t begin = 1; begin <= path->size();) {
    const size_t end = std::min(path->find('/', begin), path->size());
    const std::string_view segment = std::string_view(*path).substr(begin, end - begin);
    const bool last = end == path->size();
    if (segment == "." || segment == ".." || (segment.empty() && !last)) return std::nullopt;
    begin = end + 1;
  }
  if (target.find('#') != std::string_view::npos) return std::nullopt;
  return Target{*std::move(path),
                mark == std::string_view::npos ? "" : std::string(target.substr(mark + 1))};
}

bool HostAllowed(std::string_view host, const std::vector<std::string>& allowed) {
  const std::string asked = absl::AsciiStrToLower(ToAbsl(host));
  // The colon of a port comes after the bracket of an IPv6 address.
  const size_t colon = asked.find(':', asked.empty() || asked[0] != '[' ? 0 : asked.find(']'));
  const std::string name = asked.substr(0, colon);
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& one) { return one == name || one == asked; });
}

std::string WriteHead(const Response& response, std::string_view framing) {
  std::string head = absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status),
                                  "\r\n", ToAbsl(framing));
  for (const auto& [name, value] : response.headers) {
    if (IsToken(name) && !HasControl(value)) {
      absl::StrAppend(&head, name, ": ", value, "\r\n");
    }
  }
  return head + "\r\n";
}

}  // namespace dpledger::http
