// Checks a bundle, member by member, as it is read: the evidence, every leaf hash and tile, the
// rules of the entries, the root, the seal, and older checkpoints. The same members always give the
// same first difference (docs/formats.md, section "Bundles", defines the order).
//
//  1. Streaming: memory is bounded by one entry bundle (16 MiB), O(log size) tiles and the number
//     of writers. events.jsonl is skipped.
//  2. No accounting: VerifierOptions::entries receives the entries.
// Not thread safe.
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
#include "ledger_store/bundle/ledger_rules.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/ustar.h"
#include "merkle/tile_tree.h"

namespace dpledger::bundle {

struct VerifierOptions {
  std::vector<merkle::VerifierKey> trusted;  // as EvidenceCheck
  std::vector<merkle::Note> older;           // checkpoints of the same ledger
  std::vector<uint64_t> root_sizes;          // sizes for which RootAt is wanted
  EntrySink entries;                         // may be null
};

class Verifier {
 public:
  explicit Verifier(VerifierOptions options);
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  // Announces the next member. True: pass its content to Content(); false: skip it. NO_BUNDLE if
  // another member must come here, or if it is too large.
  absl::StatusOr<bool> Begin(const std::string& name, uint64_t size);
  absl::Status Content(std::string content);
  // Call after the last member. NO_BUNDLE if one is missing.
  absl::Status End() const;

  // The member that must be next; nullopt once only optional ones may follow.
  std::optional<std::string> Next() const;

  // Complete once the tree is complete.
  const EvidenceCheck& evidence() const { return evidence_; }
  const LedgerRules& rules() const { return rules_; }
  // nullopt if `size` is not in root_sizes, or the ledger is smaller.
  std::optional<merkle::Hash> RootAt(uint64_t size) const;
  const std::optional<std::string>& statement() const { return statement_; }

 private:
  enum class Step {
    kReadme,
    kEvidence,
    kTree,
    kEvents,
    kStatement,
    kOver,
  };
  Evidence::Member Expected() const;
  void Advance();
  absl::Status AddTreeMember(std::string content);
  absl::Status AddEntries(const std::string& path, std::string content);
  absl::Status CheckTile(const std::string& path, std::string_view content);
  // That the entries so far have the root that was registered of them, if one was.
  absl::Status CheckPoint();
  absl::Status CheckWhole();

  VerifierOptions options_;
  EvidenceCheck evidence_;
  LedgerRules rules_;
  Step step_ = Step::kReadme;
  std::optional<TreeMembers> tree_members_;
  std::optional<TreeMember> tree_member_;  // the next one
  merkle::TileBuilder tree_;
  std::map<merkle::TileId, std::string> computed_;  // tiles not yet compared
  std::string bundle_;                              // the entries under the next tile
  std::vector<std::string_view> entries_;           // views into bundle_
  std::map<uint64_t, merkle::Hash> roots_;
  size_t next_point_ = 0;  // of the evidence's
  std::optional<std::string> statement_;
};

// Reads a whole bundle into the verifier. Errors of the verifier and of the source.
absl::Status VerifyBundle(ByteSource& source, Verifier& verifier);

}  // namespace dpledger::bundle
