// HTTP requests, one after the other on a connection, in pieces of any size: what the door makes of
// them, and the routes.
#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/read.hpp>

#include "tests/fuzz/target.h"
#include "witness/http_request.h"

namespace dpledger::fuzz {
namespace {

// A connection that brings the bytes in pieces, and then ends.
struct Pieces {
  template <typename Buffers>
  size_t read_some(const Buffers& buffers, boost::system::error_code& error) {
    const size_t bytes =
        boost::asio::buffer_copy(buffers, boost::asio::buffer(left.data(), left.size()), piece);
    if (bytes == 0) error = boost::asio::error::eof;
    left.remove_prefix(bytes);
    return bytes;
  }
  template <typename Buffers>
  size_t read_some(const Buffers& buffers) {
    boost::system::error_code ignored;
    return read_some(buffers, ignored);
  }

  std::string_view left;
  size_t piece;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = Text(data, size);
  const int choice = TakeChoice(input);
  Pieces connection{input, static_cast<size_t>(choice) * 16 + 1};
  boost::beast::flat_buffer buffer{witness::kMaxBufferBytes};
  while (true) {
    witness::RequestParser parser;
    witness::SetLimits(parser);
    boost::system::error_code error;
    boost::beast::http::read(connection, buffer, parser, error);
    FUZZ_CHECK(buffer.size() <= witness::kMaxBufferBytes);
    if (const auto refused = witness::AnswerOf(error); refused.has_value()) {
      FUZZ_CHECK(refused->status == 400 || refused->status == 413);
      return 0;
    }
    if (error) return 0;
    const witness::Request request = parser.release();
    FUZZ_CHECK(request.body().size() <= merkle::kMaxWitnessRequestBytes);
    int calls = 0;
    const witness::Routes routes = {
        .add_checkpoint =
            [&](std::string_view body) {
              ++calls;
              FUZZ_CHECK(request.method() == boost::beast::http::verb::post);
              FUZZ_CHECK(body == request.body());
              (void)merkle::ParseWitnessRequest(body);
              return witness::Answer();
            },
        .latest_checkpoint =
            [&](std::string_view log) {
              ++calls;
              FUZZ_CHECK(request.method() == boost::beast::http::verb::get);
              FUZZ_CHECK(request.target() == "/" + std::string(log) + "/checkpoint");
              return witness::Answer();
            }};
    const witness::Answer answer = witness::Route(request, routes);
    FUZZ_CHECK(answer.status == (calls == 1 ? 200 : answer.status == 405 ? 405 : 404));
    if (!request.keep_alive()) return 0;
  }
}

}  // namespace dpledger::fuzz
