// The page as a browser gets it from the HTTP door: what may run in it, and its addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dpledger/v1/statement_service.pb.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "server/statement/pages.h"
#include "tests/http/raw_client.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

namespace fs = std::filesystem;
using dpledger::testing::RawAnswer;
using dpledger::testing::SendOnce;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kBrowser[] = "text/html,application/xhtml+xml,*/*;q=0.8";
constexpr char kIndex[] = "<!doctype html><div id=\"page\"></div>";

class Page : public ::testing::Test {
 protected:
  static void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static ServerOptions Options(const std::string& files) {
    ServerOptions options = RunningServer::SigningOnDemand();
    options.http.address = "127.0.0.1:0";
    options.http.files = files;
    return options;
  }
  RawAnswer Get(const std::string& path, const std::string& accept, const std::string& more = "") {
    return SendOnce(server_->server().http_address(),
                    absl::StrCat("GET ", path, " HTTP/1.1\r\nhost: localhost\r\naccept: ", accept,
                                 "\r\nconnection: close\r\n", more, "\r\n"));
  }
  void Start(const std::string& files) { server_.emplace(Options(files)); }
  void StartWithPage() {
    Write(folder_.path() + "/page/index.html", kIndex);
    Write(folder_.path() + "/page/assets/app.js", "run()");
    Write(folder_.path() + "/page/assets/style.css", "p{}");
    Write(folder_.path() + "/page/assets/worker.js", "check()");
    Write(folder_.path() + "/page/assets/accountant.wasm.gz", "packed");
    Write(folder_.path() + "/page/.secret.txt", "secret");
    Write(folder_.path() + "/secret.txt", "secret");
    fs::create_symlink(folder_.path() + "/secret.txt", folder_.path() + "/page/link.txt");
    Start(folder_.path() + "/page");
  }

  TempFolder folder_;
  std::optional<RunningServer> server_;
};

// Each directive and its words; a directive that is there twice fails.
std::map<std::string, std::string> PolicyOf(const RawAnswer& answer) {
  std::map<std::string, std::string> policy;
  for (const absl::string_view part :
       absl::StrSplit(answer.Header("content-security-policy"), "; ", absl::SkipEmpty())) {
    const std::pair<std::string, std::string> directive =
        absl::StrSplit(part, absl::MaxSplits(' ', 1));
    EXPECT_TRUE(policy.insert(directive).second) << part;
  }
  return policy;
}

// Of a statement's document: what the page shows of one before it is printed.
std::string StatementStyle() {
  const std::string document = statement::ToHtml(v1::Statement());
  const size_t begin = document.find("<style>") + 7;
  const std::string style = document.substr(begin, document.find("</style>") - begin);
  return absl::StrCat("'self' 'sha256-",
                      absl::Base64Escape(merkle::ToBytes(merkle::Sha256({style}))), "'");
}

TEST_F(Page, NothingRunsButWhatComesFromTheServer) {
  StartWithPage();
  for (const char* path : {"/", "/index.html", "/assets/app.js", "/ledger/default/a.b"}) {
    const RawAnswer answer = Get(path, kBrowser);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_THAT(
        PolicyOf(answer),
        UnorderedElementsAre(Pair("default-src", "'none'"), Pair("script-src", "'self'"),
                             Pair("style-src", StatementStyle()), Pair("img-src", "'self' data:"),
                             Pair("font-src", "'self'"), Pair("connect-src", "'self'"),
                             Pair("worker-src", "'self'"), Pair("base-uri", "'self'"),
                             Pair("form-action", "'none'"), Pair("frame-ancestors", "'none'"),
                             Pair("require-trusted-types-for", "'script'"),
                             Pair("trusted-types", "dpledger-worker")))
        << path;
    EXPECT_EQ(answer.Header("x-content-type-options"), "nosniff") << path;
    EXPECT_EQ(answer.Header("referrer-policy"), "no-referrer") << path;
    EXPECT_EQ(answer.Header("cross-origin-opener-policy"), "same-origin") << path;
    EXPECT_EQ(answer.Header("cross-origin-resource-policy"), "same-origin") << path;
    EXPECT_EQ(answer.Header("access-control-allow-origin"), "") << path;
  }
  EXPECT_EQ(Get("/assets/app.js", "*/*").Header("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(Get("/assets/style.css", "*/*").Header("content-type"), "text/css; charset=utf-8");
}

TEST_F(Page, TheWorkerAloneRunsWebAssembly) {
  StartWithPage();
  std::map<std::string, std::string> policy = PolicyOf(Get("/assets/worker.js", "*/*"));
  EXPECT_EQ(policy["script-src"], "'self' 'wasm-unsafe-eval'");
  policy["script-src"] = "'self'";
  EXPECT_EQ(policy, PolicyOf(Get("/", kBrowser)));
  EXPECT_EQ(Get("/assets/accountant.wasm.gz", "*/*").Header("content-type"), "application/gzip");
}

// An address of the page names a thing in it, and is opened in a new tab, or sent to somebody.
TEST_F(Page, AnyAddressOpensInABrowser) {
  StartWithPage();
  for (const char* path :
       {"/ledgers", "/ledger/default/a.b/entry/7", "/dataset?name=..%2F..%2Fetc%2Fpasswd",
        "/verify/p/l?keys=a%0Ab", "/statement?ledger=a&format=json", "/ledgers?open=compare:a,b",
        "/not-an-address"}) {
    const RawAnswer answer = Get(path, kBrowser);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, kIndex) << path;
    EXPECT_EQ(answer.Header("content-type"), "text/html; charset=utf-8") << path;
    // A link on a page of another site leads there; such a page cannot read it.
    EXPECT_EQ(
        Get(path, kBrowser, "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n").status,
        200);
    EXPECT_EQ(
        Get(path, kBrowser, "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n").status,
        403);
  }
  // Whatever asks for a file gets that file or nothing: a script must not be handed the page.
  for (const char* path : {"/assets/gone.js", "/ledgers", "/worker.js"}) {
    const RawAnswer answer = Get(path, "*/*");
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("<"))) << path;
  }
  EXPECT_EQ(Get("/tlog/none", kBrowser).status, 400);
  EXPECT_EQ(Get("/healthz", kBrowser).body, "ok\n");
}

TEST_F(Page, NothingOutsideOfTheFolderIsServed) {
  StartWithPage();
  for (const char* path :
       {"/.secret.txt", "/link.txt", "/../secret.txt", "/assets/../../secret.txt",
        "/%2e%2e/secret.txt", "//secret.txt", "/assets/", "/assets"}) {
    const RawAnswer answer = Get(path, "*/*");
    EXPECT_THAT(answer.status, ::testing::AnyOf(400, 404)) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("secret"))) << path;
  }
}

TEST_F(Page, AServerWithoutAPageSaysWhereItWouldBe) {
  Start("");
  const RawAnswer answer = Get("/", kBrowser);
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("--http-files"));
  EXPECT_THAT(answer.body, HasSubstr("share/dpledger/page"));
  EXPECT_THAT(PolicyOf(answer), UnorderedElementsAre(Pair("default-src", "'none'"),
                                                     Pair("frame-ancestors", "'none'")));
}

TEST_F(Page, NobodySignsInWhereNobodyIsAsked) {
  StartWithPage();
  const RawAnswer answer =
      SendOnce(server_->server().http_address(),
               "POST /session HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n"
               "content-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("does not ask who calls"));
  EXPECT_EQ(answer.Header("set-cookie"), "");
}

}  // namespace
}  // namespace dpledger::server
