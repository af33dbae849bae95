// The server against clients of every kind. Each attack stands beside the request nearest to it
// that is served.
#include "http/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/address.h"
#include "tests/http/raw_client.h"
#include "tests/support/await_that.h"

namespace dpledger::http {
namespace {

using ::dpledger::testing::RawAnswer;
using ::dpledger::testing::RawClient;
using ::dpledger::testing::SendOnce;
using ::testing::HasSubstr;

constexpr double kLong = 20;  // seconds, for what happens at once or never

class HttpServer : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    auto server = Server::Start(
        options,
        [this](Request request, std::shared_ptr<Exchange> exchange) {
          Handle(std::move(request), std::move(exchange));
        },
        &log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void Handle(Request request, std::shared_ptr<Exchange> exchange) {
    ++handled_;
    if (request.path == "/hold" || request.path == "/begin") {
      if (request.path == "/begin") {
        exchange->Start({.headers = {{"content-type", "text/plain"}}});
        exchange->Write("first", [](bool) {});
      }
      exchange->OnCancel([this] { cancelled_.Notify(); });
      absl::MutexLock lock(&mutex_);
      held_ = std::move(exchange);
    } else if (request.path == "/drop") {
      return;
    } else if (request.path == "/throw") {
      request.body.at(request.body.size());
    } else if (request.path == "/stream") {
      exchange->Start({.headers = {{"content-type", "text/plain"}}});
      WriteSome(std::move(exchange), 0);
    } else {
      exchange->Send({.headers = {{"x-query", request.query},
                                  {"x-headers", absl::StrCat(request.headers.size())},
                                  {"x-path", request.path}},
                      .body = request.body});
    }
  }

  void WriteSome(std::shared_ptr<Exchange> exchange, int count) {
    if (count == 1000) return exchange->End("end");
    Exchange& now = *exchange;
    now.Write(std::string(10000, 'x'), [this, exchange, count](bool sent) {
      sent ? WriteSome(exchange, count + 1) : ended_early_.Notify();
    });
  }

  std::shared_ptr<Exchange> AwaitHeld() {
    absl::MutexLock lock(&mutex_);
    const auto held = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_ != nullptr; };
    mutex_.Await(absl::Condition(&held));
    return std::move(held_);
  }

  RawAnswer Once(const std::string& bytes) { return SendOnce(server_->address(), bytes); }

