// How the sums of a run's steps become messages, to which noise is added, and how messages become
// estimates of the sums again.
//
// 1. Encode sees secrets: what it adds to a message is a linear function of the sums of this step
//    and those before, with integer coefficients and modulo 2^64, or rounded by a known bound
//    (client/internal/buffer_plan.h). What it keeps is wiped with the encoder.
// 2. Decode sees messages that are public by then, and what it kept of those before: it never
//    matters for privacy.
//
// Steps come in order, from 1, each begun by Begin; in each, pieces of the coordinates, from
// `begin` on, a multiple of kPieceUnit; of each, messages from 0 on, each encoded, then decoded.
// Thread safety: thread-compatible, but threads may have pieces of one step that do not overlap.
#pragma once

#include <openssl/crypto.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "client/correlated_options.h"
#include "client/internal/state_bytes.h"

namespace dpledger::client::internal {

inline constexpr size_t kPieceUnit = 64;

class Encoder {
 public:
  virtual ~Encoder() = default;

  // Before the step's first piece. std::bad_alloc leaves everything as it was.
  virtual void Begin(uint64_t /*step*/) {}

  // How many messages the step sends.
  virtual size_t Messages(uint64_t step) const = 0;

  // Adds to `message`, which holds its noise, in units of the message. `sums` are the step's; from
  // message to message they are left as they are by the caller, and are nobody's afterwards.
  virtual void Encode(uint64_t step, size_t message_index, size_t begin, absl::Span<int64_t> sums,
                      absl::Span<int64_t> message) = 0;

  // After the step's last message `estimates` holds the estimate of the step's sums, in their
  // units: estimates of steps 1 to t add up to that of all their sums.
  virtual void Decode(uint64_t step, size_t message_index, size_t begin,
                      absl::Span<const int64_t> message, absl::Span<float> estimates) = 0;

  // What it keeps between two steps, secrets and all. Another one, made alike, goes on with it;
  // where what is read is not of one made alike, `from` is not ok() afterwards.
  virtual void Save(StateWriter& to) const = 0;
  virtual void Restore(StateReader& from) = 0;
};

// Sums without noise.
class SecretSums {
 public:
  explicit SecretSums(size_t size) : values_(size) {}
  SecretSums(SecretSums&&) = default;
  SecretSums& operator=(SecretSums&&) = delete;
  ~SecretSums() { OPENSSL_cleanse(values_.data(), values_.size() * sizeof(values_[0])); }

  absl::Span<int64_t> values() { return absl::MakeSpan(values_); }
  absl::Span<const int64_t> values() const { return values_; }

 private:
  std::vector<int64_t> values_;
};

// For sums of `size` coordinates. The options have passed CheckOptions.
std::unique_ptr<Encoder> MakeEncoder(const CorrelatedOptions& options, size_t size);

}  // namespace dpledger::client::internal
