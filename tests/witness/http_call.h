// One HTTP/1.1 call as a test makes it, and bytes that are no call at all.
#pragma once

#include <string>

namespace dpledger::testing {

struct HttpAnswer {
  int status = 0;  // 0: the connection was closed without an answer
  std::string content_type;
  std::string body;
};

// `address` is "127.0.0.1:<port>".
HttpAnswer HttpPost(const std::string& address, const std::string& target, const std::string& body);
HttpAnswer HttpGet(const std::string& address, const std::string& target);
// Sends `bytes`, ends its side of the connection, and reads the answer.
HttpAnswer SendRaw(const std::string& address, const std::string& bytes);

}  // namespace dpledger::testing
