// A ledger's head, its value in the registry's map: the latest registration, bound to all those
// before it. docs/formats.md, section "The map of heads", has the bytes. Thread safe.
//
// A map alone lets its signer put any head into any version. The chain is what makes a head a
// history: a reader who is shown all its points sees every root that was ever registered under the
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "merkle/sha256.h"

namespace dpledger::registry {

// A registration of a ledger.
struct Point {
  uint64_t index = 0;  // of the registry's entry
  uint64_t size = 0;   // of the ledger
  merkle::Hash root = {};
  v1::LedgerState state = v1::OPEN;

  // index ‖ size ‖ root ‖ state: 64, 64, 256 and 8 bits, big-endian.
  std::string ToBytes() const;
  bool operator==(const Point&) const = default;
};
inline constexpr size_t kPointBytes = 49;
inline constexpr size_t kMaxPoints = size_t{1} << 20;  // that are shown of one ledger

// Points one after the other. INVALID_ARGUMENT, naming the point, unless they are whole and of a
// state that is OPEN or SEALED.
absl::StatusOr<std::vector<Point>> ParsePoints(std::string_view bytes);

// A ledger's head: all its registrations so far, as one value.
struct Head {
  uint64_t points = 0;
  Point last;
  merkle::Hash chain = {};  // SHA-256(0x03 ‖ the chain before ‖ the point); zeros without points

  // With the next registration. INVALID_ARGUMENT, saying which rule is broken: index and size rise,
  // what is SEALED stays so (late entries may follow), the size is at least 1.
  absl::StatusOr<Head> After(const Point& point) const;
  // points ‖ last ‖ chain: 89 bytes.
  std::string ToBytes() const;
  bool operator==(const Head&) const = default;
};

// The map's key for the ledger of this origin, and the hash of its leaf there.
merkle::Hash HeadKey(std::string_view origin);
merkle::Hash HeadLeaf(std::string_view origin, const Head& head);

}  // namespace dpledger::registry
