// The head of an HTTP/1.1 message: its bytes are judged before Beast's parser sees them, and an
// answer's head is written.
//
// Two readers of one connection (a proxy and this server) must never disagree where a request
// ends. So a head is refused if any two known readers could read it differently (RFC 9112, sections
// 2.2, 5, 6 and 11.2), and not only if it is wrong. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace dpledger::http {

// Why a request is not served: the answer, after which the connection ends.
struct Refusal {
  int status = 400;
  std::string message;
};

// Looks for the end of a head in `bytes`, of which the first `*seen` have been looked at before;
// moves `*seen` on. Nothing: there is no end yet. 0 bytes: no more bytes can make it a head (a bare
// CR or LF, or NUL).
std::optional<size_t> FindHeadEnd(std::string_view bytes, size_t* seen);

// Refuses: a request line that is not METHOD SP target SP HTTP/1.0 or 1.1; a header that is folded,
// has no name, space before its colon or a control character; more than `max_headers`; a header
// twice that may stand once (HostAndLength below, and authorization, content-type, …);
// transfer-encoding beside content-length, in HTTP/1.0, or other than "chunked"; content-length
// that is not a plain decimal number; no host in HTTP/1.1. `head` includes its last empty line.
std::optional<Refusal> CheckHead(std::string_view head, size_t max_headers);

struct Target {
  std::string path;
  std::string query;
  bool operator==(const Target&) const = default;
};

// Decoded once; nothing where a percent sign stands without two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

// Reads "/a/b%20c?query". Refused (nothing): another form than this one; a path that has, after
// decoding once, an empty segment before its last one, "." or "..", '\\', a control character or
// bytes that are not UTF-8; a percent sign without two hexadecimal digits, or one that hides '/',
// '.' or '\\'.
std::optional<Target> ParseTarget(std::string_view target);

// Whether `host` ("localhost:7072") names one of `allowed`: "name" (any port) or "name:port", in
// lower case.
bool HostAllowed(std::string_view host, const std::vector<std::string>& allowed);

// "HTTP/1.1 200 OK\r\n…\r\n\r\n" of `response`. `framing` comes first: lines that end with \r\n.
// A header whose name or value cannot be sent (a line break in it) is left out.
std::string WriteHead(const Response& response, std::string_view framing);

}  // namespace dpledger::http
