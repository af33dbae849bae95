// The front with doors that echo, real sockets and real certificates.
#include "front/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "front/http2_frames.h"
#include "front/networks.h"
#include "tests/front/certificates.h"

namespace dpledger::front {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers each read with "KIND:" and what was read, on a thread for each connection. After "bye" it
// answers and closes.
class EchoDoors {
 public:
  explicit EchoDoors(Front* front) : front_(*front) {
    front->Start(
        [this](int descriptor, const std::string& name) { Serve(descriptor, name, "h2"); },
        [this](int descriptor, const std::string& name) { Serve(descriptor, name, "h1"); });
  }
  ~EchoDoors() {
    for (std::thread& thread : threads_) thread.join();
  }

  std::vector<Peer> peers() {
    absl::MutexLock lock(&mutex_);
    return peers_;
  }

 private:
  void Serve(int descriptor, const std::string& name, const std::string& kind) {
    absl::MutexLock lock(&mutex_);
    peers_.push_back(*front_.Find(absl::StrCat("unix-abstract:", name)));
    threads_.emplace_back([descriptor, kind] {
      asio::io_context io;
      asio::local::stream_protocol::socket socket(io, asio::local::stream_protocol(), descriptor);
      char buffer[1 << 16];
      error_code error;
      while (true) {
        const size_t size = socket.read_some(asio::buffer(buffer), error);
        if (error) return;
        const std::string_view got(buffer, size);
        asio::write(socket, asio::buffer(absl::StrCat(kind, ":", std::string(got))), error);
        if (error || got.substr(got.size() - std::min<size_t>(3, got.size())) == "bye") return;
      }
    });
  }

  Front& front_;
  absl::Mutex mutex_;
  std::vector<Peer> peers_;
  std::vector<std::thread> threads_;
};

class FrontTest : public ::testing::Test {
 protected:
  FrontTest() {
    char name[] = "/tmp/dpledger_front_XXXXXX";
    folder_ = mkdtemp(name);
    options_.address = "127.0.0.1:0";
  }
  ~FrontTest() override {
    front_.reset();  // closes what the doors read from
    doors_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = absl::StrCat(folder_, "/", name);
    // As certificate managers do: a new file in the place of the old one.
    std::ofstream(path + ".new") << content;
    std::filesystem::rename(path + ".new", path);
    return path;
  }
  void UseTls(const std::string& names = "DNS:localhost,IP:127.0.0.1") {
    const Credential server = authority_.Issue(names);
    options_.tls.certificate = Write("server.pem", server.certificate);
    options_.tls.key = Write("server.key", server.key);
  }
  void Open() {
    auto front = Front::Listen(options_, &log_);
    ASSERT_TRUE(front.ok()) << front.status();
    front_ = *std::move(front);
    doors_ = std::make_unique<EchoDoors>(front_.get());
  }

  // How many connections the front has refused or ended for this reason; none for others.
  uint64_t Ended(Closing why) {
    const auto ended = front_->figures().ended;
    for (size_t i = 0; i < ended.size(); ++i) {
      if (i == static_cast<size_t>(why)) continue;
      EXPECT_EQ(ended[i], 0u) << kClosings[i].label;
    }
    return ended[static_cast<size_t>(why)];
  }
  tcp::socket Dial() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(front_->port())});
    const timeval patience = {10, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return socket;
  }
  template <typename Stream>
  std::string Ask(Stream& stream, const std::string& text) {
    error_code error;
    asio::write(stream, asio::buffer(text), error);
    return Read(stream, text.size() + 3);
  }
  template <typename Stream>
  std::string Read(Stream& stream, size_t size) {
    std::string got(size, 0);
    error_code error;
    got.resize(asio::read(stream, asio::buffer(got), error));
    return got;
  }
  // All that comes until the other side closes.
  template <typename Stream>
  std::string ReadAll(Stream& stream) {
    std::string got;
    error_code error;
    asio::read(stream, asio::dynamic_buffer(got), error);
    return got;
  }

  std::string folder_;
  TestAuthority authority_{"test authority"};
  Log log_{LogLevel::kError, STDERR_FILENO};
  FrontOptions options_;
  asio::io_context io_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<EchoDoors> doors_;
};

