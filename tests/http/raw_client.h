// A client that sends any bytes, and reads what comes back with as little sense as it can.
#pragma once

#include <map>
#include <string>

namespace dpledger::testing {

struct RawAnswer {
  int status = 0;                                   // 0: the connection ended without an answer
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string body;                                 // without its chunks
  bool complete = false;

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class RawClient {
 public:
  // `address` is "127.0.0.1:<port>".
  explicit RawClient(const std::string& address);
  explicit RawClient(int descriptor) : descriptor_(descriptor) {}
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool Send(const std::string& bytes);  // false: the other side has closed
  void EndSending();
  // One answer; without `body`, as to a HEAD request.
  RawAnswer Read(bool body = true);
  // Whether the other side ends the connection before `seconds` have passed; drops what it sends.
  bool Ends(double seconds);
  // What comes until the connection ends.
  std::string ReadAll();
  int descriptor() const { return descriptor_; }

 private:
  bool Fill();

  int descriptor_;
  std::string buffer_;
};

// Sends `bytes` on a connection of its own and reads one answer.
RawAnswer SendOnce(const std::string& address, const std::string& bytes);

}  // namespace dpledger::testing
