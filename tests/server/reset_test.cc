// Clients that speak HTTP/2 to do harm.
//
// Rapid reset: calls that are opened and reset at once, by the hundred thousand on one connection,
// leave no memory behind. A registered unary method of gRPC 1.51 kept 20 KB of each; so did a
// generic one that finished a call of an unknown method at once.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

constexpr int kConnections = 50;
constexpr int kResets = 2'000;  // of a connection
constexpr int kResetsOfOneWrite = 200;
constexpr int64_t kMostGrowthBytes = int64_t{64} << 20;
// In which an address that has spent all is allowed 10 again, a hundred answers to a PING.
constexpr absl::Duration kSomeAllowance = absl::Milliseconds(100);

int64_t ResidentBytes() {
  int64_t pages = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// HTTP/2 by hand (RFC 9113, section 4.1).
std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  for (int shift = 16; shift >= 0; shift -= 8)
    frame.push_back(static_cast<char>(payload.size() >> shift));
  frame += {type, flags};
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(stream >> shift));
  return frame + payload;
}

// A header field without the dynamic table (RFC 7541, section 6.2.2).
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

class RawConnection {
 public:
  explicit RawConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    (void)Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, ""));  // it may be refused
  }
  ~RawConnection() { close(fd_); }

  // Sends all of it, and drops what has come.
  bool Send(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      char dropped[1 << 16];
      while (recv(fd_, dropped, sizeof dropped, MSG_DONTWAIT) > 0) {
      }
      const ssize_t now = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<size_t>(now);
    }
    return true;
  }

  // The bytes that come until the peer has acknowledged a PING: everything before it was read.
  bool AwaitPing() {
    if (!Send(Frame(6, 0, 0, "12345678"))) return false;
    const std::string wanted = Frame(6, 1, 0, "12345678");
    std::string got;
    char buffer[1 << 16];
    while (got.find(wanted) == std::string::npos) {
      const ssize_t count = recv(fd_, buffer, sizeof buffer, 0);
      if (count <= 0) return false;
      if (got.size() > 64) got.erase(0, got.size() - 64);
      got.append(buffer, static_cast<size_t>(count));
    }
    return true;
  }

 private:
  const int fd_;
};

class Reset : public ::testing::TestWithParam<const char*> {};

