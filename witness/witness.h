// A witness of logs. It cosigns a log's checkpoint only if the log proves that the checkpoint it
// cosigned before is a prefix of it. So a log cannot show different people different histories
// unnoticed. C2SP tlog-witness (https://c2sp.org/tlog-witness), without the transport and the
// optional sign-subtree.
//
// 1. Of any two checkpoints of one origin that it cosigned, one is a prefix of the other, also
//    under concurrent requests and however often the process is killed.
// 2. The witness returns a cosignature only after it is durable. After an error of the disk it
//    cosigns nothing more: failed() is true for good.
// Thread safe; logs do not wait for each other.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/log.h"
#include "merkle/checkpoint.h"
#include "merkle/ed25519.h"
#include "merkle/signed_note.h"
#include "merkle/witness_request.h"
#include "registry/follower.h"
#include "registry/registry_source.h"
#include "witness/state_folder.h"

namespace dpledger::witness {

// An HTTP answer.
struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct WitnessOptions {
  std::string name;
  std::string state_folder;
  // The keys of the logs to witness. A key's name is its log's origin; a log may have several keys.
  std::vector<merkle::VerifierKey> log_keys;
  // By origin: where the entries of a registry are read before its checkpoint is cosigned. A log
  // without one is cosigned for its consistency alone.
  std::map<std::string, std::shared_ptr<registry::RegistrySource>> sources;
  absl::Duration reading = absl::Milliseconds(1500);  // at most, in one request
  Clock* clock = Clock::System();
  const Log* log = nullptr;  // must outlive the witness; not null if AddCheckpoint is called
};

class Witness {
 public:
  // Reads and verifies the state. INVALID_ARGUMENT for a name that is not allowed in a note, and
  // for log keys that are missing, repeated or of another type; DATA_LOSS if a state file is not
  // one that a witness writes; FAILED_PRECONDITION (KEY_MISMATCH) if a witness with another key
  // wrote it; errors of StateFolder::Open.
  static absl::StatusOr<std::unique_ptr<Witness>> Open(const WitnessOptions& options,
                                                       merkle::Ed25519PrivateKey key);

  // add-checkpoint. 200 with the witness's signature line; 400 malformed, or the old size is
  // greater than the new; 403 not signed by the log; 404 an unknown log; 409, with the size last
  // cosigned, if the old size differs from it; 422 not consistent with the checkpoint last
  // cosigned; 500 after an error of the disk, or if the clock fails.
  Answer AddCheckpoint(std::string_view body);
  // The last cosigned note of the log with this OriginHash; 404 if there is none.
  Answer LatestCheckpoint(std::string_view origin_hash) const;

  bool failed() const { return failed_; }
  const merkle::VerifierKey& verifier_key() const { return verifier_key_; }

 private:
  struct Cosigned {
    merkle::Checkpoint checkpoint;
    merkle::Note note;  // with the log's signatures and the witness's
  };
  struct WitnessedLog {
    std::vector<merkle::VerifierKey> keys;
    std::unique_ptr<registry::Follower> follower;  // guarded by the mutex; null: consistency alone
    std::shared_ptr<registry::RegistrySource> source;
    mutable absl::Mutex mutex;
    std::optional<Cosigned> last ABSL_GUARDED_BY(mutex);
  };

  Witness(const WitnessOptions& options, merkle::Ed25519PrivateKey key,
          std::unique_ptr<StateFolder> state);

  absl::Status Load(const std::string& origin, WitnessedLog& log);
  // Reads the checkpoint's new entries. Nothing if they are what a registry may say; else the
  // answer.
  std::optional<Answer> CheckEntries(const merkle::WitnessRequest& request,
                                     const merkle::Checkpoint& checkpoint, WitnessedLog& log);
  // Verifies the proof, cosigns, stores the note and answers.
  Answer Cosign(const merkle::WitnessRequest& request, const merkle::Checkpoint& checkpoint,
                WitnessedLog& log);
  Answer Refuse(int status, std::string_view why, const merkle::WitnessRequest& request,
                const merkle::Checkpoint& checkpoint) const;
  absl::StatusOr<merkle::NoteSignature> Sign(const merkle::Note& note) const;

  const WitnessOptions options_;
  const merkle::Ed25519PrivateKey key_;
  const merkle::VerifierKey verifier_key_;
  const std::unique_ptr<StateFolder> state_;
  std::map<std::string, WitnessedLog, std::less<>> logs_;           // by origin; fixed after Open
  std::map<std::string, const WitnessedLog*, std::less<>> hashes_;  // by OriginHash
  std::atomic<bool> failed_ = false;
};

}  // namespace dpledger::witness