TEST_F(FrontTest, TellsTheProtocolsApartByTheirFirstBytes) {
  Open();
  tcp::socket plain = Dial();
  EXPECT_EQ(Ask(plain, "GET / HTTP/1.1\r\n"), "h1:GET / HTTP/1.1\r\n");
  tcp::socket http2 = Dial();
  const std::string preface(kHttp2Preface);
  error_code error;
  asio::write(http2, asio::buffer(preface.substr(0, 3)), error);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(doors_->peers().size(), 1u);  // "PRI" may be either yet
  asio::write(http2, asio::buffer(preface.substr(3)), error);
  EXPECT_EQ(Read(http2, preface.size() + 3), "h2:" + preface);
  tcp::socket almost = Dial();
  EXPECT_EQ(Ask(almost, "PRI * HTTP/1.1"), "h1:PRI * HTTP/1.1");
  ASSERT_EQ(doors_->peers().size(), 3u);
  EXPECT_EQ(doors_->peers()[0].address, absl::StrCat("127.0.0.1:", plain.local_endpoint().port()));
  EXPECT_FALSE(doors_->peers()[0].encrypted);
}

TEST_F(FrontTest, CarriesLargeStreamsWhole) {
  Open();
  tcp::socket socket = Dial();
  std::string sent;
  for (int i = 0; i < 2'000'000; ++i) sent += static_cast<char>('a' + i % 23);
  std::thread writer([&] {
    error_code error;
    asio::write(socket, asio::buffer(sent), error);
    asio::write(socket, asio::buffer(std::string("bye")), error);
  });
  std::string got = ReadAll(socket);
  writer.join();
  // The door marks each of its reads.
  for (size_t at = got.find("h1:"); at != std::string::npos; at = got.find("h1:", at))
    got.erase(at, 3);
  EXPECT_EQ(got.size(), sent.size() + 3);
  EXPECT_TRUE(got == sent + "bye");
}

TEST_F(FrontTest, DoorThatClosesIsHeardToTheEnd) {
  UseTls();
  Open();
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<tcp::socket> stream(Dial(), context);
  stream.handshake(asio::ssl::stream_base::client);
  error_code error;
  asio::write(stream, asio::buffer(std::string("bye")), error);
  std::string got;
  asio::read(stream, asio::dynamic_buffer(got), error);
  EXPECT_EQ(got, "h1:bye");
  EXPECT_EQ(error, asio::error::eof) << error.message();  // close_notify, not a cut
}

TEST_F(FrontTest, ClientsCertificateReachesTheDoor) {
  UseTls();
  options_.tls.client_ca = Write("ca.pem", authority_.certificate());
  Open();
  const TestAuthority stranger("another");
  struct Case {
    const char* what;
    const TestAuthority* signer;
    bool served;
  };
  for (const Case& c : {Case{"ours", &authority_, true}, Case{"a stranger's", &stranger, false},
                        Case{"none", nullptr, true}}) {
    SCOPED_TRACE(c.what);
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.add_certificate_authority(asio::buffer(authority_.certificate()));
    context.set_verify_mode(asio::ssl::verify_peer);
    context.set_verify_callback(asio::ssl::host_name_verification("localhost"));
    if (c.signer != nullptr) {
      const Credential own = c.signer->Issue("URI:spiffe://example.org/trainer");
      context.use_certificate_chain(asio::buffer(own.certificate));
      context.use_private_key(asio::buffer(own.key), asio::ssl::context::pem);
    }
    asio::ssl::stream<tcp::socket> stream(Dial(), context);
    error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    EXPECT_EQ(Ask(stream, "hello"), c.served ? "h1:hello" : "");
    if (!c.served) continue;
    const Peer peer = doors_->peers().back();
    EXPECT_TRUE(peer.encrypted);
    EXPECT_EQ(peer.certificate.empty(), c.signer == nullptr);
    EXPECT_THAT(peer.certificate,
                HasSubstr(c.signer == nullptr ? "" : "spiffe://example.org/trainer"));
  }
}

