#include "server/signing/witness_call.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/address.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint64_t kMaxAnswerBytes = uint64_t{64} << 10;
constexpr uint32_t kMaxHeaderBytes = 8192;
// Read and not yet understood: the parser's limits leave out what stands between chunks.
constexpr size_t kMaxBufferBytes = size_t{64} << 10;

// The addresses of a name. A look-up cannot be called off, so it has a thread of its own, which is
// left behind where it takes too long: a server that waited for it would sign nothing meanwhile.
absl::StatusOr<tcp::resolver::results_type> Resolve(const WitnessUrl& url, absl::Time deadline) {
  struct LookUp {
    tcp::resolver::results_type found;
    error_code error;
    absl::Notification done;
  };
  const auto look_up = std::make_shared<LookUp>();
  try {
    std::thread([look_up, host = url.host, port = absl::StrCat(url.port)] {
      asio::io_context io;
      look_up->found = tcp::resolver(io).resolve(host, port, look_up->error);
      look_up->done.Notify();
    }).detach();
  } catch (const std::system_error& error) {
    return absl::UnavailableError(error.what());
  }
  if (!look_up->done.WaitForNotificationWithDeadline(deadline))
    return absl::UnavailableError(absl::StrCat("no address of ", url.host, " in time"));
  if (look_up->error) {
    return absl::UnavailableError(
        absl::StrCat("no address of ", url.host, ": ", look_up->error.message()));
  }
  return look_up->found;
}

absl::StatusOr<ssl::context> Authorities(const std::string& ca_file) {
  ssl::context context(ssl::context::tls_client);
  error_code error;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_verify_mode(ssl::verify_peer);
  if (ca_file.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.load_verify_file(ca_file, error);
  }
  if (error) {
    return FieldError("witness_ca", absl::StrCat("cannot be read as certificates: ", ca_file, ": ",
                                                 error.message()));
  }
  return context;
}

// `stream` is a beast::tcp_stream, or TLS over one.
template <typename Stream>
absl::StatusOr<WitnessAnswer> Exchange(asio::io_context& io, Stream& stream,
                                       const tcp::resolver::results_type& addresses,
                                       const http::request<http::string_body>& request,
                                       absl::Duration timeout) {
  http::response_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxAnswerBytes);
  beast::flat_buffer buffer(kMaxBufferBytes);
  error_code failed;
  const auto on_read = [&](error_code error, size_t) { failed = error; };
  const auto on_write = [&](error_code error, size_t) {
    failed = error;
    if (!error) http::async_read(stream, buffer, parser, on_read);
  };
  const auto on_ready = [&](error_code error) {
    failed = error;
    if (!error) http::async_write(stream, request, on_write);
  };
  beast::tcp_stream& lowest = beast::get_lowest_layer(stream);
  lowest.expires_after(absl::ToChronoNanoseconds(timeout));  // for all that follows
  lowest.async_connect(addresses, [&](error_code error, const tcp::endpoint&) {
    if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
      on_ready(error);
    } else {
      failed = error;
      if (!error) stream.async_handshake(ssl::stream_base::client, on_ready);
    }
  });
  io.run();
  if (failed) return absl::UnavailableError(failed.message());
  return WitnessAnswer{static_cast<int>(parser.get().result_int()), parser.get().body()};
}

}  // namespace

absl::StatusOr<WitnessUrl> WitnessUrl::Parse(const std::string& text) {
  const absl::Status refused = FieldError(
      "witness", absl::StrCat("must be http://HOST:PORT or https://HOST:PORT, with a path or "
                              "without, got ",
                              text));
  WitnessUrl url;
  absl::string_view rest = text;
  url.tls = absl::ConsumePrefix(&rest, "https://");
  if (!url.tls && !absl::ConsumePrefix(&rest, "http://")) return refused;
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.named = std::string(rest.substr(0, slash));
  url.prefix = std::string(rest.substr(slash));
  while (absl::EndsWith(url.prefix, "/")) url.prefix.pop_back();
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && !absl::StrContains("?#@\\", c); };
  const bool has_port = absl::StrContains(url.named, ":") && !absl::EndsWith(url.named, "]");
  const std::optional<Address> address =
      ParseAddress(has_port ? url.named : absl::StrCat(url.named, url.tls ? ":443" : ":80"));
  if (!std::all_of(rest.begin(), rest.end(), plain) || !address.has_value() || address->port == 0)
    return refused;
  url.host = address->host;
  url.port = address->port;
  return url;
}

absl::Status CheckAuthorities(const std::string& ca_file) { return Authorities(ca_file).status(); }

absl::StatusOr<WitnessAnswer> CallWitness(const WitnessUrl& url, const std::string& path,
                                          const std::string& body, const std::string& ca_file,
                                          absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  ASSIGN_OR_RETURN(const tcp::resolver::results_type addresses, Resolve(url, deadline));
  http::request<http::string_body> request(body.empty() ? http::verb::get : http::verb::post,
                                           url.prefix + path, 11);
  request.set(http::field::host, url.named);
  request.set(http::field::content_type, "text/plain; charset=utf-8");
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();
  asio::io_context io;
  if (!url.tls) {
    beast::tcp_stream stream(io);
    return Exchange(io, stream, addresses, request, deadline - absl::Now());
  }
  ASSIGN_OR_RETURN(ssl::context authorities, Authorities(ca_file));
  ssl::stream<beast::tcp_stream> stream(io, authorities);
  stream.set_verify_callback(ssl::host_name_verification(url.host));
  error_code is_name;
  asio::ip::make_address(url.host, is_name);  // TLS knows no addresses where names stand
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  return Exchange(io, stream, addresses, request, deadline - absl::Now());
}

}  // namespace dpledger::server
