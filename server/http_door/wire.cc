#include "server/http_door/wire.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/proto_json.h"
#include "events/wire_errors.h"
#include "http/gzip.h"
#include "http/head.h"
#include "server/desk/desk.h"
#include "server/http_door/connect_error.h"

namespace dpledger::server {
namespace {

constexpr char kCompressed = 1;
constexpr char kConnectEnd = 2;
constexpr char kGrpcWebTrailers = '\x80';
constexpr size_t kEnvelopeBytes = 5;
// Below this gzip gains nothing that a packet's header does not cost.
constexpr size_t kWorthGzip = 1024;
constexpr size_t kMaxTimeoutDigits = 10;     // Connect
constexpr size_t kMaxGrpcTimeoutDigits = 8;  // gRPC
constexpr char kUnaryTypes[] = "application/json, application/proto";
constexpr char kStreamTypes[] =
    "application/connect+json, application/connect+proto, application/grpc-web+json, "
    "application/grpc-web+proto";

struct TypeRow {
  std::string_view type;
  Protocol protocol;
  bool json;
};
constexpr TypeRow kTypes[] = {
    {"application/proto", Protocol::kConnectUnary, false},
    {"application/json", Protocol::kConnectUnary, true},
    {"application/connect+proto", Protocol::kConnectStream, false},
    {"application/connect+json", Protocol::kConnectStream, true},
    {"application/grpc-web", Protocol::kGrpcWeb, false},
    {"application/grpc-web+proto", Protocol::kGrpcWeb, false},
    {"application/grpc-web+json", Protocol::kGrpcWeb, true},
};

absl::Status Invalid(std::string_view what, std::string_view rule) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), ": ", ToAbsl(rule))),
                    {"MALFORMED_REQUEST", {}});
}

bool AllDigits(std::string_view text, size_t max) {
  return !text.empty() && text.size() <= max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "application/json; charset=utf-8" is "application/json"; nothing for any other parameter.
std::optional<std::string> MediaType(std::string_view header) {
  const size_t semicolon = header.find(';');
  std::string type =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(ToAbsl(header.substr(0, semicolon))));
  if (semicolon == std::string_view::npos) return type;
  const std::string parameter =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(ToAbsl(header.substr(semicolon + 1))));
  if (parameter == "charset=utf-8" || parameter == "charset=\"utf-8\"") return type;
  return std::nullopt;
}

bool Accepts(const http::Request& request, std::string_view header, std::string_view encoding) {
  const auto value = request.Find(header);
  if (!value.has_value()) return false;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(*value), ',')) {
    if (absl::StripAsciiWhitespace(word) == ToAbsl(encoding)) return true;
  }
  return false;
}

absl::Status ReadEncoding(std::string_view value, bool& gzip) {
  gzip = value == "gzip";
  if (gzip || value == "identity" || value.empty()) return absl::OkStatus();
  return WithReason(absl::UnimplementedError(absl::StrCat(
                        "unknown compression \"", absl::CHexEscape(ToAbsl(value.substr(0, 32))),
                        "\": supported encodings are gzip, identity")),
                    {"UNKNOWN_COMPRESSION", {}});
}

absl::Status ReadConnectTimeout(const http::Request& request, absl::Time& deadline) {
  const auto header = request.Find("connect-timeout-ms");
  if (!header.has_value()) return absl::OkStatus();
  int64_t milliseconds = 0;
  if (!AllDigits(*header, kMaxTimeoutDigits) || !absl::SimpleAtoi(ToAbsl(*header), &milliseconds)) {
    return Invalid("connect-timeout-ms", "must be a number of at most 10 digits");
  }
  deadline = absl::Now() + absl::Milliseconds(milliseconds);
  return absl::OkStatus();
}

absl::Status ReadGrpcTimeout(const http::Request& request, absl::Time& deadline) {
  const auto header = request.Find("grpc-timeout");
  if (!header.has_value()) return absl::OkStatus();
  static const std::map<char, absl::Duration> units = {
      {'H', absl::Hours(1)},        {'M', absl::Minutes(1)},      {'S', absl::Seconds(1)},
      {'m', absl::Milliseconds(1)}, {'u', absl::Microseconds(1)}, {'n', absl::Nanoseconds(1)}};
  int64_t count = 0;
  const auto unit = header->empty() ? units.end() : units.find(header->back());
  if (unit == units.end() ||
      !AllDigits(header->substr(0, header->size() - 1), kMaxGrpcTimeoutDigits) ||
      !absl::SimpleAtoi(ToAbsl(header->substr(0, header->size() - 1)), &count)) {
    return Invalid("grpc-timeout", "must be at most 8 digits and one of H M S m u n");
  }
  deadline = absl::Now() + count * unit->second;
  return absl::OkStatus();
}

