// Draws the samples of a training's rounds, each by a scheme that the ledger can be told exactly.
//
//   for each step: for each record of sampler.Draw(): ... privatizer.BeginStep(sampler) ...
//
// 1. A sample is distributed exactly as its scheme says: what randomises it are infinite bit
//    strings, not numbers near real ones (docs/formats.md, sections 3.5 to 3.8).
// 2. It depends on the root key and the step alone. A root key is new in each process.
// 3. The population is a public constant chosen beforehand, at least the number of records at hand.
//    A trainer leaves out the indices that it has no record for. Neither the sample nor, where it
//    is random, its size may be released.
// 4. Draws are numbered from 1. Rounds take them one by one, each the one behind the last: the
//    accountant takes the samples of all rounds for independent ones, and which of them are used
//    must not follow from what is in them. Draws may run ahead of the rounds, as those of loaders
//    do that prefetch; and be made before the first round, by a trainer that looks at its data.
//
// Thread safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/event/event.h"

namespace dpledger::client {

class EventRecorder;
// One that outlives what is made with it.
inline std::shared_ptr<EventRecorder> Lent(EventRecorder* recorder) {
  return {std::shared_ptr<void>(), recorder};
}

class Sampler {
 public:
  // A sampler of this scheme, which states its population (in [1, 2^53), at most 2^32 where records
  // are listed: full batches and epochs). `epoch` is 0: a sampler numbers its epochs itself, and
  // draws one round of each after the other. INVALID_ARGUMENT names the field that is out of its
  // domain; UNIMPLEMENTED for schemes whose samples a trainer draws itself.
  static absl::StatusOr<std::unique_ptr<Sampler>> Create(const accountant::SamplingScheme& scheme);
  // Samples that anyone can predict: sampling then adds no privacy. The ledger of a privatizer that
  // takes them says NON_PRIVATE; use it in tests only.
  static absl::StatusOr<std::unique_ptr<Sampler>> CreateNonPrivateForTesting(
      const accountant::SamplingScheme& scheme, uint64_t seed);
  // The same samples, for runs that are only compared with each other, and whose outputs and
  // ledgers nobody keeps: there they count as if they were drawn.
  static absl::StatusOr<std::unique_ptr<Sampler>> CreateToCompare(
      const accountant::SamplingScheme& scheme, uint64_t seed);
  // The one that the recorder's state keeps, for schemes with epochs: it goes on in the middle of
  // the epoch that a killed process was in, with the same partition and the next round that the
  // ledger has not. A round that was recorded and not released is lost; its batch is not drawn
  // again. Other schemes have nothing to keep. FAILED_PRECONDITION if the recorder has no state or
  // has had such a sampler, and, naming the field, for another scheme than that of the epoch that
  // is carried on. Only privatizers of the same recorder take its samples.
  static absl::StatusOr<std::unique_ptr<Sampler>> CreateResumable(
      const accountant::SamplingScheme& scheme, std::shared_ptr<EventRecorder> recorder);
  virtual ~Sampler() = default;

  // How the sample that the next Draw returns is drawn; the epoch in it may change with every Draw.
  const accountant::SamplingScheme& scheme() const { return scheme_; }

  // The next sample: indices in [0, population_size), ascending. FAILED_PRECONDITION after a fork,
  // whose two sides would draw the same, and under a rounding mode other than to nearest.
  absl::StatusOr<std::vector<uint64_t>> Draw();
  uint64_t draws() const { return draws_; }  // so far: the number of the last one

  struct Drawn {
    accountant::SamplingScheme scheme;
    uint64_t records = 0;  // a secret where it is random
  };
  // The draw of this number, for a round. FAILED_PRECONDITION if it or a later one has had a round,
  // was never drawn, or lies more than kMostWaiting draws back; SAMPLE_SKIPPED if it is not the one
  // behind the last that had a round.
  absl::StatusOr<Drawn> Waiting(uint64_t number) const;
  // It has its round now.
  void Take(uint64_t number);
  // Whether ledgers are told that anyone can predict the samples.
  bool non_private() const { return non_private_; }
  // Whose state keeps this sampler; null: nobody's.
  const EventRecorder* keeper() const { return keeper_.get(); }

  // Draws without a round that are remembered. More than any loader prefetches.
  static constexpr uint64_t kMostWaiting = 1 << 12;

 protected:
  explicit Sampler(const accountant::SamplingScheme& scheme) : scheme_(scheme) {}
  accountant::SamplingScheme scheme_;

 private:
  virtual absl::StatusOr<std::vector<uint64_t>> DrawNext() = 0;
  // Whether the next process carries the epoch on. It finds its place by the rounds that the ledger
  // has, so every draw must have had one, the first too.
  virtual bool keeps_epochs() const { return false; }

  std::shared_ptr<EventRecorder> keeper_;
  bool non_private_ = false;
  std::deque<Drawn> waiting_;  // the last draws
  uint64_t draws_ = 0, taken_ = 0;
};

}  // namespace dpledger::client
