// A request as a handler sees it, and its answer; what both look like on the wire is http/head.h's.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpledger::http {

// Names are in lower case; the order is that of the wire.
using Headers = std::vector<std::pair<std::string, std::string>>;

// The first value of `name` (in lower case).
std::optional<std::string_view> Find(const Headers& headers, std::string_view name);
// The last value of `name`, as Find finds the first.
std::optional<std::string_view> Last(const Headers& headers, std::string_view name);
// How often `name` is there.
size_t Count(const Headers& headers, std::string_view name);

struct Request {
  std::string method;   // as sent: methods are case-sensitive
  std::string path;     // percent-decoded, begins with '/'; ParseTarget says what it never holds
  std::string query;    // what follows '?', not decoded
  Headers headers;      // without trailers of a chunked body
  std::string body;     // without its chunks
  std::string peer;     // who sent it, "127.0.0.1:54321"
  std::any noted = {};  // what ServerOptions::takes_body found out

  std::optional<std::string_view> Find(std::string_view name) const {
    return http::Find(headers, name);
  }
};

// The server adds content-length or transfer-encoding, connection and date.
struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  std::shared_ptr<const void> kept = nullptr;  // until the system has the answer, or never will
};

// `text` and a newline as text/plain.
Response PlainResponse(int status, std::string_view text);

// One request that waits for its answer: one Send; or one Start, any number of Write, and one End.
// An exchange that is dropped before that is answered with 500, or by closing the connection. It
// may outlive the server; nothing is sent then.
//
// Thread safe, except that Start, Write and End must come one after the other.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void Send(Response response) = 0;

  // An answer of unknown length, in chunks that are sent at once. `head.body` is ignored.
  virtual void Start(Response head) = 0;
  // Calls `done` once: true after the bytes are handed to the system, false if they never will be.
  // One Write at a time: the next one after `done`, so that a slow reader holds its writer back.
  virtual void Write(std::string bytes, std::function<void(bool sent)> done) = 0;
  virtual void End(std::string last) = 0;

  // Whether the peer has gone or the server gives the exchange up. (A peer that ends its own side
  // of the connection counts as gone, but still gets its answer.)
  virtual bool cancelled() const = 0;
  // Calls `gone` once when that happens, at once if it has; never after the answer is complete.
  virtual void OnCancel(std::function<void()> gone) = 0;
};

}  // namespace dpledger::http
