#include "registry/contradiction.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/text_lines.h"
#include "merkle/tlog_proof.h"
#include "registry/registry_log.h"

namespace dpledger::registry {
namespace {

using merkle::Checkpoint;

constexpr std::string_view kEntryPrefix = "entry-", kProofSuffix = ".tlog-proof";

absl::Status Nothing(std::string_view where, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(where), ": ", ToAbsl(why)));
}

// The checkpoint in the file, whose note the log signed; nothing if there is no such file.
absl::StatusOr<std::optional<Checkpoint>> Signed(const ContradictionFiles& files, const char* name,
                                                 const std::vector<merkle::VerifierKey>& keys) {
  const auto file = files.find(name);
  if (file == files.end()) return std::nullopt;
  const auto note = merkle::Note::Parse(file->second);
  if (!note.ok()) return Nothing(name, FromAbsl(note.status().message()));
  const auto signers = merkle::VerifyNote(*note, keys);
  if (!signers.ok()) return Nothing(name, FromAbsl(signers.status().message()));
  absl::StatusOr<Checkpoint> checkpoint = merkle::ParseCheckpoint(note->text);
  if (!checkpoint.ok()) return Nothing(name, FromAbsl(checkpoint.status().message()));
  return *std::move(checkpoint);
}

// Whether the file proves that the later checkpoint has another past than the earlier one.
absl::Status CheckOtherPast(std::string_view text, const Checkpoint& earlier,
                            const Checkpoint& later) {
  const auto size = merkle::TakeLine(text);
  const auto root = merkle::TakeLine(text);
  const auto number = size.has_value() ? merkle::ParseDecimal(*size) : std::nullopt;
  const auto hash = root.has_value() ? merkle::ParseHash(*root) : std::nullopt;
  if (!hash.has_value() || number != earlier.size) {
    return Nothing(kConsistencyFile,
                   "must begin with the earlier checkpoint's size and another root, a line each");
  }
  std::vector<merkle::Hash> proof;
  while (const auto line = merkle::TakeLine(text)) {
    const auto next = merkle::ParseHash(*line);
    if (!next.has_value()) return Nothing(kConsistencyFile, "must have a hash in each line");
    proof.push_back(*next);
  }
  if (*hash == earlier.root)
    return Nothing(kConsistencyFile, "shows the earlier checkpoint's own root");
  const absl::Status verified =
      merkle::VerifyConsistency(earlier.size, *hash, later.size, later.root, proof);
  return verified.ok() ? verified : Nothing(kConsistencyFile, FromAbsl(verified.message()));
}

// Under the checkpoint; nothing if there is no such entry.
absl::StatusOr<v1::LedgerEntry> ProvenEntry(const ContradictionFiles& files,
                                            const std::string& name, const Checkpoint& checkpoint,
                                            const std::vector<merkle::VerifierKey>& keys) {
  const auto proof_file = files.find(absl::StrCat(name, std::string(kProofSuffix)));
  if (proof_file == files.end()) return Nothing(name, "has no proof beside it");
  const std::string& bytes = files.at(name);
  const auto proof = merkle::ParseTlogProof(proof_file->second);
  if (!proof.ok()) return Nothing(proof_file->first, FromAbsl(proof.status().message()));
  const auto proven =
      merkle::VerifyTlogProof(*proof, merkle::LeafHash(bytes), checkpoint.origin, keys);
  if (!proven.ok()) return Nothing(proof_file->first, FromAbsl(proven.status().message()));
  absl::StatusOr<v1::LedgerEntry> entry = ParseRegistryEntry(bytes);
  if (!entry.ok() || entry->sequence() != proof->index)
    return Nothing(name, "is signed, and is not an entry that can stand there");
  return entry;
}

}  // namespace

std::string EntryFile(uint64_t index) { return absl::StrCat(std::string(kEntryPrefix), index); }
std::string EntryProofFile(uint64_t index) {
  return absl::StrCat(EntryFile(index), std::string(kProofSuffix));
}

absl::StatusOr<std::string> CheckContradiction(const ContradictionFiles& files,
                                               const std::vector<merkle::VerifierKey>& keys) {
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> later, Signed(files, kNoteFile, keys));
  if (!later.has_value()) return Nothing(kNoteFile, "is missing");
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> earlier, Signed(files, kEarlierNoteFile, keys));
  if (earlier.has_value() && earlier->origin != later->origin)
    return Nothing(kEarlierNoteFile, "is of another log");
  if (earlier.has_value() && earlier->size == later->size && earlier->root != later->root) {
    return absl::StrCat(later->origin, " signed two roots for its first ", later->size, " entries");
  }
  if (earlier.has_value() && files.count(kConsistencyFile) > 0) {
    RETURN_IF_ERROR(CheckOtherPast(files.at(kConsistencyFile), *earlier, *later));
    return absl::StrCat(later->origin, " signed ", later->size, " entries whose first ",
                        earlier->size, " are others than those that it signed before");
  }
  std::vector<v1::LedgerEntry> entries;
  for (const auto& [name, bytes] : files) {
    if (!name.starts_with(kEntryPrefix) || name.ends_with(kProofSuffix)) continue;
    ASSIGN_OR_RETURN(entries.emplace_back(), ProvenEntry(files, name, *later, keys));
  }
  if (entries.size() == 2) {
    if (entries[0].sequence() > entries[1].sequence()) std::swap(entries[0], entries[1]);
    const std::string& origin = entries[0].registered().origin();
    const auto first = PointOf(entries[0], later->origin);
    const auto second = PointOf(entries[1], later->origin);
    if (first.ok() && second.ok() && origin == entries[1].registered().origin()) {
      const absl::StatusOr<Head> head = Head().After(*first)->After(*second);
      if (!head.ok()) {
        return absl::StrCat(later->origin, " says in entry ", first->index, " that ", origin,
                            " has ", first->size, " entries, and in entry ", second->index,
                            " what cannot be then: ", head.status().message());
      }
    }
  }
  return Nothing(kNoteFile, "these files prove no contradiction");
}

}  // namespace dpledger::registry
