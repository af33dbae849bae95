// Refuses a second thread on an object that one thread at a time may use. Without it, what two
// threads add to one sum is lost in part, and nobody learns of it.
//
// Thread safe.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dpledger::client::internal {

class InUse {
 public:
  // A call on the object, from its first line to its last.
  class Call {
   public:
    explicit Call(InUse& object) : object_(object), alone_(!object.calls_.test_and_set()) {}
    ~Call() {
      if (alone_) object_.calls_.clear();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // FAILED_PRECONDITION, naming the object, if another call had not ended yet.
    absl::Status CheckAlone(const char* object) const {
      if (alone_) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat(object, ": another thread is using it: one call at a time"));
    }

   private:
    InUse& object_;
    const bool alone_;
  };

  InUse() = default;
  // The object that was moved to is a new one.
  InUse(InUse&&) noexcept {}

 private:
  std::atomic_flag calls_;
};

}  // namespace dpledger::client::internal