absl::Status ReadConnectVersion(const http::Request& request) {
  const auto version = request.Find("connect-protocol-version");
  if (!version.has_value() || *version == "1") return absl::OkStatus();
  return Invalid("connect-protocol-version", "must be 1");
}

std::optional<std::string> DecodeQuery(absl::string_view text) {
  return http::PercentDecode(absl::StrReplaceAll(text, {{"+", " "}}));
}

// Each name once.
std::optional<std::map<std::string, std::string>> ReadQuery(const std::string& query) {
  std::map<std::string, std::string> values;
  for (const absl::string_view pair : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    const auto name = DecodeQuery(halves.first);
    auto value = DecodeQuery(halves.second);
    if (!name.has_value() || !value.has_value() ||
        !values.emplace(*name, *std::move(value)).second) {
      return std::nullopt;
    }
  }
  return values;
}

http::Response NotAllowed(const char* allow) {
  http::Response response = http::PlainResponse(405, absl::StrCat("must be a ", allow));
  response.headers.emplace_back("allow", allow);
  return response;
}

http::Response UnknownType(const char* types) {
  http::Response response =
      http::PlainResponse(415, absl::StrCat("content-type: must be one of ", types));
  response.headers.emplace_back("accept-post", types);
  return response;
}

absl::Status ReadGet(http::Request& request, Wire& wire) {
  const auto query = ReadQuery(request.query);
  if (!query.has_value()) return Invalid("query", "must name each parameter once, in URL encoding");
  const auto value = [&](const char* name) {
    const auto found = query->find(name);
    return found == query->end() ? std::string() : found->second;
  };
  const std::string encoding = value("encoding");
  wire.json = encoding == "json";
  wire.content_type = wire.json ? "application/json" : "application/proto";
  if (value("connect") != "v1") return Invalid("connect", "must be v1");
  if (encoding != "json" && encoding != "proto")
    return Invalid("encoding", "must be json or proto");
  if (!query->contains("message")) return Invalid("message", "must be given");
  RETURN_IF_ERROR(ReadEncoding(value("compression"), wire.request_gzip));
  request.body = value("message");
  const std::string base64 = value("base64");
  if (base64 != "1") {
    return base64.empty() || base64 == "0" ? absl::OkStatus() : Invalid("base64", "must be 0 or 1");
  }
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(request.body, &bytes)) {
    return Invalid("message", "must be base64url");
  }
  request.body = std::move(bytes);
  return absl::OkStatus();
}

std::string PercentEncode(absl::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      out += byte;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

std::string GrpcTrailers(const absl::Status& status) {
  std::string trailers = absl::StrCat("grpc-status: ", static_cast<int>(status.code()), "\r\n");
  if (status.ok()) return trailers;
  const google::rpc::Status error = events::WithErrorInfo(status);
  absl::StrAppend(&trailers, "grpc-message: ", PercentEncode(error.message()),
                  "\r\ngrpc-status-details-bin: ", absl::Base64Escape(error.SerializeAsString()),
                  "\r\n");
  return trailers;
}

}  // namespace

std::variant<Wire, http::Response> ReadWire(const Method& method, http::Request& request) {
  Wire wire;
  const bool unary = method.kind == CallKind::kUnary;
  const bool may_get = unary && method.no_side_effects;
  if (method.kind == CallKind::kBidirectional) {
    return http::PlainResponse(505, "this call sends both ways at once: use gRPC (HTTP/2)");
  }
  if (may_get && request.method == "GET") {
    wire.refused = ReadConnectVersion(request);
    if (wire.refused.ok()) wire.refused = ReadGet(request, wire);
    if (wire.refused.ok()) wire.refused = ReadConnectTimeout(request, wire.deadline);
    if (wire.content_type.empty()) wire.content_type = "application/proto";
    wire.answer_gzip = Accepts(request, "accept-encoding", "gzip");
    return wire;
  }
  if (request.method != "POST") return NotAllowed(may_get ? "GET, POST" : "POST");

  const std::optional<std::string> type = MediaType(request.Find("content-type").value_or(""));
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const TypeRow& one) { return one.type == type; });
  const bool fits =
      row != std::end(kTypes) &&
      (row->protocol == Protocol::kGrpcWeb || (row->protocol == Protocol::kConnectUnary) == unary);
  if (!fits) return UnknownType(unary ? kUnaryTypes : kStreamTypes);
  wire.protocol = row->protocol;
  wire.json = row->json;
  wire.content_type = std::string(row->type);
  if (wire.protocol == Protocol::kGrpcWeb) {
    wire.refused = ReadGrpcTimeout(request, wire.deadline);
  } else {
    wire.refused = ReadConnectVersion(request);
    if (wire.refused.ok()) wire.refused = ReadConnectTimeout(request, wire.deadline);
  }
  const char* const encoding = wire.protocol == Protocol::kConnectUnary ? "content-encoding"
                               : wire.protocol == Protocol::kConnectStream
                                   ? "connect-content-encoding"
                                   : "grpc-encoding";
  const absl::Status known = ReadEncoding(request.Find(encoding).value_or(""), wire.request_gzip);
  if (wire.refused.ok()) wire.refused = known;
  wire.answer_gzip =
      wire.protocol == Protocol::kConnectUnary && Accepts(request, "accept-encoding", "gzip");
  return wire;
}

