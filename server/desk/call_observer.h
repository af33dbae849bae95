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
  // Each call once, refused ones included.
  virtual void OnStarted(const Method& method) = 0;
  // The same call's end. `response`: of a unary call that was answered; else null.
  virtual void OnHandled(const Method& method, const absl::Status& status, const Message* response,
                         absl::Duration took) = 0;
  // A stream's messages.
  virtual void OnReceived(const Method& method) = 0;
  virtual void OnSent(const Method& method) = 0;
};

}  // namespace dpledger::server