TEST_F(FrontTest, AlpnChoosesTheDoor) {
  UseTls();
  Open();
  for (const auto& [offered, kind] : {std::pair{std::string("\x02h2"), "h2"},
                                      {std::string("\x08http/1.1"), "h1"},
                                      {std::string("\x02h2\x08http/1.1"), "h1"}}) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    SSL_CTX_set_alpn_protos(context.native_handle(),
                            reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned>(offered.size()));
    asio::ssl::stream<tcp::socket> stream(Dial(), context);
    stream.handshake(asio::ssl::stream_base::client);
    EXPECT_THAT(Ask(stream, "hello there, whoever you are"), StartsWith(kind));
  }
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_alpn_protos(context.native_handle(),
                          reinterpret_cast<const unsigned char*>("\x04imap"), 5);
  asio::ssl::stream<tcp::socket> stream(Dial(), context);
  error_code error;
  stream.handshake(asio::ssl::stream_base::client, error);
  EXPECT_TRUE(error);
}

// The serial number of the certificate that a new connection is shown.
class ReloadTest : public FrontTest {
 protected:
  bool Shows(const std::string& name) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.add_certificate_authority(asio::buffer(authority_.certificate()));
    context.set_verify_mode(asio::ssl::verify_peer);
    context.set_verify_callback(asio::ssl::host_name_verification(name));
    asio::ssl::stream<tcp::socket> stream(Dial(), context);
    error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    return !error;
  }
};

TEST_F(ReloadTest, NewCertificateIsServedAndABrokenOneLeavesTheOld) {
  UseTls("DNS:one");
  Open();
  ASSERT_TRUE(Shows("one"));
  EXPECT_EQ(front_->figures().reload_failures, 0u);
  // The authority gives certificates a day.
  const absl::Time ends = front_->figures().certificate_ends.value_or(absl::InfinitePast());
  EXPECT_LT(absl::AbsDuration(ends - absl::Now() - absl::Hours(24)), absl::Minutes(5));
  const Credential two = authority_.Issue("DNS:two");
  // Half of a change: the certificate is there, its key is not.
  Write("server.pem", two.certificate);
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_TRUE(Shows("one"));
  Write("server.key", "no key at all");
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_TRUE(Shows("one"));
  EXPECT_EQ(front_->figures().reload_failures, 2u);
  Write("server.key", Encrypted(two.key, "SECRET"));  // asks nobody for the word
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_TRUE(Shows("one"));
  EXPECT_EQ(front_->figures().reload_failures, 3u);
  Write("server.key", two.key);
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_FALSE(Shows("one"));
  EXPECT_EQ(front_->figures().reload_failures, 3u);
  EXPECT_TRUE(Shows("two"));
}

// Connections of clients with certificates, while what the front goes by changes.
class TakenBack : public FrontTest {
 protected:
  using Stream = asio::ssl::stream<tcp::socket>;

  TakenBack() {
    UseTls();
    options_.tls.client_ca = Write("ca.pem", authority_.certificate());
  }
  std::unique_ptr<Stream> Connect(const Credential* own) {
    contexts_.push_back(std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client));
    asio::ssl::context& context = *contexts_.back();
    if (own != nullptr) {
      context.use_certificate_chain(asio::buffer(own->certificate));
      context.use_private_key(asio::buffer(own->key), asio::ssl::context::pem);
    }
    auto stream = std::make_unique<Stream>(Dial(), context);
    error_code error;
    stream->handshake(asio::ssl::stream_base::client, error);
    return stream;
  }
  bool Serves(Stream& stream) { return Ask(stream, "hello") == "h1:hello"; }
  static void AwaitPoll() { absl::SleepFor(absl::Milliseconds(2500)); }

  std::vector<std::unique_ptr<asio::ssl::context>> contexts_;
};

