// The registry's entries, one after the other, and the rules that they keep: what whoever writes
// the registry, follows it or cosigns it believes of it. docs/formats.md, section 7, has the rules.
//
//  1. Nothing is believed that was not computed here from the entries: the root, the keys, the map.
//  2. A ledger's registrations grow, and what is sealed stays sealed.
//  3. The map's root is checked wherever an entry says it.
// That each root of a ledger begins the next one needs the ledger's entries or a proof; a bundle
// has them. No I/O. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "merkle/prefix_map.h"
#include "merkle/signed_note.h"
#include "registry/head.h"

namespace dpledger::registry {

// The reason of a status (base/status.h) that an entry contradicts an earlier one, with metadata
// earlier, later (indices of entries) and origin (of the ledger).
inline constexpr char kContradiction[] = "REGISTRY_CONTRADICTION";
// Reasons of what a follower refuses without proof against the registry's signer: an older
// checkpoint than the last, which a server that is behind or a stale mirror shows too; and a
// ledger of which the source does not prove that its past stayed.
inline constexpr char kWentBack[] = "REGISTRY_WENT_BACK";
inline constexpr char kNotProven[] = "GROWTH_NOT_PROVEN";

// Parses an entry of the registry. INVALID_ARGUMENT unless the bytes are its one spelling:
// sequence, a recorded_time of a whole minute, and a key, a registered ledger or a map's root.
// Otherwise two readers could read two things, because one skips a field, or takes the last of two.
absl::StatusOr<v1::LedgerEntry> ParseRegistryEntry(std::string_view bytes);

// The point that a `registered` entry states. INVALID_ARGUMENT unless it has a size, a root of 32
// bytes, a state that is OPEN or SEALED, and an origin of a ledger below `registry_origin`.
absl::StatusOr<Point> PointOf(const v1::LedgerEntry& entry, std::string_view registry_origin);

class RegistryLog {
 public:
  // An empty registry of this name.
  explicit RegistryLog(std::string origin) : origin_(std::move(origin)) {}
  // From the result of ToState. DATA_LOSS if it is anything else.
  static absl::StatusOr<RegistryLog> FromState(const v1::RegistryState& state);
  // Without frontier and note, which are its owner's. Precondition: empty, or at
  // the end of a publication.
  v1::RegistryState ToState() const;

  // The next entry. DATA_LOSS, naming its index, if it cannot stand there; nothing may follow then.
  absl::Status Take(std::string_view entry);

  uint64_t size() const { return size_; }
  const std::string& origin() const { return origin_; }
  // Oldest first; the last one signs.
  const std::vector<merkle::VerifierKey>& keys() const { return keys_; }
  // The entries that name them.
  const std::vector<uint64_t>& key_entries() const { return key_entries_; }
  absl::Time last_recorded_time() const { return last_recorded_time_; }

  // The origin of the ledger that the last entry registers; empty if it registers none.
  const std::string& last_registered() const { return last_registered_; }
  // The registration of the same ledger before that; of size 0 if it is the first.
  const Point& last_previous() const { return last_previous_; }
  // By the ledger's origin.
  const std::map<std::string, Head>& ledgers() const { return ledgers_; }
  // The ledger's head, without points if it is not registered.
  Head HeadOf(const std::string& ledger_origin) const;

  // The map over all entries so far.
  const merkle::PrefixMap& map();
  // Whether the last entry says its root: every published size ends so.
  bool ends_with_map() const { return ends_with_map_; }

 private:
  absl::Status TakeKey(const v1::KeyRotate& rotate);
  absl::Status TakeRegistered(const v1::LedgerEntry& entry);
  absl::Status TakeMapRoot(const v1::MapRoot& root);
  absl::Status Bad(std::string_view what) const;

  std::string origin_;
  std::vector<merkle::VerifierKey> keys_;
  std::vector<uint64_t> key_entries_;
  uint64_t size_ = 0;
  absl::Time last_recorded_time_ = absl::InfinitePast();
  std::map<std::string, Head> ledgers_;
  merkle::PrefixMap map_;                         // without `changed_`
  std::map<merkle::Hash, merkle::Hash> changed_;  // leaves that the map does not have yet
  std::string last_registered_;
  Point last_previous_;
  bool ends_with_map_ = false;
};

}  // namespace dpledger::registry
