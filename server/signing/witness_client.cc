#include "server/signing/witness_client.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "merkle/text_lines.h"
#include "merkle/witness_request.h"

namespace dpledger::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::string_view kScheme = "http://";
constexpr char kAddCheckpoint[] = "/add-checkpoint";
constexpr uint64_t kMaxAnswerBytes = uint64_t{64} << 10;
constexpr uint32_t kMaxHeaderBytes = 8192;
// Read and not yet understood: the parser's limits leave out what stands between chunks.
constexpr size_t kMaxBufferBytes = size_t{64} << 10;
constexpr size_t kMaxQuotedBytes = 200;

struct Address {
  asio::ip::tcp::endpoint endpoint;
  std::string host;    // with the port
  std::string prefix;  // of all targets
};

absl::StatusOr<Address> ParseUrl(const std::string& url) {
  const absl::Status refused = FieldError(
      "witness", absl::StrCat("must be http://IP:PORT, with a path or without, got ", url));
  if (!absl::StartsWith(url, ToAbsl(kScheme))) return refused;
  const std::string rest = url.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  Address address;
  address.host = rest.substr(0, slash);
  std::string path = rest.substr(slash);
  while (absl::EndsWith(path, "/")) path.pop_back();
  const bool plain = std::all_of(
      path.begin(), path.end(), [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
  const size_t colon = address.host.rfind(':');
  uint32_t port = 0;
  if (!plain || colon == std::string::npos ||
      !absl::SimpleAtoi(address.host.substr(colon + 1), &port) || port == 0 || port > 65535) {
    return refused;
  }
  std::string ip = address.host.substr(0, colon);
  if (ip == "localhost") ip = "127.0.0.1";
  if (ip.size() > 2 && ip.front() == '[' && ip.back() == ']') ip = ip.substr(1, ip.size() - 2);
  error_code error;
  address.endpoint = {asio::ip::make_address(ip, error), static_cast<uint16_t>(port)};
  if (error) return refused;
  address.prefix = path;
  return address;
}

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// UNAVAILABLE if there is no whole answer after `timeout`.
absl::StatusOr<HttpAnswer> Exchange(const Address& address, http::verb method,
                                    const std::string& target, const std::string& body,
                                    absl::Duration timeout) {
  asio::io_context io;
  boost::beast::tcp_stream stream(io);
  stream.expires_after(absl::ToChronoNanoseconds(timeout));  // for all that follows
  http::request<http::string_body> request(method, target, 11);
  request.set(http::field::host, address.host);
  request.set(http::field::content_type, "text/plain; charset=utf-8");
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();
  http::response_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxAnswerBytes);
  boost::beast::flat_buffer buffer(kMaxBufferBytes);
  error_code failed;
  const auto on_read = [&](error_code error, size_t) { failed = error; };
  const auto on_write = [&](error_code error, size_t) {
    failed = error;
    if (!error) http::async_read(stream, buffer, parser, on_read);
  };
  stream.async_connect(address.endpoint, [&](error_code error) {
    failed = error;
    if (!error) http::async_write(stream, request, on_write);
  });
  io.run();
  if (failed) return absl::UnavailableError(failed.message());
  return HttpAnswer{static_cast<int>(parser.get().result_int()), parser.get().body()};
}

absl::Status Unexpected(const HttpAnswer& answer) {
  std::string quoted = answer.body.substr(0, kMaxQuotedBytes);
  while (absl::EndsWith(quoted, "\n")) quoted.pop_back();
  return absl::UnavailableError(absl::StrCat("it answers ", answer.status, ": ", quoted));
}

}  // namespace

// One witness, what it cosigned last as far as we know, and when it is asked again.
class WitnessClient::Witness {
 public:
  Witness(WitnessAddress named, Address address)
      : named_(std::move(named)), address_(std::move(address)) {}

  const std::string& url() const { return named_.url; }

