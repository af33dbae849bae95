// The heads of HTTP requests: found in pieces as in one, and what is accepted of them is what every
// reader must understand.
#include <algorithm>

#include "http/head.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

// Where the head ends, if its bytes come `piece` at a time.
std::optional<size_t> EndInPieces(std::string_view bytes, size_t piece) {
  size_t seen = 0;
  for (size_t size = std::min(piece, bytes.size());; size = std::min(size + piece, bytes.size())) {
    const std::optional<size_t> end = http::FindHeadEnd(bytes.substr(0, size), &seen);
    if (end.has_value() || size == bytes.size()) return end;
  }
}

void CheckTarget(std::string_view text) {
  const std::optional<http::Target> target = http::ParseTarget(text);
  if (!target.has_value()) return;
  FUZZ_CHECK(target->path.starts_with('/'));
  FUZZ_CHECK(target->path.find("//") == std::string::npos);
  FUZZ_CHECK((target->path + "/").find("/../") == std::string::npos);
  FUZZ_CHECK((target->path + "/").find("/./") == std::string::npos);
  FUZZ_CHECK(target->path.find('\0') == std::string::npos);
  FUZZ_CHECK(target->path.find('\\') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = Text(data, size);
  const size_t piece = static_cast<size_t>(TakeChoice(input)) + 1;
  size_t seen = 0;
  const std::optional<size_t> end = http::FindHeadEnd(input, &seen);
  const std::optional<size_t> in_pieces = EndInPieces(input, piece);
  // In pieces, what can be no head is known earlier.
  if (end.has_value() && *end > 0) FUZZ_CHECK(in_pieces == end);
  CheckTarget(input);
  if (!end.has_value() || *end == 0) return 0;
  const std::string_view head = input.substr(0, *end);
  FUZZ_CHECK(head.ends_with("\r\n\r\n"));
  const std::optional<http::Refusal> refused = http::CheckHead(head, 64);
  if (refused.has_value()) {
    FUZZ_CHECK(refused->status >= 400 && refused->status < 600);
    return 0;
  }
  // No bare line break, and no line that goes on: a stricter reader sees the same lines.
  for (size_t at = 0; at < head.size(); ++at) {
    if (head[at] == '\n') FUZZ_CHECK(at > 0 && head[at - 1] == '\r');
    if (head[at] == '\r') FUZZ_CHECK(at + 1 < head.size() && head[at + 1] == '\n');
    FUZZ_CHECK(head[at] != '\0');
  }
  FUZZ_CHECK(head.find("\n ") == std::string_view::npos);
  FUZZ_CHECK(head.find("\n\t") == std::string_view::npos);
  return 0;
}

}  // namespace dpledger::fuzz
