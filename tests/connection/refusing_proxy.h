// What stands before a server and answers in its place: HTTP/2 that gives every call one status and
// no word of gRPC, as a proxy does whose route is gone.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace dpledger::testing {

class RefusingProxy {
 public:
  // `status`: three digits, such as "404".
  explicit RefusingProxy(std::string status);
  ~RefusingProxy();
  RefusingProxy(const RefusingProxy&) = delete;
  RefusingProxy& operator=(const RefusingProxy&) = delete;

  std::string address() const;
  int answers() const { return answers_; }

 private:
  void Serve();
  // Until the client leaves.
  void Answer(int connection);

  const std::string status_;
  int listener_ = -1;
  std::atomic<int> answers_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace dpledger::testing