// An attacker who dials again whenever its connection is ended. Without the front's count, 60,000
// of these calls took 800 MB: 10 KB for each that waits to be looked at.
TEST_P(Reset, TakesNoMemoryAndHurtsNobodyElse) {
  RunningServer running;
  running.Create(kLedger);
  running.Health("");
  const std::string headers = "\x83\x86" + Field(":path", GetParam()) + Field(":authority", "a") +
                              Field("te", "trailers") + Field("content-type", "application/grpc");
  const int64_t before = ResidentBytes();
  int sent = 0, ended = 0;
  for (int dialled = 0; dialled < kConnections; ++dialled) {
    RawConnection connection(running.server().port());
    bool open = true;
    for (uint32_t stream = 1; open && stream < 2 * kResets;) {
      std::string frames;
      for (int i = 0; i < kResetsOfOneWrite; ++i, ++sent, stream += 2) {
        frames += Frame(1, 4, stream, headers) + Frame(3, 0, stream, std::string("\0\0\0\x08", 4));
      }
      open = connection.Send(frames);
    }
    if (!open || !connection.AwaitPing()) ++ended;
  }
  EXPECT_GT(sent, 2 * kConnections);
  EXPECT_EQ(ended, kConnections);
  const int64_t grown = ResidentBytes() - before;
  RecordProperty("grown_mebibytes", static_cast<int>(grown >> 20));
  EXPECT_LT(grown, kMostGrowthBytes);
  // An honest caller, on a connection that it had, is served. It is of the same address, so it may
  // send no frame that costs something, not even its answer to a PING, before a little is left
  // again.
  absl::SleepFor(kSomeAllowance);
  EXPECT_EQ(running.Append(RoundBatch(kLedger, "w", "r1", 1)).size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Methods, Reset,
                         ::testing::Values("/dpledger.v1.LedgerService/AppendBatch",
                                           "/dpledger.v1.LedgerService/Append",
                                           "/dpledger.v1.AccountingService/ComputeEpsilon",
                                           "/grpc.health.v1.Health/Check",
                                           "/grpc.health.v1.Health/Watch", "/no.such/Method"));

// ---- Windows that never open ----

// A client that asks for large answers and lets none of their bytes come.
class ShutWindow : public ::testing::Test {
 protected:
  static constexpr int kCalls = 200;
  static constexpr size_t kAnswerBytes = 1'000'000;

  static ServerOptions Options(size_t bytes, absl::Duration takes_answer_within) {
    ServerOptions options = RunningServer::SigningOnDemand();
    options.desk.quotas.bytes = bytes;
    options.door.takes_answer_within = takes_answer_within;
    return options;
  }

  // Asks; how many bytes the server has grown by.
  static int64_t Ask(RunningServer& running, RawConnection& connection) {
    running.Create(kLedger);
    for (int i = 0; i < 25; ++i) {
      v1::AppendBatchRequest batch = Batch(kLedger, "w", absl::StrCat("r", i));
      for (int note = 0; note < 20; ++note) AddNote(batch, std::string(2'000, 'x'));
      running.Append(batch);
    }
    v1::ReadEntriesRequest request;
    request.set_ledger(kLedger);
    request.set_page_size(1000);
    v1::ReadEntriesResponse response;
    EXPECT_TRUE(
        IsOk(Call(running.ledgers(), &v1::LedgerService::Stub::ReadEntries, request, &response)));
    EXPECT_GT(response.ByteSizeLong(), kAnswerBytes);
    const int64_t before = ResidentBytes();
    EXPECT_TRUE(connection.Send(Frame(4, 0, 0, std::string("\0\x04\0\0\0\0", 6))));
    const std::string body = request.SerializeAsString();
    const std::string message = std::string("\0\0\0\0", 4) + static_cast<char>(body.size()) + body;
    for (int call = 0; call < kCalls; ++call) {
      const uint32_t stream = 2 * static_cast<uint32_t>(call) + 1;
      const std::string headers = "\x83\x86" +
                                  Field(":path", "/dpledger.v1.LedgerService/ReadEntries") +
                                  Field(":authority", "a") + Field("te", "trailers") +
                                  Field("content-type", "application/grpc");
      EXPECT_TRUE(connection.Send(Frame(1, 4, stream, headers) + Frame(0, 1, stream, message)));
    }
    EXPECT_TRUE(connection.AwaitPing());
    // Until all are answered or refused.
    size_t held = 0;
    for (int same = 0; same < 25; absl::SleepFor(absl::Milliseconds(20))) {
      const size_t now = running.server().desk().quotas().bytes();
      same = now == held ? same + 1 : 0;
      held = now;
    }
    return ResidentBytes() - before;
  }
};

TEST_F(ShutWindow, HoldsNoMoreThanItsShare) {
  RunningServer running(Options(size_t{32} << 20, absl::Seconds(2)));
  RawConnection connection(running.server().port());
  EXPECT_LT(Ask(running, connection), int64_t{64} << 20);
  // An honest caller has the rest; and in the end the answers are dropped.
  EXPECT_EQ(running.Append(RoundBatch(kLedger, "w", "last", 0)).size(), 503u);
  EXPECT_GT(running.server().desk().quotas().bytes(), size_t{8} << 20);
  for (int tries = 0; tries < 500 && running.server().desk().quotas().bytes() > 0; ++tries) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(running.server().desk().quotas().bytes(), 0);
  EXPECT_TRUE(connection.AwaitPing()) << "the connection is none the worse";
}

// The control: without the share, 200 answers of 1 MB are held, some of them in pages that
// earlier tests have left to this process.
TEST_F(ShutWindow, HoldsEverythingWithoutAShare) {
  RunningServer running(Options(size_t{4} << 30, absl::Seconds(60)));
  RawConnection connection(running.server().port());
  EXPECT_GT(Ask(running, connection), int64_t{100} << 20);
}

}  // namespace
}  // namespace dpledger::server
