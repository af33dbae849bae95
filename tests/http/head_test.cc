// What a head and a path may be. Each refused one stands beside the nearest one that is served.
#include "http/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace dpledger::http {
namespace {

int StatusOf(const std::string& head, size_t max_headers = 64) {
  const auto refusal = CheckHead(head, max_headers);
  return refusal.has_value() ? refusal->status : 0;
}

std::string WithHeaders(const std::string& lines) {
  return "POST / HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n";
}

TEST(CheckHead, TakesOnlyARequestLineOfThreeWords) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400);  // no host
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(StatusOf("GET /\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / x HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("G(T / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / http/1.1\r\nHost: x\r\n\r\n"), 400);
}

TEST(CheckHead, RefusesHeadersThatTwoReadersCouldReadDifferently) {
  EXPECT_EQ(StatusOf(WithHeaders("A: b\r\n")), 0);
  EXPECT_EQ(StatusOf(WithHeaders("A : b\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("A: b\r\n c\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("A: b\r\n\tc: d\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders(": b\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("A\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("A: b\x01\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("A: b\tc\r\n")), 0);
}

TEST(CheckHead, RefusesTwoFramings) {
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: 5\r\n")), 0);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: 5, 5\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: +5\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: 0x5\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length:\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: chunked\r\n")), 0);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: Chunked\r\n")), 0);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: xchunked\r\n")), 501);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: identity\r\n")), 501);
  EXPECT_EQ(StatusOf(WithHeaders("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")),
            400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(CheckHead, RefusesTwoOfWhatStandsOnce) {
  for (const char* name : {"Host", "Authorization", "Content-Type", "Content-Encoding", "Origin"}) {
    EXPECT_EQ(StatusOf(WithHeaders(absl::StrCat(name, ": a\r\n", name, ": a\r\n"))), 400) << name;
  }
  EXPECT_EQ(StatusOf(WithHeaders("Accept-Encoding: a\r\nAccept-Encoding: b\r\n")), 0);
}

TEST(CheckHead, CountsHeaders) {
  EXPECT_EQ(StatusOf(WithHeaders("A: b\r\nC: d\r\n"), 3), 0);
  EXPECT_EQ(StatusOf(WithHeaders("A: b\r\nC: d\r\n"), 2), 431);
}

TEST(FindHeadEnd, FindsTheSameHoweverBytesArrive) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string bytes = head + "body\n";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    size_t seen = 0;
    std::optional<size_t> end;
    for (size_t size = step; !end.has_value() && size < bytes.size() + step; size += step) {
      end = FindHeadEnd(std::string_view(bytes).substr(0, size), &seen);
    }
    EXPECT_EQ(end, head.size()) << step;
  }
}

TEST(FindHeadEnd, KnowsWhatCannotBecomeAHead) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\n"), std::string("GET / HTTP/1.1\rHost"),
        std::string("GET /\0", 6), std::string("\n"), std::string("A\r\r\n")}) {
    size_t seen = 0;
    EXPECT_EQ(FindHeadEnd(bytes, &seen), 0u) << bytes;
  }
  size_t seen = 0;
  EXPECT_EQ(FindHeadEnd("GET / HTTP/1.1\r", &seen), std::nullopt);
}

TEST(ParseTarget, DecodesOnce) {
  EXPECT_EQ(ParseTarget("/")->path, "/");
  EXPECT_EQ(ParseTarget("/a/b%20c?d=%2e")->path, "/a/b c");
  EXPECT_EQ(ParseTarget("/a/b%20c?d=%2e")->query, "d=%2e");
  EXPECT_EQ(ParseTarget("/a/")->path, "/a/");
  EXPECT_EQ(ParseTarget("/a%252e")->path, "/a%2e");
  EXPECT_EQ(ParseTarget("/v1.2/..a")->path, "/v1.2/..a");
}

TEST(ParseTarget, RefusesTricks) {
  for (const char* target :
       {"",      "*",     "a",      "http://x/", "//",      "//a",    "/a//b",  "/.",     "/..",
        "/../a", "/a/..", "/a/./b", "/%2e%2e/a", "/%2E./a", "/a%2fb", "/a%5cb", "/a\\b",  "/%00",
        "/%0a",  "/%7f",  "/%",     "/%4",       "/%4g",    "/%ff",   "/a#b",   "/%c0%ae"}) {
    EXPECT_EQ(ParseTarget(target), std::nullopt) << target;
  }
}

TEST(HostAllowed, ComparesWholeNames) {
  const std::vector<std::string> allowed = {"localhost", "127.0.0.1", "[::1]", "a.example:80"};
  for (const char* host :
       {"localhost", "LOCALHOST:99", "127.0.0.1:7072", "[::1]:5", "[::1]", "a.example:80"}) {
    EXPECT_TRUE(HostAllowed(host, allowed)) << host;
  }
  for (const char* host : {"", "evil.example", "localhost.evil.example", "xlocalhost", "a.example",
                           "a.example:81", "127.0.0.1.evil", "[::1"}) {
    EXPECT_FALSE(HostAllowed(host, allowed)) << host;
  }
}

TEST(WriteHead, LeavesOutWhatWouldBeAnotherHeader) {
  const std::string head = WriteHead(
      {.status = 200, .headers = {{"a", "b\r\nc: d"}, {"e\r\nf", "g"}, {"h", "i"}}}, "x: y\r\n");
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nx: y\r\nh: i\r\n\r\n");
}

}  // namespace
}  // namespace dpledger::http
