// The stored form of a ledger's head, and its authenticator: HMAC-SHA256 under the server's key
// (docs/formats.md, section 2).
//
//  1. A stored head that has the authenticator of a key was made by a server with that key, for
//     this ledger, this entry 0, this end and state, and just these writers, none in another
//     status. Who writes to the store without the key can only put an older head back whole, with
//     all its writers; it ends before the ledger's last entry, which an engine compares.
//  2. The authenticator covers the whole message: a field that is added to it later, too.
// Functions; thread safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/ledger_head.h"
#include "merkle/authenticator.h"

namespace dpledger {

// The purpose of the keys (merkle::Authenticator).
inline constexpr char kHeadPurpose[] = "dpledger head 1";

// The keys of a server's heads. Without any, heads are written and read without authenticators: for
// programs that only read, and for tests. A value; copies share the keys.
struct HeadKeys {
  std::shared_ptr<const merkle::Authenticator> current;
  std::shared_ptr<const merkle::Authenticator> previous;  // null but after a change of key
};

// Without the writers. With an authenticator if `head.writers` has a key.
v1::StoredHead ToStored(const LedgerHead& head);

// Rebuilds a head from the bytes of its entry 0, its stored form and its writers, which get the
// current key. DATA_LOSS if they do not fit together, or if there is a current key and none of the
// keys made the authenticator.
absl::StatusOr<LedgerHead> FromStored(const std::string& name, std::string_view first_entry,
                                      const v1::StoredHead& stored,
                                      const std::map<std::string, v1::WriterStatus>& writers,
                                      const HeadKeys& keys = {});

// Whether `stored` has the authenticator that the key of the head's writers makes: if not, an
// earlier key made it. Precondition: FromStored made `head` of it.
bool IsCurrent(const v1::StoredHead& stored, const LedgerHead& head);

}  // namespace dpledger
