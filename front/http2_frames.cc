#include "front/http2_frames.h"

#include <algorithm>
#include <cstring>

namespace dpledger::front {

void FrameReader::Read(std::string_view bytes,
                       const std::function<void(const FrameHeader&)>& frame) {
  while (!bytes.empty()) {
    if (left_ > 0) {
      const size_t skipped = std::min<uint64_t>(left_, bytes.size());
      left_ -= skipped;
      bytes.remove_prefix(skipped);
      continue;
    }
    const size_t taken = std::min(kHeaderBytes - have_, bytes.size());
    std::memcpy(header_ + have_, bytes.data(), taken);
    have_ += taken;
    bytes.remove_prefix(taken);
    if (have_ < kHeaderBytes) return;
    have_ = 0;
    left_ = uint32_t{header_[0]} << 16 | uint32_t{header_[1]} << 8 | header_[2];
    frame({static_cast<uint32_t>(left_), header_[3], header_[4]});
  }
}

}  // namespace dpledger::front
