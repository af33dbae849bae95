#include "ledger_store/bundle/readme.h"

namespace dpledger::bundle {

const std::string_view kReadme =
    R"(This file is a ledger of differentially private work: every entry, and what proves that it is the
ledger that its server signed. Check it with

  dpledger ledger verify FILE --key KEY

where KEY is the server's public key, learned from somewhere else than this file, or by hand:

keys                  the keys that have signed for this server, oldest first (C2SP signed-note
                      verifier keys). Whoever made this file could have made them up: compare.
registry/checkpoint   the signed root of the server's registry, the log of all its ledgers
                      (C2SP tlog-checkpoint), with the cosignatures of its witnesses
registry/keys/N/...   the registry's entry with line N of keys, and the proof that the registry has
                      it (C2SP tlog-proof)
registry/entry        the registry's entry with this ledger's size, root and state
registry/proof        the proof that the registry has that entry
registry/map/...      the registry's last entry, with the root of the map of all ledgers' latest
                      sizes, its proof, and the path to this ledger in the map
registry/points       every size at which this ledger was registered: 49 bytes each
checkpoint            the signed root of this ledger
tile/entries/...      the entries, 256 in a file, each behind its length (16 bits, big-endian)
tile/N/...            the ledger's Merkle tree (RFC 6962, SHA-256; C2SP tlog-tiles)
events.jsonl          the entries as text, for reading. No signature covers it; `ledger verify` compares
                      it with the entries.
statement.json        what the server said the privacy loss was. `ledger verify` recomputes it.

The hash of an entry e is SHA-256(0x00 e), that of two subtrees l and r is SHA-256(0x01 l r). The
entries are dpledger.v1.LedgerEntry messages in protobuf's wire format. docs/formats.md of dpledger,
section "Bundles", describes every byte and every rule; c2sp.org describes the C2SP formats.
)";

}  // namespace dpledger::bundle
