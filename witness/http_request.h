// What the witness's HTTP door makes of bytes that anybody sends: the parser with its limits, and
// the routes. Pure; thread safe.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "witness/witness.h"

namespace dpledger::witness {

using Request = boost::beast::http::request<boost::beast::http::string_body>;
using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

inline constexpr uint32_t kMaxHeaderBytes = 8192;
// Read and not yet understood. The parser's own limits leave out what stands between the chunks of
// a body: extensions and trailers (RFC 9112, section 7.1) would fill the memory.
inline constexpr size_t kMaxBufferBytes = size_t{64} << 10;

// For the next request of a connection.
void SetLimits(RequestParser& parser);

// The answer to bytes that are no request; nullopt for an error of the connection.
std::optional<Answer> AnswerOf(boost::system::error_code error);

// Who answers.
struct Routes {
  std::function<Answer(std::string_view body)> add_checkpoint;
  std::function<Answer(std::string_view origin)> latest_checkpoint;
};
Answer Route(const Request& request, const Routes& routes);

}  // namespace dpledger::witness
