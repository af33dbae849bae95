#include "registry/head.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "merkle/big_endian.h"
#include "merkle/compact_tree.h"
#include "merkle/prefix_map.h"

namespace dpledger::registry {

using merkle::BigEndian;
using merkle::FromBigEndian;

std::string Point::ToBytes() const {
  return BigEndian(index) + BigEndian(size) + merkle::ToBytes(root) + static_cast<char>(state);
}

absl::StatusOr<std::vector<Point>> ParsePoints(std::string_view bytes) {
  if (bytes.size() % kPointBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be points of ", kPointBytes, " bytes, found ", bytes.size(), " bytes"));
  }
  std::vector<Point> points;
  points.reserve(bytes.size() / kPointBytes);
  for (; !bytes.empty(); bytes.remove_prefix(kPointBytes)) {
    Point& point = points.emplace_back();
    point.index = FromBigEndian(bytes.substr(0, 8));
    point.size = FromBigEndian(bytes.substr(8, 8));
    point.root = *merkle::HashFrom(bytes.substr(16, merkle::Hash().size()));
    point.state = static_cast<v1::LedgerState>(bytes[kPointBytes - 1]);
    if (point.state == v1::OPEN || point.state == v1::SEALED) continue;
    return absl::InvalidArgumentError(absl::StrCat("point ", points.size() - 1,
                                                   ": state must be 1 (OPEN) or 2 (SEALED), found ",
                                                   static_cast<int>(point.state)));
  }
  return points;
}

absl::StatusOr<Head> Head::After(const Point& point) const {
  const auto refused = [](auto&&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (point.size == 0) return refused("size must be at least 1");
  if (points > 0) {
    if (last.state == v1::SEALED && point.state != v1::SEALED)
      return refused("state must stay SEALED, as entry ", last.index, " says, found OPEN");
    if (point.index <= last.index)
      return refused("index must be greater than ", last.index, ", found ", point.index);
    if (point.size <= last.size) {
      return refused("size must be greater than ", last.size, ", which entry ", last.index,
                     " registers, found ", point.size);
    }
  }
  const std::string bytes = point.ToBytes();
  const std::string before = merkle::ToBytes(chain);
  return Head{points + 1, point, merkle::Sha256({std::string_view("\x03", 1), before, bytes})};
}

std::string Head::ToBytes() const {
  return BigEndian(points) + last.ToBytes() + merkle::ToBytes(chain);
}

merkle::Hash HeadKey(std::string_view origin) { return merkle::Sha256({origin}); }

merkle::Hash HeadLeaf(std::string_view origin, const Head& head) {
  return merkle::MapLeafHash(HeadKey(origin), head.ToBytes());
}

}  // namespace dpledger::registry
