#include "merkle/stated_tree.h"

#include "absl/status/statusor.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

bool StatesTree(std::string_view note, std::string_view origin, uint64_t size,
                std::string_view root) {
  const absl::StatusOr<Note> parsed = Note::Parse(note);
  if (!parsed.ok()) return false;
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(parsed->text);
  return checkpoint.ok() && checkpoint->origin == origin && checkpoint->size == size &&
         ToBytes(checkpoint->root) == root;
}

}  // namespace dpledger::merkle
