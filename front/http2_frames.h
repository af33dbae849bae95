// The frames of one direction of an HTTP/2 connection (RFC 9113, section 4.1), found without
// understanding what is in them: enough to count them and to know where one ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace dpledger::front {

// What a client sends first (RFC 9113, section 3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct FrameHeader {
  uint32_t length = 0;  // of the payload, bytes
  uint8_t type = 0;
  uint8_t flags = 0;
};

// Frame types (RFC 9113, section 6).
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kResetStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

class FrameReader {
 public:
  // `skip`: bytes before the first frame (a client's preface).
  explicit FrameReader(size_t skip = 0) : left_(skip) {}

  // Takes the next bytes and calls `frame` for each header that they complete.
  void Read(std::string_view bytes, const std::function<void(const FrameHeader&)>& frame);
  // Whether the bytes so far end where a frame ends.
  bool between_frames() const { return left_ == 0 && have_ == 0; }

 private:
  static constexpr size_t kHeaderBytes = 9;

  uint64_t left_;  // of the payload, still to come
  uint8_t header_[kHeaderBytes] = {};
  size_t have_ = 0;  // bytes of header_
};

}  // namespace dpledger::front
