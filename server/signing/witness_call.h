// One HTTP call to a witness, in plain text or by TLS.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace dpledger::server {

// Where a witness is: "http://HOST:PORT" or "https://HOST", with a path if it has a prefix.
struct WitnessUrl {
  bool tls = false;
  std::string host;    // without the brackets of IPv6
  uint16_t port = 0;   // 80 or 443 where the text has none
  std::string named;   // host and port as they were given, for the header
  std::string prefix;  // of all paths, without a slash at its end

  // INVALID_ARGUMENT for text of another form.
  static absl::StatusOr<WitnessUrl> Parse(const std::string& text);
};

struct WitnessAnswer {
  int status = 0;
  std::string body;
};

// INVALID_ARGUMENT if it holds no certificates; the system's list where it is empty.
absl::Status CheckAuthorities(const std::string& ca_file);

// POSTs `body` to `path` below the prefix; GETs where it is empty. Names are looked up, and
// `ca_file` is read, at each call, so that both may change;
// the certificate must name the host. UNAVAILABLE, with the reason, if there is no whole answer
// after `timeout`.
absl::StatusOr<WitnessAnswer> CallWitness(const WitnessUrl& url, const std::string& path,
                                          const std::string& body, const std::string& ca_file,
                                          absl::Duration timeout);

}  // namespace dpledger::server
