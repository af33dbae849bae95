// Writes a bundle: what an auditor takes home of a ledger (docs/formats.md, section "Bundles").
// Equal evidence and entries give equal bytes.
//
// The tiles are computed from the entries, whoever sent them; the root they lead to must be the
// checkpoint's. What the signatures are worth is not asked here: a ledger that breaks the rules is
// all the more worth taking home. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/bundle/evidence.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/ustar.h"
#include "merkle/checkpoint.h"
#include "merkle/tile_tree.h"

namespace dpledger::bundle {

class BundleWriter {
 public:
  // Writes the evidence. `sink` must outlive the writer. INVALID_ARGUMENT if the evidence has parts
  // that no bundle can hold, or a checkpoint of no entries; errors of the sink as they are, here
  // and below.
  static absl::StatusOr<BundleWriter> Begin(ByteSink* sink, const Evidence& evidence);

  // The next entry. INVALID_ARGUMENT if it is too large, or one too many.
  absl::Status Add(std::string entry);
  // How many entries are still to come.
  uint64_t missing() const { return checkpoint_.size - tree_.size(); }
  const merkle::Checkpoint& checkpoint() const { return checkpoint_; }

  // After the last entry. DATA_LOSS if the entries do not have the checkpoint's root.
  absl::Status FinishTree();
  // events.jsonl, `size` bytes from `events`. It is left out by not calling this, and must be if it
  // is larger than a member may be.
  absl::Status AddEvents(ByteSource& events, uint64_t size);
  absl::Status AddStatement(std::string_view json);
  absl::Status Finish();

 private:
  BundleWriter(ByteSink* sink, merkle::Checkpoint checkpoint)
      : sink_(sink), checkpoint_(std::move(checkpoint)), members_(checkpoint_.size) {}

  absl::Status WriteMember(std::string_view name, std::string_view content);
  // The entries that wait, a full bundle or the last one.
  absl::Status WriteEntries();
  absl::Status WriteTile(const merkle::SizedTile& tile, const std::string& path);

  ByteSink* sink_;
  merkle::Checkpoint checkpoint_;
  TreeMembers members_;
  merkle::TileBuilder tree_;
  std::map<merkle::TileId, std::string> tiles_;  // not yet written, or not yet full
  std::vector<std::string> entries_;             // not yet written
};

}  // namespace dpledger::bundle