TEST_F(TakenBack, AnAuthorityThatIsRemovedEndsItsConnections) {
  const TestAuthority other("another");
  Write("ca.pem", authority_.certificate() + other.certificate());
  Open();
  const Credential ours = authority_.Issue("DNS:ours"), theirs = other.Issue("DNS:theirs");
  const auto first = Connect(&ours), second = Connect(&theirs), nobody = Connect(nullptr);
  for (const auto* stream : {&first, &second, &nobody}) EXPECT_TRUE(Serves(**stream));
  Write("ca.pem", authority_.certificate());
  AwaitPoll();
  EXPECT_TRUE(Serves(*first));
  EXPECT_TRUE(Serves(*nobody));
  EXPECT_FALSE(Serves(*second));
  EXPECT_EQ(Ended(Closing::kCertificate), 1u);
  EXPECT_FALSE(Serves(*Connect(&theirs)));
}

TEST_F(TakenBack, ACertificateThatIsListedEndsItsConnections) {
  options_.tls.client_crl = Write("crl.pem", authority_.Revoke(nullptr));
  Open();
  const Credential good = authority_.Issue("DNS:good"), bad = authority_.Issue("DNS:bad");
  const auto first = Connect(&good), second = Connect(&bad);
  EXPECT_TRUE(Serves(*first));
  EXPECT_TRUE(Serves(*second));
  Write("crl.pem", "no list");
  AwaitPoll();
  EXPECT_TRUE(Serves(*second)) << "a broken file changes nothing";
  EXPECT_EQ(front_->figures().reload_failures, 1u);
  Write("crl.pem", authority_.Revoke(&bad));
  AwaitPoll();
  EXPECT_TRUE(Serves(*first));
  EXPECT_FALSE(Serves(*second));
  EXPECT_FALSE(Serves(*Connect(&bad)));
  EXPECT_TRUE(Serves(*Connect(&good)));
  // A list that has ended says nothing of who is good.
  Write("crl.pem", authority_.Revoke(&bad, /*ended=*/true));
  AwaitPoll();
  EXPECT_FALSE(Serves(*Connect(&good)));
  EXPECT_TRUE(Serves(*Connect(nullptr))) << "who shows no certificate may bring a token";
}

class Proxied : public FrontTest {
 protected:
  Proxied() {
    options_.trusted_proxies = {"127.0.0.1"};
    options_.proxy_protocol = true;
  }
  // Of a connection that begins so: what it was answered, and who the door took it for.
  std::pair<std::string, std::string> Says(const std::string& header) {
    const size_t before = doors_->peers().size();
    tcp::socket socket = Dial();
    const std::string answer = Hello(socket, header);
    const auto peers = doors_->peers();
    return {answer, peers.size() > before ? peers.back().address : ""};
  }
  std::string Hello(tcp::socket& socket, const std::string& header) {
    error_code error;
    asio::write(socket, asio::buffer(header + "hello"), error);
    return Read(socket, std::string("h1:hello").size());
  }
  static std::string Binary(char command, char family, const std::string& rest) {
    return std::string("\r\n\r\n\0\r\nQUIT\n", 12) + command + family +
           static_cast<char>(rest.size() >> 8) + static_cast<char>(rest.size()) + rest;
  }
};

TEST_F(Proxied, TheHeaderSaysWhoCalls) {
  Open();
  const std::string v4("\xc0\x00\x02\x07\xc6\x33\x64\x01\x12\x67\x01\xbb", 12);
  const std::string v6 = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, 0) + '\1' +
                         std::string(16, 0) + std::string("\x00\x50\x00\x51", 4);
  for (const auto& [header, address] : std::vector<std::pair<std::string, std::string>>{
           {"PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n", "192.0.2.7:4711"},
           {"PROXY TCP6 2001:db8::1 ::1 80 443\r\n", "[2001:db8::1]:80"},
           {Binary(0x21, 0x11, v4), "192.0.2.7:4711"},
           {Binary(0x21, 0x11, v4 + std::string(300, 'x')), "192.0.2.7:4711"},
           {Binary(0x21, 0x21, v6), "[2001:db8::1]:80"}}) {
    EXPECT_EQ(Says(header), std::pair(std::string("h1:hello"), address)) << header;
  }
  // The proxy for itself, or for somebody whom it does not know by an address.
  for (const std::string& header : {std::string("PROXY UNKNOWN\r\n"), Binary(0x20, 0, ""),
                                    Binary(0x21, 0x31, std::string(216, 0))}) {
    const auto [answer, address] = Says(header);
    EXPECT_EQ(answer, "h1:hello");
    EXPECT_THAT(address, StartsWith("127.0.0.1:"));
    EXPECT_FALSE(doors_->peers().back().forwards) << "headers of requests count for nothing";
  }
}

