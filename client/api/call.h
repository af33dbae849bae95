// How the C++ API calls the C interface: values become its structs, its errors a status, its
// handles owners.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/client.h"

namespace dpledger::api {

// Runs a call of the C interface and gives its error as a status.
template <typename Call>
absl::Status Run(Call call) {
  const Handle<dpledger_error, dpledger_error_free> error(dpledger_error_new());
  const dpledger_status status = call(error.get());
  if (status == DPLEDGER_OK) return absl::OkStatus();
  const char* message = error == nullptr ? "out of memory" : dpledger_error_message(error.get());
  return absl::Status(static_cast<absl::StatusCode>(status), message);
}

// The value that `call` sets.
template <typename T, typename Call>
absl::StatusOr<T> Get(Call call) {
  T value = {};
  const absl::Status status = Run([&](dpledger_error* error) { return call(&value, error); });
  if (!status.ok()) return status;
  return value;
}

template <typename T>
T Sized() {
  T value = {};
  value.struct_size = sizeof(T);
  return value;
}

// An owner of T, whose handle `make` sets.
template <typename Owner, typename T, typename Slot, typename Make>
absl::StatusOr<std::unique_ptr<Owner>> Made(Slot slot, Make make) {
  const absl::StatusOr<T*> made = Get<T*>(make);
  if (!made.ok()) return made.status();
  auto owner = std::make_unique<Owner>();
  slot(*owner).reset(*made);
  return owner;
}

dpledger_sampling_scheme ToC(const SamplingScheme& scheme);

// Options with the arrays that their C form points to, for which the values given must live on.
class PrivatizerOptionsInC {
 public:
  explicit PrivatizerOptionsInC(const PrivatizerOptions& options);
  PrivatizerOptionsInC(const PrivatizerOptionsInC&) = delete;
  PrivatizerOptionsInC& operator=(const PrivatizerOptionsInC&) = delete;
  const dpledger_privatizer_options* get() const { return &options_; }

 private:
  struct Parts {
    std::vector<size_t> sizes;
    std::vector<double> scales;
  };
  std::vector<Parts> parts_;
  std::vector<dpledger_clip_group> groups_;
  dpledger_adaptive_clip_norm adaptive_;
  dpledger_privatizer_options options_;
};

class CorrelatedOptionsInC {
 public:
  explicit CorrelatedOptionsInC(const CorrelatedOptions& options);
  const dpledger_correlated_options* get() const { return &options_; }

 private:
  const PrivatizerOptionsInC sums_;
  dpledger_correlated_options options_;
};

}  // namespace dpledger::api
