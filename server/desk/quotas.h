// What one party may have under way at once: a caller, or a connection whose caller is not known.
//
//  1. Questions of accounting, waiting and running; and the processor's time that they take, an
//     allowance that fills up over a minute.
//  2. Bytes of requests and answers, from when a call comes until its answer has been sent: a
//     client that asks and never reads holds answers. All parties together have a limit, and one
//     has half of it.
//  3. Streams that wait for news.
// A call beyond a quota is RESOURCE_EXHAUSTED, and says when to try again.
//
// Appends' entries on a stream are not counted: the store bounds what waits for the disk, and a
// stream stops reading (server/desk/append_stream.h).
//
// Thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace dpledger::server {

struct QuotaOptions {
  size_t questions = 32;        // of one party, at least 1
  double question_seconds = 0;  // of a processor in a minute, of one party; 0: no limit
  size_t bytes = size_t{256} << 20;
};

class Quotas {
 public:
  Quotas(const QuotaOptions& options, Clock* clock) : options_(options), clock_(*clock) {}

  // What a call holds of the quotas, until it is destroyed. The quotas must be there as long.
  class Permit {
   public:
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    // More bytes, of the answer. RESOURCE_EXHAUSTED (BYTES_IN_FLIGHT): it is not to be sent.
    absl::Status Hold(size_t bytes);
    // What a question took of a processor.
    void Charge(absl::Duration processor);
    // The answer is about to be sent: a caller who has it may ask the next question at once.
    void Answered();

   private:
    friend class Quotas;
    Permit(Quotas* quotas, const std::string& party, bool question, bool stream)
        : quotas_(*quotas), party_(party), question_(question), stream_(stream) {}

    Quotas& quotas_;
    const std::string party_;
    bool question_;  // and not answered
    const bool stream_;
    size_t bytes_ = 0;
  };

  // For a call with a request of `bytes`. RESOURCE_EXHAUSTED, reason TOO_MANY_QUESTIONS,
  // QUESTION_SECONDS or BYTES_IN_FLIGHT.
  absl::StatusOr<std::unique_ptr<Permit>> Admit(const std::string& party, bool question,
                                                size_t bytes);
  // For a stream that waits for news, where the party has fewer than `limit`. RESOURCE_EXHAUSTED,
  // reason TOO_MANY_STREAMS.
  absl::StatusOr<std::unique_ptr<Permit>> AdmitStream(const std::string& party, size_t limit);

  size_t parties() const;  // that are known
  size_t bytes() const;    // of all calls under way

 private:
  struct Party {
    size_t permits = 0;
    size_t questions = 0;
    size_t streams = 0;
    size_t bytes = 0;
    double seconds = 0;     // that are left
    absl::Duration filled;  // when `seconds` was that, by the steady clock
  };

  // The party with its allowance as it is now.
  Party& Find(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Take(Party& party, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops those who have nothing under way and owe nothing.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fill(Party& party) const;

  const QuotaOptions options_;
  Clock& clock_;
  mutable absl::Mutex mutex_;
  std::unordered_map<std::string, Party> parties_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 64;  // so many parties are looked through
};

}  // namespace dpledger::server