TEST_F(Proxied, WithoutAHeaderNothingIsServed) {
  Open();
  const std::string v4("\xc0\x00\x02\x07\xc6\x33\x64\x01\x12\x67\x01\xbb", 12);
  uint64_t refused = 0;
  for (const std::string& begin :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("PROXY TCP4 2001:db8::1 ::1 1 2\r\n"),
        std::string("PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n"),
        std::string("PROXY TCP4 192.0.2.7\r\n....."),
        std::string("PROXY  ") + std::string(200, 'x'), Binary(0x22, 0x11, v4),
        Binary(0x11, 0x11, v4), Binary(0x21, 0x11, v4.substr(0, 11)),
        Binary(0x21, 0x11, v4 + std::string(3000, 0))}) {
    EXPECT_EQ(Says(begin).first, "") << begin;
    EXPECT_EQ(Ended(Closing::kNoProxyHeader), ++refused) << begin;
  }
}

TEST_F(Proxied, ClientsAreBoundedByTheirOwnHost) {
  options_.max_connections_per_host = 2;
  Open();
  std::vector<tcp::socket> held;
  const auto serves = [&](const std::string& host) {
    held.push_back(Dial());
    const std::string header = "PROXY TCP4 " + host + " 198.51.100.1 4711 443\r\n";
    return Hello(held.back(), header) == "h1:hello";
  };
  EXPECT_TRUE(serves("192.0.2.7"));
  EXPECT_TRUE(serves("192.0.2.7"));
  EXPECT_FALSE(serves("192.0.2.7"));
  EXPECT_TRUE(serves("192.0.2.8"));
  EXPECT_EQ(Ended(Closing::kTooManyOfHost), 1u);
}

TEST_F(Proxied, OthersCannotSayWhoTheyAre) {
  options_.trusted_proxies = {"192.0.2.0/24"};
  Open();
  const std::string header = "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n";
  tcp::socket socket = Dial();
  asio::write(socket, asio::buffer(header));
  EXPECT_EQ(Read(socket, header.size() + 3), "h1:" + header);
  EXPECT_THAT(doors_->peers().back().address, StartsWith("127.0.0.1:"));
}

TEST_F(FrontTest, ATrustedProxyBringsAsManyConnectionsAsItLikes) {
  options_.max_connections = 40;
  options_.max_connections_per_host = 2;
  options_.allowance = {.burst = 5, .per_second = 0};
  options_.trusted_proxies = {"127.0.0.0/8"};
  Open();
  std::vector<tcp::socket> held;
  for (int i = 0; i < 30; ++i) {
    held.push_back(Dial());
    ASSERT_EQ(Ask(held.back(), "GET /"), "h1:GET /") << i;
  }
  EXPECT_EQ(doors_->peers().back().host, "");
  EXPECT_TRUE(doors_->peers().back().forwards);
  EXPECT_EQ(front_->figures().connections, 30u);
}

