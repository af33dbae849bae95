// Hears of every call that the desk takes, whatever door it came through: for metrics. Thread safe,
// and quick: calls wait for it.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/desk/method.h"

namespace dpledger::server {

class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // A unary call, refused ones included.
  virtual void OnAnswered(const Method& method, absl::StatusCode code, absl::Duration took) = 0;
  virtual void OnStreamOpened(const Method& method) = 0;
  virtual void OnStreamDone(const Method& method) = 0;
};

}  // namespace dpledger::server
