// A text that several processes read and change: a file on a volume that all mount, or a row of a
// database that all use.
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

// One thread at a time.
class SharedText {
 public:
  virtual ~SharedText() = default;

  // For messages.
  virtual std::string name() const = 0;
  // Whether Changed answers at once: no network lies between.
  virtual bool is_near() const = 0;
  // The text, unless it is what was given last; an error, unless it is. NOT_FOUND: there is none.
  virtual std::optional<absl::StatusOr<std::string>> Changed() = 0;
  // Puts what `edit` makes of the present text in its place, alone among all processes. If it fails
  // nothing is written, and its error is returned. May run `edit` more than once.
  using Edited = absl::StatusOr<std::string>;
  virtual absl::Status Edit(absl::FunctionRef<Edited(const Edited& now)> edit) = 0;
};

}  // namespace dpledger