TEST(Networks, ContainWhatTheySay) {
  const auto contains = [](const std::string& network, const std::string& address) {
    const auto parsed = Networks::Parse({network});
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed->Contain(asio::ip::make_address(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.0.1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(contains("192.0.2.1", "192.0.2.1"));
  EXPECT_FALSE(contains("192.0.2.1", "192.0.2.0"));
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(contains("2001:db8::/32", "2001:db8:1::1"));
  EXPECT_FALSE(contains("2001:db8::/32", "2001:db9::1"));
  for (const char* bad : {"", "proxy", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "::/129", "/8"})
    EXPECT_EQ(Networks::Parse({bad}).status().code(), absl::StatusCode::kInvalidArgument) << bad;
}

TEST_F(FrontTest, FilesThatDoNotFitAreNamed) {
  UseTls();
  const Credential other = authority_.Issue("DNS:other");
  const auto refusal = [&] { return Front::Listen(options_, &log_).status(); };
  EXPECT_EQ(refusal(), absl::OkStatus());
  const std::string key = std::exchange(options_.tls.key, Write("other.key", other.key));
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("key: must be"));
  options_.tls.key = key;
  options_.tls.client_ca = Write("empty.pem", "");
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("client_ca: must be"));
  options_.tls.client_ca = "";
  options_.tls.certificate = folder_ + "/none.pem";
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("cert: must be"));
  options_.tls.certificate = "";
  options_.address = "nonsense";
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("must be HOST:PORT"));
}

TEST_F(FrontTest, SilentConnectionsAreClosed) {
  options_.handshake = absl::Milliseconds(300);
  Open();
  tcp::socket silent = Dial();
  tcp::socket half = Dial();
  error_code error;
  asio::write(half, asio::buffer(std::string("PRI * HT")), error);
  tcp::socket honest = Dial();
  EXPECT_EQ(Ask(honest, "GET /"), "h1:GET /");
  const absl::Time start = absl::Now();
  EXPECT_EQ(ReadAll(silent), "");
  EXPECT_EQ(ReadAll(half), "");
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_EQ(Ask(honest, "again"), "h1:again");  // one that has begun is not
  EXPECT_EQ(Ended(Closing::kNoRequest), 2u);
}

TEST_F(FrontTest, ClientThatReadsNothingIsClosed) {
  options_.stalled = absl::Milliseconds(300);
  Open();
  tcp::socket lazy = Dial();
  const std::string much(1 << 20, 'x');
  error_code error;
  // Ends when the front has closed: it takes no more than the buffers between it and the doors.
  for (int i = 0; i < 64 && !error; ++i) asio::write(lazy, asio::buffer(much), error);
  EXPECT_TRUE(error);
  const absl::Time until = absl::Now() + absl::Seconds(10);
  while (front_->figures().connections > 0 && absl::Now() < until) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(front_->figures().connections, 0u);
  EXPECT_EQ(Ended(Closing::kReadsNothing), 1u);
}

std::string Resets(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) frames += std::string("\0\0\4\3\0\0\0\0\1\0\0\0\x08", 13);
  return frames;
}

TEST_F(FrontTest, TooManyResetsEndTheConnectionWithGoAway) {
  options_.allowance = {.burst = 50, .per_second = 1};
  Open();
  tcp::socket calm = Dial();
  const std::string some = std::string(kHttp2Preface) + Resets(30);
  EXPECT_EQ(Ask(calm, some), "h2:" + some);
  tcp::socket hasty = Dial();
  error_code error;
  asio::write(hasty, asio::buffer(std::string(kHttp2Preface) + Resets(60)), error);
  // GOAWAY, ENHANCE_YOUR_CALM, and nothing of it reached a door.
  EXPECT_EQ(ReadAll(hasty), std::string("\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\x0b", 17));
  EXPECT_EQ(doors_->peers().size(), 2u);
  EXPECT_EQ(Ended(Closing::kTooManyFrames), 1u);
}

TEST_F(FrontTest, ResetsOverManyConnectionsAreAddedUp) {
  options_.allowance = {.burst = 50, .per_second = 0.1};
  Open();
  int served = 0;
  for (int i = 0; i < 10; ++i) {
    tcp::socket socket = Dial();
    const std::string some = std::string(kHttp2Preface) + Resets(20);
    if (Ask(socket, some) == "h2:" + some) ++served;
  }
  EXPECT_EQ(served, 2);  // each costs 21
}

