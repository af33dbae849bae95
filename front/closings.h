// Why the front does not take a connection, or ends it.
#pragma once

#include <array>
#include <cstddef>

namespace dpledger::front {

enum class Closing {
  kTooMany,
  kTooManyOfHost,
  kSpent,
  kNoRequest,
  kReadsNothing,
  kTooManyFrames,
  kLongFrame,
  kHandshake,
  kNoProxyHeader,
  kCertificate,
  kNoDescriptors,
  kNotAccepted,
  kFailed
};

struct ClosingWords {
  const char* label;    // for metrics
  const char* meaning;  // for people
};

// By the number of the closing.
inline constexpr std::array<ClosingWords, 13> kClosings = {{
    {"too_many", "every connection is taken"},
    {"too_many_of_host", "too many connections of this address"},
    {"host_spent", "too many resets and control frames, or connections in a short time"},
    {"no_request", "no request within the time for it"},
    {"reads_nothing", "it reads nothing"},
    {"too_many_frames", "too many resets and control frames"},
    {"long_frame", "a frame longer than HTTP/2 allows"},
    {"handshake", "the TLS handshake failed"},
    {"no_proxy_header", "no PROXY header from a trusted proxy"},
    {"certificate_taken_back", "its certificate is not good any more"},
    {"no_descriptors", "no descriptors"},
    {"not_accepted", "accept"},
    {"failed", "an error of the front's own"},
}};

inline const ClosingWords& WordsOf(Closing closing) {
  return kClosings[static_cast<size_t>(closing)];
}

}  // namespace dpledger::front
