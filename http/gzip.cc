#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::http {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header (zlib.h)
constexpr int kFast = 1;              // answers wait for it
constexpr int kMemory = 8;
constexpr size_t kFirstBytes = size_t{16} << 10;

// zlib never writes to its input.
Bytef* Input(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t max_bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return absl::ResourceExhaustedError("out of memory");
  }
  stream.next_in = Input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= max_bytes) {
    const size_t done = out.size();
    // One byte above the bound tells that there is more.
    out.resize(std::min(std::max(2 * done, kFirstBytes), max_bytes + 1));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(out.size() - done);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (stream.avail_out > 0 && result == Z_OK) result = Z_BUF_ERROR;  // it ends too early
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (out.size() > max_bytes) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat("the message is larger than ",
                                                                max_bytes, " bytes when inflated")),
                      {"MESSAGE_TOO_LARGE", {}});
  }
  if (!whole) return absl::InvalidArgumentError("the message is not valid gzip");
  return out;
}

std::string Gzip(std::string_view bytes) {
  z_stream stream = {};
  // Fails only without memory; the caller then sends what it has.
  if (deflateInit2(&stream, kFast, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = Input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace dpledger::http