TEST_F(FrontTest, LongControlFramesEndTheConnection) {
  Open();
  tcp::socket socket = Dial();
  error_code error;
  asio::write(socket,
              asio::buffer(std::string(kHttp2Preface) + std::string("\0\x40\1\1\4\0\0\0\1", 9)),
              error);
  EXPECT_THAT(ReadAll(socket), HasSubstr("\x0b"));
  // The longest that is allowed, and a longer one of data.
  for (const std::string& header :
       {std::string("\0\x40\0\1\4\0\0\0\1", 9), std::string("\0\x50\0\0\1\0\0\0\1", 9)}) {
    tcp::socket allowed = Dial();
    const std::string bytes = std::string(kHttp2Preface) + header;
    EXPECT_EQ(Ask(allowed, bytes), "h2:" + bytes);
  }
  EXPECT_EQ(Ended(Closing::kLongFrame), 1u);
}

TEST_F(FrontTest, ConnectionsBeyondTheLimitAreRefusedAndPlaceIsFreeAgain) {
  options_.max_connections = 20;
  options_.max_connections_per_host = 20;
  Open();
  std::vector<tcp::socket> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(Dial());
    ASSERT_EQ(Ask(held.back(), "GET /"), "h1:GET /");
  }
  tcp::socket refused = Dial();
  EXPECT_EQ(Ask(refused, "GET /"), "");
  EXPECT_EQ(Ask(held.front(), "again"), "h1:again");
  EXPECT_EQ(Ended(Closing::kTooMany), 1u);
  EXPECT_EQ(front_->figures().accepted, 21u);
  EXPECT_EQ(front_->figures().connections, 20u);
  held.clear();
  const absl::Time until = absl::Now() + absl::Seconds(10);
  while (front_->figures().connections > 0 && absl::Now() < until)
    absl::SleepFor(absl::Milliseconds(5));
  tcp::socket again = Dial();
  EXPECT_EQ(Ask(again, "GET /"), "h1:GET /");
}

TEST_F(FrontTest, OneAddressCannotTakeEveryPlace) {
  options_.max_connections = 20;
  options_.max_connections_per_host = 5;
  Open();
  std::vector<tcp::socket> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(Dial());
    ASSERT_EQ(Ask(held.back(), "GET /"), "h1:GET /");
  }
  tcp::socket sixth = Dial();
  EXPECT_EQ(Ask(sixth, "GET /"), "");
  // Another address of this machine.
  tcp::socket other(io_, tcp::endpoint(asio::ip::make_address("127.0.0.2"), 0));
  other.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(front_->port())});
  EXPECT_EQ(Ask(other, "GET /"), "h1:GET /");
}

TEST_F(FrontTest, ServesAgainWhenDescriptorsComeBack) {
  Open();
  rlimit old = {};
  getrlimit(RLIMIT_NOFILE, &old);
  // The front's own thread finds no descriptor for what it accepts. These were opened before.
  std::vector<tcp::socket> waiting;
  for (int i = 0; i < 30; ++i) waiting.push_back(tcp::socket(io_, tcp::v4()));
  const rlimit few = {static_cast<rlim_t>(waiting.back().native_handle() + 2), old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (tcp::socket& socket : waiting) {
    error_code error;
    socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(front_->port())},
                   error);
  }
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_FALSE(front_->Accepts());
  waiting.clear();
  setrlimit(RLIMIT_NOFILE, &old);
  absl::SleepFor(absl::Milliseconds(300));
  tcp::socket fresh = Dial();
  EXPECT_EQ(Ask(fresh, "GET /"), "h1:GET /");
  EXPECT_TRUE(front_->Accepts());
}

TEST(ConnectionsFor, LeavesDescriptorsForTheStore) {
  EXPECT_EQ(*ConnectionsFor(1000, 1'000'000, 500), 1000u);
  EXPECT_EQ(*ConnectionsFor(1000, 1024, 424), 200u);
  EXPECT_EQ(*ConnectionsFor(1000, 472, 424), 16u);
  EXPECT_EQ(ConnectionsFor(1000, 471, 424).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*ConnectionsFor(4, 436, 424), 4u);  // as few as were asked for
  EXPECT_FALSE(ConnectionsFor(4, 435, 424).ok());
}

}  // namespace
}  // namespace dpledger::front
