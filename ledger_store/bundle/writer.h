// Writes a bundle: the file that holds a ledger's entries with their evidence, for auditors
// (docs/formats.md, section "Bundles"). Equal evidence and entries give equal bytes.
//
// The writer computes the tiles from the entries; their root must be the checkpoint's. It checks
// neither signatures nor the entries' rules: an auditor needs the bundle of a ledger that breaks
// them all the more. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
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
  // Writes the evidence. `sink` must outlive the writer. INVALID_ARGUMENT if the evidence does not
  // fit a bundle or its checkpoint has no entries; errors of the sink as they are, here and below.
  static absl::StatusOr<BundleWriter> Begin(ByteSink* sink, const Evidence& evidence);

  // Adds the next entry. INVALID_ARGUMENT if it is too large, or if all entries were added.
  absl::Status Add(std::string entry);
  // How many entries are still to be added.
  uint64_t missing() const { return checkpoint_.size - tree_.size(); }
  const merkle::Checkpoint& checkpoint() const { return checkpoint_; }

  // Call after the last entry. DATA_LOSS if the entries do not have the checkpoint's root.
  absl::Status FinishTree();
  // Adds events.jsonl, `size` bytes from `events`. Optional; do not call it if `size` exceeds
  // kMaxMemberBytes (ustar.h).
  absl::Status AddEvents(ByteSource& events, uint64_t size);
  absl::Status AddStatement(std::string_view json);
  absl::Status Finish();

 private:
  BundleWriter(ByteSink* sink, merkle::Checkpoint checkpoint)
      : sink_(sink), checkpoint_(std::move(checkpoint)), members_(checkpoint_.size) {}

  absl::Status WriteMember(std::string_view name, std::string_view content);
  // Writes entries_ as an entry bundle: a full one, or the last.
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
