// What one client may ask of the server without work in return: a token bucket, charged by the
// frames of HTTP/2 that cost the server something and the client nothing (CVE-2023-44487 and its
// kin).
#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "front/http2_frames.h"

namespace dpledger::front {

struct AllowanceOptions {
  // A client that dies resets all its streams at once, and many recorders share a connection: far
  // more than the streams of one connection.
  double burst = 1000;
  double per_second = 100;
};

// Not thread safe.
class Allowance {
 public:
  Allowance(const AllowanceOptions& options, absl::Time now)
      : options_(options), left_(options.burst), filled_(now) {}

  // Whether `cost` was left; it is taken in any case, down to nothing.
  bool Take(double cost, absl::Time now) {
    Fill(now);
    left_ -= cost;
    if (left_ >= 0) return true;
    left_ = 0;
    return false;
  }
  // Whether nothing is remembered of what was taken.
  bool Full(absl::Time now) {
    Fill(now);
    return left_ >= options_.burst;
  }

 private:
  void Fill(absl::Time now) {
    const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - filled_));
    left_ = std::min(options_.burst, left_ + seconds * options_.per_second);
    filled_ = now;
  }

  const AllowanceOptions options_;
  double left_;
  absl::Time filled_;
};

// What a frame of a client costs: 1 for a reset, a tenth for what makes the server answer or keep
// something, 0 for the rest. Frames that carry data or open a stream are bounded by the streams of
// a connection and by flow control.
inline double CostOf(const FrameHeader& frame) {
  switch (frame.type) {
    case kResetStream:
      return 1;
    case kSettings:
    case kPing:
    case kPriority:
    case kContinuation:
      return 0.1;
    case kData:
      return frame.length == 0 && (frame.flags & 1) == 0 ? 0.1 : 0;  // not END_STREAM
    default:
      return 0;
  }
}

}  // namespace dpledger::front