  const Log log_{LogLevel::kError, STDERR_FILENO};
  std::atomic<int> handled_ = 0;
  absl::Mutex mutex_;
  std::shared_ptr<Exchange> held_ ABSL_GUARDED_BY(mutex_);
  absl::Notification cancelled_;
  absl::Notification ended_early_;
  std::unique_ptr<Server> server_;
};

std::string Post(const std::string& path, const std::string& body, const std::string& more = "") {
  return absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: x\r\n", more,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}
std::string Chunked(const std::string& chunks) {
  return "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
}
std::string Get(const std::string& path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST_F(HttpServer, AnswersManyRequestsOfOneConnection) {
  Start();
  RawClient client(server_->address());
  for (int i = 0; i < 20; ++i) {
    const std::string body(i * 10000, 'a');
    client.Send(Post(absl::StrCat("/echo?", i), body));
    const RawAnswer answer = client.Read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.Header("x-query"), absl::StrCat(i));
    EXPECT_EQ(answer.Header("connection"), "keep-alive");
    EXPECT_THAT(answer.Header("date"), HasSubstr(" GMT"));
  }
}

TEST_F(HttpServer, AnswersPipelinedRequestsInOrder) {
  Start();
  RawClient client(server_->address());
  client.Send(Post("/echo", "one") + Get("/stream") + Chunked("3\r\ntwo\r\n0\r\n\r\n") +
              Post("/echo", "three"));
  EXPECT_EQ(client.Read().body, "one");
  EXPECT_EQ(client.Read().body.size(), 10'000'003u);
  EXPECT_EQ(client.Read().body, "two");
  EXPECT_EQ(client.Read().body, "three");
}

TEST_F(HttpServer, TakesARequestByteByByte) {
  Start();
  RawClient client(server_->address());
  for (const char byte : Chunked("3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n")) {
    client.Send(std::string(1, byte));
  }
  const RawAnswer answer = client.Read();
  EXPECT_EQ(answer.body, "abcde");
  EXPECT_EQ(answer.Header("x-headers"), "2") << "a trailer is no header";
}

TEST_F(HttpServer, TellsAClientThatAsksToGoOn) {
  Start({.max_body_bytes = 10});
  RawClient client(server_->address());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.Read().body, "abc");
  // And not one whose body would be refused.
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_EQ(
      Once("POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 0\r\n\r\n").status,
      417);
}

TEST_F(HttpServer, AnswersHeadAndOldClients) {
  Start();
  RawClient client(server_->address());
  client.Send("HEAD /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  const RawAnswer head = client.Read(false);
  EXPECT_EQ(head.Header("content-length"), "3");
  client.Send(Get("/echo"));
  EXPECT_EQ(client.Read().status, 200);  // no body came before it

  RawClient old(server_->address());
  old.Send("GET /stream HTTP/1.0\r\n\r\n");
  const RawAnswer answer = old.Read();
  EXPECT_EQ(answer.Header("transfer-encoding"), "");
  EXPECT_EQ(answer.body.size(), 10'000'003u);
}

// Bytes after a refused request are never read as another one.
TEST_F(HttpServer, RefusesSmuggling) {
  Start();
  const std::string hidden = Get("/hidden");
  const std::vector<std::string> attacks = {
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
      "0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 4\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0b"
      "chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\nHost: x\nContent-Length: 0\n\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nA: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      Chunked("0x3\r\nabc\r\n0\r\n\r\n"),
      Chunked("-1\r\nabc\r\n0\r\n\r\n"),
      Chunked("3 \r\nabc\r\n0\r\n\r\n"),
      Chunked("3\nabc\n0\n\n"),
      Chunked("3\r\nabc0\r\n\r\n"),
      Chunked("3\r\nabcd\r\n0\r\n\r\n"),
      Chunked("3;a\nb\r\nabc\r\n0\r\n\r\n"),
      Chunked("fffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
      Chunked("0\r\nTransfer-Encoding : x\r\n\r\n"),
      Chunked("0\r\nA: b\n\r\n\r\n"),
  };
  for (const std::string& attack : attacks) {
    handled_ = 0;
    RawClient client(server_->address());
    client.Send(attack + hidden);
    EXPECT_THAT(client.Read().status, ::testing::AnyOf(400, 413)) << attack;
    EXPECT_TRUE(client.Ends(kLong)) << attack;
    EXPECT_EQ(handled_, 0) << attack;
  }
  RawClient control(server_->address());
  control.Send(Chunked("3\r\nabc\r\n0\r\n\r\n") + hidden);
  EXPECT_EQ(control.Read().body, "abc");
  EXPECT_EQ(control.Read().Header("x-path"), "/hidden");
}

TEST_F(HttpServer, RefusesWhatIsTooLarge) {
  Start({.max_header_bytes = 1000, .max_headers = 5, .max_body_bytes = 100});
  EXPECT_EQ(Once(Post("/echo", std::string(100, 'a'))).status, 200);
  EXPECT_EQ(Once(Post("/echo", std::string(101, 'a'))).status, 413);
  EXPECT_EQ(Once(Chunked("64\r\n" + std::string(100, 'a') + "\r\n0\r\n\r\n")).status, 200);
  EXPECT_EQ(Once(Chunked("32\r\n" + std::string(50, 'a') + "\r\n33\r\n" + std::string(51, 'a') +
                         "\r\n0\r\n\r\n"))
                .status,
            413);
  EXPECT_EQ(Once(Chunked("3;a=" + std::string(size_t{70} << 10, 'x'))).status, 413);
  EXPECT_EQ(Once(Chunked("0\r\nA: " + std::string(size_t{70} << 10, 'x'))).status, 413);
  const auto with = [](const std::string& headers) { return Post("/echo", "", headers); };
  EXPECT_EQ(Once(with("A: " + std::string(900, 'a') + "\r\n")).status, 200);
  EXPECT_EQ(Once(with("A: " + std::string(1000, 'a') + "\r\n")).status, 431);
  EXPECT_EQ(Once(with("A: 1\r\nB: 1\r\nC: 1\r\n")).status, 200);
  EXPECT_EQ(Once(with("A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\n")).status, 431);
  EXPECT_EQ(Once("GET /" + std::string(5000, 'a')).status, 431);  // and no end of it
}

TEST_F(HttpServer, RefusesTheNamesOfOthers) {
  Start({.hosts = {"localhost", "127.0.0.1"}});
  const auto as = [&](const std::string& host) {
    return Once("GET /echo HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  EXPECT_EQ(as("localhost:1"), 200);
  EXPECT_EQ(as("rebound.example"), 421);
  EXPECT_EQ(as("rebound.example:7072"), 421);
  EXPECT_EQ(as(""), 421);
  EXPECT_EQ(Once("GET /echo HTTP/1.0\r\n\r\n").status, 421);
}

TEST_F(HttpServer, RefusesTricksOfThePath) {
  Start();
  for (const char* path : {"/%2e%2e/etc", "//etc", "/a%00", "/a/../b", "http://x/", "*"}) {
    EXPECT_EQ(Once(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n")).status, 400) << path;
  }
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(Once(Get("/a%20b/c")).Header("x-path"), "/a b/c");
}

// One byte now and then keeps no connection: the time is for the whole request.
TEST_F(HttpServer, EndsTheSlow) {
  Start({.read_timeout = absl::Milliseconds(300)});
  for (const std::string& begin :
       {std::string("GET / HT"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"),
        Chunked("500\r\nab")}) {
    RawClient slow(server_->address());
    slow.Send(begin);
    std::atomic<bool> over = false;
    std::thread trickle([&] {
      while (!over && slow.Send("a")) absl::SleepFor(absl::Milliseconds(20));
    });
    EXPECT_EQ(slow.Read().status, 408);
    EXPECT_TRUE(slow.Ends(kLong));
    over = true;
    trickle.join();
  }
}

TEST_F(HttpServer, EndsTheIdle) {
  Start({.idle_timeout = absl::Milliseconds(300)});
  RawClient idle(server_->address());
  EXPECT_TRUE(idle.Ends(kLong));
  RawClient kept(server_->address());
  kept.Send(Get("/echo"));
  EXPECT_THAT(kept.Read().status,
              ::testing::AnyOf(200, 0));  // 0: this machine was slower than that
  EXPECT_TRUE(kept.Ends(kLong));
  // The client sees the end a little before the server has forgotten it.
  const absl::Time until = absl::Now() + absl::Seconds(10);
  while (server_->connections() > 0 && absl::Now() < until) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(HttpServer, LetsTheSlowFinishInTime) {
  Start({.read_timeout = absl::Seconds(60)});
  RawClient slow(server_->address());
  for (const char byte : Get("/echo")) {
    slow.Send(std::string(1, byte));
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(slow.Read().status, 200);
}

TEST_F(HttpServer, EndsAReaderThatDoesNotRead) {
  Start({.write_timeout = absl::Milliseconds(300)});
  RawClient deaf(server_->address());
  deaf.Send(Get("/stream"));
  ended_early_.WaitForNotification();
  while (server_->connections() > 0) absl::SleepFor(absl::Milliseconds(5));
}

TEST_F(HttpServer, BoundsConnections) {
  Start({.max_connections = 3, .max_connections_by_address = 2});
  int pairs[2][2];
  for (auto& pair : pairs) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  RawClient first(server_->address()), second(server_->address());
  first.Send(Get("/echo")), second.Send(Get("/echo"));
  EXPECT_EQ(first.Read().status, 200);
  EXPECT_EQ(second.Read().status, 200);
  EXPECT_EQ(Once(Get("/echo")).status, 0) << "a third of the same address";
  RawClient other(pairs[0][0]), one_more(pairs[1][0]);
  server_->Serve(pairs[0][1], "192.0.2.1:5", "192.0.2.1");
  server_->Serve(pairs[1][1], "192.0.2.2:5", "192.0.2.2");
  other.Send(Get("/echo")), one_more.Send(Get("/echo"));
  EXPECT_EQ(other.Read().status, 200);
  EXPECT_EQ(one_more.Read().status, 0) << "a fourth of all";
}

TEST_F(HttpServer, ServesWhatIsHandedIn) {
  Start({.address = ""});
  EXPECT_EQ(server_->address(), "");
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  RawClient client(pair[0]);
  server_->Serve(pair[1], "192.0.2.1:5", "192.0.2.1");
  client.Send(Post("/echo", "abc"));
  EXPECT_EQ(client.Read().body, "abc");
  server_->Serve(open("/dev/null", O_RDONLY), "192.0.2.1:6",
                 "192.0.2.1");  // no socket: refused, and closed
}

// Bodies that wait for their ends are bounded together.
TEST_F(HttpServer, BoundsWhatAllRequestsKeep) {
  Start({.max_buffered_bytes = 150000});
  const std::string begin = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
  RawClient first(server_->address()), second(server_->address());
  first.Send(Post("/hold", std::string(100000, 'a')));
  const auto held = AwaitHeld();
  second.Send(begin + std::string(100000, 'a'));
  EXPECT_EQ(second.Read().status, 503);
  held->Send({});
  EXPECT_EQ(first.Read().status, 200);
  EXPECT_EQ(Once(begin + std::string(100000, 'a')).status, 200);
}

// A host that never ends its bodies has its own share of the room for them, and no more.
TEST_F(HttpServer, OneAddressDoesNotShutOthersOut) {
  Start({.address = "", .max_body_bytes = 100000, .max_buffered_bytes = 800000});
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto from = [&](const std::string& peer) -> RawClient& {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    clients.push_back(std::make_unique<RawClient>(pair[0]));
    server_->Serve(pair[1], peer, std::string(WithoutPort(peer)));
    return *clients.back();
  };
  const std::string begun =
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(90000, 'a');
  for (int i = 0; i < 12; ++i) from(absl::StrCat("192.0.2.1:", i + 1)).Send(begun);
  // The share has room for two of them: the others get 503, and then the end, whichever came first.
  const auto refused = [&] {
    return std::count_if(clients.begin(), clients.end(),
                         [](const auto& client) { return client->Ends(0.01); });
  };
  testing::AwaitThat([&] { return refused() >= 10; });
  RawClient& honest = from("192.0.2.2:1");
  honest.Send(Post("/echo", std::string(100000, 'b')));
  EXPECT_EQ(honest.Read().status, 200);
}

TEST_F(HttpServer, KeepsNoBodyThatIsNotTaken) {
  std::atomic<int> asked = 0;
  Start({.takes_body = [&](Request& head) {
    ++asked;
    head.noted = std::string("seen");
    return head.Find("authorization").has_value();
  }});
  RawClient stranger(server_->address());
  // Its end never comes, and is not waited for.
  stranger.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc");
  const RawAnswer answer = stranger.Read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.Header("connection"), "close");
  EXPECT_EQ(Once(Post("/echo", "abc", "Authorization: x\r\n")).body, "abc");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(Once(Get("/echo")).status, 200);
  EXPECT_EQ(asked, 2) << "there is no body to ask about";
}

TEST_F(HttpServer, AnswersForAHandlerThatFails) {
  Start();
  RawClient client(server_->address());
  for (const char* path : {"/drop", "/throw"}) {
    client.Send(Post(path, ""));
    EXPECT_EQ(client.Read().status, 500) << path;
  }
}

TEST_F(HttpServer, NoticesThatTheClientHasGone) {
  Start();
  auto client = std::make_unique<RawClient>(server_->address());
  client->Send(Get("/hold"));
  const auto held = AwaitHeld();
  EXPECT_FALSE(held->cancelled());
  EXPECT_FALSE(cancelled_.HasBeenNotified());
  client.reset();
  cancelled_.WaitForNotification();
  EXPECT_TRUE(held->cancelled());
  held->Send({});
}

// The bug: a stream that had begun was watched no more, and stayed open until it wrote again.
TEST_F(HttpServer, NoticesThatTheClientOfAStreamHasGone) {
  Start();
  auto client = std::make_unique<RawClient>(server_->address());
  client->Send(Get("/begin"));
  const auto held = AwaitHeld();
  EXPECT_FALSE(cancelled_.HasBeenNotified());
  client.reset();
  cancelled_.WaitForNotification();
  EXPECT_TRUE(held->cancelled());
  held->End("");
}

TEST_F(HttpServer, DrainsWhenItCloses) {
  Start();
  RawClient busy(server_->address()), idle(server_->address()), half(server_->address());
  idle.Send(Get("/echo"));
  EXPECT_EQ(idle.Read().status, 200);
  half.Send("GET / HT");
  busy.Send(Get("/hold"));
  const auto held = AwaitHeld();
  std::thread closing([&] { server_->Close(absl::InfiniteFuture()); });
  EXPECT_TRUE(idle.Ends(kLong));
  EXPECT_TRUE(half.Ends(kLong));
  held->Send({.body = "late"});
  const RawAnswer answer = busy.Read();
  EXPECT_EQ(answer.body, "late");
  EXPECT_EQ(answer.Header("connection"), "close");
  closing.join();
}

TEST_F(HttpServer, GivesUpAtTheDeadline) {
  Start();
  RawClient busy(server_->address());
  busy.Send(Get("/hold"));
  const auto held = AwaitHeld();
  server_->Close(absl::Now());
  EXPECT_TRUE(cancelled_.HasBeenNotified());
  EXPECT_TRUE(held->cancelled());
  EXPECT_EQ(busy.Read().status, 0);
  server_.reset();
  held->Send({.body = "nobody reads this"});  // and nothing happens
}

TEST(HttpServerAddress, MustBeOne) {
  const Log log(LogLevel::kError, STDERR_FILENO);
  const auto start = [&](const std::string& address) {
    return Server::Start({.address = address}, nullptr, &log).status();
  };
  EXPECT_EQ(start("here").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("127.0.0.1:70000").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("192.0.2.1:0").code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace dpledger::http