  // Our signature line, or why not: DATA_LOSS (SPLIT_VIEW, WITNESS_AHEAD) if the witness cosigned
  // what is not in this registry, UNAVAILABLE and others if it just does not work.
  absl::StatusOr<merkle::NoteSignature> Cosign(const merkle::Note& note, uint64_t size,
                                               const ConsistencyProver& prove_from,
                                               absl::Duration timeout) {
    const absl::Time deadline = absl::Now() + timeout;
    ASSIGN_OR_RETURN(HttpAnswer answer, Ask(note, prove_from, deadline));
    if (answer.status == 409) {
      RETURN_IF_ERROR(TakeSize(answer, size));
      ASSIGN_OR_RETURN(answer, Ask(note, prove_from, deadline));
    }
    if (answer.status == 422) {
      return WithReason(
          absl::DataLossError(absl::StrCat(
              "the witness has cosigned another history of ", cosigned_,
              " entries than this registry has: two servers sign with this key, or this store was "
              "rewritten; it says: ",
              Unexpected(answer).message())),
          {"SPLIT_VIEW", {}});
    }
    if (answer.status != 200) return Unexpected(answer);
    ASSIGN_OR_RETURN(merkle::NoteSignature cosignature, Verified(note, answer.body));
    cosigned_ = size;
    return cosignature;
  }

  // Nothing if the witness knows no such log.
  absl::StatusOr<std::optional<std::string>> Latest(const std::string& origin,
                                                    absl::Duration timeout) const {
    const std::string hash = HexEncode(merkle::ToBytes(merkle::Sha256({origin})));
    ASSIGN_OR_RETURN(
        const HttpAnswer answer,
        Exchange(address_, http::verb::get, absl::StrCat(address_.prefix, "/", hash, "/checkpoint"),
                 "", timeout));
    if (answer.status == 404) return std::nullopt;
    if (answer.status != 200) return Unexpected(answer);
    ASSIGN_OR_RETURN(const merkle::Note note, merkle::Note::Parse(answer.body));
    RETURN_IF_ERROR(merkle::VerifyNote(note, {&named_.key, 1}).status());
    return answer.body;
  }

  bool HasSigned(const merkle::Note& note) const {
    return std::any_of(
        note.signatures.begin(), note.signatures.end(),
        [this](const merkle::NoteSignature& signature) { return IsOurs(signature); });
  }
  bool IsDue() const { return absl::Now() >= again_; }
  void Succeeded() { pause_ = absl::ZeroDuration(); }
  void Failed(const WitnessClientOptions& options) {
    pause_ = std::clamp(2 * pause_, options.first_pause, options.longest_pause);
    again_ = absl::Now() + pause_;
  }

 private:
  bool IsOurs(const merkle::NoteSignature& signature) const {
    return signature.name == named_.key.name && signature.key_id == named_.key.Id();
  }

