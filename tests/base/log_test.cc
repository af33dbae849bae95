#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace dpledger {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// All that can be read at present.
std::string Drain(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string all(1 << 20, '\0');
  size_t size = 0;
  for (ssize_t n; (n = ::read(fd, all.data() + size, all.size() - size)) > 0;) {
    size += static_cast<size_t>(n);
  }
  all.resize(size);
  return all;
}

class LogTest : public ::testing::TestWithParam<bool> {
 protected:
  LogTest() {
    EXPECT_EQ(GetParam() ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) : ::pipe(ends_), 0);
  }
  ~LogTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  int ends_[2];
};

// Where the reader hangs, the writer would hang too: 20 MB fit into no pipe.
TEST_P(LogTest, NeverWaitsAndCountsWhatItLost) {
  const Log log(LogLevel::kInfo, ends_[1]);
  const std::string text(1'000, 'x');
  constexpr int kLines = 20'000;
  for (int i = 0; i < kLines; ++i) log.Write(LogLevel::kInfo, "line", {{"text", text}});
  std::string read = Drain(ends_[0]);
  log.Write(LogLevel::kInfo, "after");
  read += Drain(ends_[0]);
  int whole = 0;
  for (size_t at = 0; (at = read.find(text + "\"}\n", at)) != std::string::npos; ++at) ++whole;
  EXPECT_GT(whole, 10);
  EXPECT_THAT(read, HasSubstr(absl::StrCat(
                        "\"event\":\"log_lines_lost\",\"count\":", kLines - whole, "}\n")));
  EXPECT_THAT(read, EndsWith("\"event\":\"after\"}\n"));
  // The description that others share waits as before.
  EXPECT_EQ(::fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0);
}

TEST_P(LogTest, OutlivesItsReader) {
  ::signal(SIGPIPE, SIG_IGN);
  const Log log(LogLevel::kInfo, ends_[1]);
  ::close(ends_[0]);
  for (int i = 0; i < 3; ++i) log.Write(LogLevel::kInfo, "line");
}

INSTANTIATE_TEST_SUITE_P(PipeAndSocket, LogTest, ::testing::Bool());

}  // namespace
}  // namespace dpledger