absl::StatusOr<std::string> UnpackRequest(const Wire& wire, std::string body, size_t max_bytes) {
  bool gzip = wire.request_gzip;
  if (wire.protocol != Protocol::kConnectUnary) {
    const auto byte = [&](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(body[i]));
    };
    if (body.size() < kEnvelopeBytes ||
        body.size() - kEnvelopeBytes != (byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4))) {
      return Invalid("body", "must be exactly one message in an envelope");
    }
    if ((body[0] & ~kCompressed) != 0) return Invalid("body", "unknown flags of an envelope");
    if (body[0] == kCompressed && !gzip) {
      return Invalid("body", "the envelope is compressed, and no header says how");
    }
    gzip = body[0] == kCompressed;
    body.erase(0, kEnvelopeBytes);
  }
  // As gRPC's: nothing compressed is an empty message too.
  if (gzip && !body.empty()) return http::Gunzip(body, max_bytes);
  if (body.size() <= max_bytes) return body;
  return WithReason(absl::ResourceExhaustedError(
                        absl::StrCat("the message is larger than ", max_bytes, " bytes")),
                    {"MESSAGE_TOO_LARGE", {}});
}

absl::Status ParseMessage(const Wire& wire, const std::string& bytes, Message& message) {
  if (wire.json) {
    const std::string& name = message.GetDescriptor()->full_name();
    return events::MessageFromJson(bytes, "a " + name, message);
  }
  return message.ParseFromString(bytes) ? absl::OkStatus()
                                        : events::NotAMessage(*message.GetDescriptor());
}

std::string SerializeMessage(const Wire& wire, const Message& message) {
  return wire.json ? events::MessageToJson(message) : message.SerializeAsString();
}

std::string Envelope(char flags, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string envelope = {flags, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                          static_cast<char>(size >> 8), static_cast<char>(size)};
  envelope.append(bytes);
  return envelope;
}

std::string EndEnvelope(const Wire& wire, const absl::Status& status) {
  if (wire.protocol == Protocol::kGrpcWeb) return Envelope(kGrpcWebTrailers, GrpcTrailers(status));
  return Envelope(kConnectEnd,
                  status.ok() ? "{}" : absl::StrCat("{\"error\":", ConnectErrorJson(status), "}"));
}

http::Response UnaryResponse(const Wire& wire, const absl::Status& status,
                             const Message* response) {
  http::Response answer;
  if (wire.protocol == Protocol::kGrpcWeb) {
    answer.headers = {{"content-type", wire.content_type}};
    if (response != nullptr) answer.body = Envelope(0, SerializeMessage(wire, *response));
    answer.body += EndEnvelope(wire, status);
    return answer;
  }
  if (response == nullptr) {
    return {.status = HttpStatusOf(status.code()),
            .headers = {{"content-type", "application/json"}},
            .body = ConnectErrorJson(status)};
  }
  answer.headers = {{"content-type", wire.content_type}};
  answer.body = SerializeMessage(wire, *response);
  if (wire.answer_gzip && answer.body.size() >= kWorthGzip) {
    std::string smaller = http::Gzip(answer.body);
    if (!smaller.empty() && smaller.size() < answer.body.size()) {
      answer.body = std::move(smaller);
      answer.headers.emplace_back("content-encoding", "gzip");
    }
  }
  answer.headers.emplace_back("vary", "accept-encoding");
  return answer;
}

}  // namespace dpledger::server
