// Paths of the map of heads, and the points of a ledger: each has one spelling, and what is parsed
// can be walked.
#include "merkle/prefix_map.h"
#include "registry/head.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = Text(data, size);
  if (const auto path = merkle::MapPath::Parse(input); path.ok()) {
    FUZZ_CHECK(path->ToBytes() == input);
    FUZZ_CHECK(path->siblings.size() <= 256);
    (void)path->RootFrom(merkle::Sha256({input}), merkle::Hash());
  }
  if (const auto points = registry::ParsePoints(input); points.ok()) {
    std::string bytes;
    registry::Head head;
    for (const registry::Point& point : *points) {
      bytes += point.ToBytes();
      const auto next = head.After(point);
      if (!next.ok()) continue;
      FUZZ_CHECK(next->points == head.points + 1 && next->last == point);
      FUZZ_CHECK(next->last.size > head.last.size);
      head = *next;
    }
    FUZZ_CHECK(bytes == input);
    FUZZ_CHECK(head.ToBytes().size() == 89);
  }
  return 0;
}

}  // namespace dpledger::fuzz
