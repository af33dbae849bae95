// What lets another process carry on a run that was killed: an epoch's partition, the noise key of
// a run with correlated noise. Kept encrypted in small files beside the spool
// (docs/formats.md, 4.1).
//
//   auto state = RunState::Open(spool_folder, key_file);
//   (*state)->CarryOn(position);           // before the recorder's opening entry is written
//   EpochSampler::Create(options, state->get());
//
// 1. Files are sealed by AES-256-GCM under the user's key, and bound to ledger, writer and
//    incarnation: of another one they are refused, by name.
// 2. A file is replaced as a whole and synced before anything that depends on it is released. A
//    file that is refused stays as it is, and nothing of it is used.
// 3. CarryOn binds what there is to the new incarnation before the ledger hears of that one, so
//    that a kill between the two loses nothing. From its first Store on, what an incarnation kept
//    can be carried on from that incarnation only: an old copy of the file would repeat noise.
//
// Thread safety: thread-compatible.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::client {

// Where a run stands in its ledger.
struct RunPosition {
  std::string ledger, writer;
  std::string incarnation;           // of this process
  std::string previous_incarnation;  // of the one that it carries on; empty if there is none
};

// An epoch, and how many of its rounds the ledger has.
struct EpochPosition {
  uint64_t epoch = 0;
  uint64_t rounds = 0;  // at most rounds_per_epoch
};

class RunState {
 public:
  enum class Kind { kSampler, kCorrelatedRun, kCorrelatedSteps };

  // `key_file` holds 32 bytes, readable by its owner alone. NOT_FOUND; FAILED_PRECONDITION if
  // others may read it; INVALID_ARGUMENT (key_file) if it has another size.
  static absl::StatusOr<std::unique_ptr<RunState>> Open(const std::string& folder,
                                                        const std::string& key_file);
  ~RunState();
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // True if there is an epoch's partition to carry on, which the opening entry must say of no other
  // run; whatever else there is can be taken too. FAILED_PRECONDITION for a file of another key,
  // ledger, writer or incarnation; DATA_LOSS for one that is torn or was changed; errors of the
  // disk.
  absl::StatusOr<bool> CarryOn(const RunPosition& position);

  // What the incarnation before left, once: nothing from then on.
  std::optional<std::string> Take(Kind kind);

  // Durable on return. FAILED_PRECONDITION before CarryOn.
  absl::Status Store(Kind kind, std::string_view content);

 private:
  struct Header;
  RunState(std::string folder, std::string key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  std::string PathOf(Kind kind, const RunPosition& position) const;
  Header HeaderFor(Kind kind, std::string carried_from) const;
  absl::Status Write(const Header& header, Kind kind, std::string_view content) const;
  absl::StatusOr<std::string> Read(Kind kind, const std::string& sealed,
                                   const RunPosition& position) const;

  const std::string folder_;
  std::string key_;
  std::optional<RunPosition> position_;
  std::array<std::optional<std::string>, 3> carried_;
};

// What a recorder has for the one sampler and the one run with correlated noise that it keeps.
struct KeptRun {
  std::shared_ptr<RunState> state;
  std::optional<EpochPosition> epoch;  // EpochSamplerOptions::recorded
  std::atomic<bool> has_sampler = false, has_run = false;
};

}  // namespace dpledger::client