  absl::StatusOr<HttpAnswer> Ask(const merkle::Note& note, const ConsistencyProver& prove_from,
                                 absl::Time deadline) const {
    merkle::WitnessRequest request{cosigned_, {}, note};
    if (cosigned_ > 0) {
      ASSIGN_OR_RETURN(request.proof, prove_from(cosigned_));
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::UnavailableError("no answer in time");
    return Exchange(address_, http::verb::post, absl::StrCat(address_.prefix, kAddCheckpoint),
                    merkle::WitnessRequestText(request), left);
  }

  absl::Status TakeSize(const HttpAnswer& conflict, uint64_t size) {
    std::string_view body = conflict.body;
    const std::optional<std::string_view> line = merkle::TakeLine(body);
    const auto known = line.has_value() ? merkle::ParseDecimal(*line) : std::nullopt;
    if (!known.has_value() || !body.empty()) return Unexpected(conflict);
    if (*known > size) {
      return WithReason(
          absl::DataLossError(absl::StrCat(
              "the witness has cosigned ", *known, " entries of this registry, which has ", size,
              ": this store was put back to an older copy, or another one is signed with its key")),
          {"WITNESS_AHEAD", {}});
    }
    cosigned_ = *known;
    return absl::OkStatus();
  }

  absl::StatusOr<merkle::NoteSignature> Verified(const merkle::Note& note,
                                                 const std::string& lines) const {
    ASSIGN_OR_RETURN(std::vector<merkle::NoteSignature> signatures,
                     merkle::ParseSignatureLines(lines));
    // Signatures of unknown keys are to be ignored.
    RETURN_IF_ERROR(merkle::VerifyNote({note.text, signatures}, {&named_.key, 1}).status());
    for (merkle::NoteSignature& signature : signatures) {
      if (IsOurs(signature)) return std::move(signature);
    }
    return absl::InternalError("a verified signature is gone");
  }

  const WitnessAddress named_;
  const Address address_;
  uint64_t cosigned_ = 0;  // entries, as far as we know; a 409 tells otherwise
  absl::Duration pause_ = absl::ZeroDuration();
  absl::Time again_ = absl::InfinitePast();
};

WitnessClient::WitnessClient(const WitnessClientOptions& options,
                             std::vector<std::unique_ptr<Witness>> witnesses, const Log* log)
    : options_(options), witnesses_(std::move(witnesses)), log_(log) {}

WitnessClient::~WitnessClient() = default;

absl::StatusOr<std::unique_ptr<WitnessClient>> WitnessClient::Make(
    const WitnessClientOptions& options, const Log* log) {
  std::vector<std::unique_ptr<Witness>> witnesses;
  for (const WitnessAddress& named : options.witnesses) {
    ASSIGN_OR_RETURN(Address address, ParseUrl(named.url));
    if (named.key.type != merkle::SignatureType::kCosignature) {
      return FieldError("witness_key", absl::StrCat("must be the key of a witness (type 4), got ",
                                                    named.key.ToText()));
    }
    witnesses.push_back(std::make_unique<Witness>(named, std::move(address)));
  }
  return std::unique_ptr<WitnessClient>(new WitnessClient(options, std::move(witnesses), log));
}

std::vector<merkle::NoteSignature> WitnessClient::Cosign(const std::string& note, uint64_t size,
                                                         const ConsistencyProver& prove_from) {
  std::vector<merkle::NoteSignature> cosignatures;
  const absl::StatusOr<merkle::Note> parsed = merkle::Note::Parse(note);
  if (!parsed.ok()) return cosignatures;
  for (const std::unique_ptr<Witness>& witness : witnesses_) {
    if (!witness->IsDue() || witness->HasSigned(*parsed)) continue;
    absl::StatusOr<merkle::NoteSignature> cosignature =
        witness->Cosign(*parsed, size, prove_from, options_.timeout);
    if (cosignature.ok()) {
      witness->Succeeded();
      cosignatures.push_back(*std::move(cosignature));
      continue;
    }
    witness->Failed(options_);
    const std::string reason = ReasonOf(cosignature.status()).reason;
    const bool other_history = reason == "SPLIT_VIEW" || reason == "WITNESS_AHEAD";
    log_->Write(other_history ? LogLevel::kError : LogLevel::kWarning,
                reason == "SPLIT_VIEW"      ? "split_view"
                : reason == "WITNESS_AHEAD" ? "witness_ahead"
                                            : "witness_failed",
                {{"witness", witness->url()},
                 {"registry_size", static_cast<int64_t>(size)},
                 {"message", std::string(cosignature.status().message())},
                 {"checkpoint", other_history ? note : "as published"}});
  }
  return cosignatures;
}

absl::StatusOr<std::vector<std::string>> WitnessClient::Latest(const std::string& origin) {
  std::vector<std::string> notes;
  absl::Status failed = absl::UnavailableError("no witness was asked");
  bool answered = false;
  for (const std::unique_ptr<Witness>& witness : witnesses_) {
    absl::StatusOr<std::optional<std::string>> note = witness->Latest(origin, options_.timeout);
    if (note.ok()) {
      answered = true;
      if (note->has_value()) notes.push_back(**std::move(note));
    } else {
      failed = absl::UnavailableError(
          absl::StrCat("witness ", witness->url(), ": ", note.status().message()));
    }
  }
  if (!answered) return failed;
  return notes;
}

}  // namespace dpledger::server
