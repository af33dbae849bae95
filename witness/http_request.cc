#include "witness/http_request.h"

#include <boost/beast/http/error.hpp>

#include "absl/strings/str_cat.h"
#include "merkle/witness_request.h"

namespace dpledger::witness {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kAddCheckpoint = "/add-checkpoint";
constexpr std::string_view kCheckpoint = "/checkpoint";

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

Answer PlainAnswer(int status, const char* text) {
  return {.status = status, .body = absl::StrCat(text, "\n")};
}

}  // namespace

void SetLimits(RequestParser& parser) {
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(merkle::kMaxWitnessRequestBytes);
}

std::optional<Answer> AnswerOf(boost::system::error_code error) {
  if (error == http::error::body_limit || error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return PlainAnswer(413, "the request is too large");
  }
  // Beast's own errors tell of bytes that are no HTTP; all others of a connection that is gone.
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    return PlainAnswer(400, "not an HTTP/1.1 request");
  }
  return std::nullopt;
}

Answer Route(const Request& request, const Routes& routes) {
  const std::string_view target = View(request.target());
  if (target == kAddCheckpoint) {
    if (request.method() != http::verb::post) return PlainAnswer(405, "must be a POST");
    return routes.add_checkpoint(request.body());
  }
  if (target.starts_with('/') && target.ends_with(kCheckpoint) &&
      target.size() > kCheckpoint.size()) {
    if (request.method() != http::verb::get) return PlainAnswer(405, "must be a GET");
    return routes.latest_checkpoint(target.substr(1, target.size() - 1 - kCheckpoint.size()));
  }
  return PlainAnswer(404, "not found");
}

}  // namespace dpledger::witness
