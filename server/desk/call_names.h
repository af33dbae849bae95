// What a log line says of a request: which ledger it is about, and its id.
#pragma once

#include <string>

#include "server/desk/method.h"

namespace dpledger::server {

// As they may be printed: what is no name is cut, quoted and cleaned. Empty if there is none.
struct CallNames {
  std::string ledger;
  std::string request_id;
};
CallNames NamesOf(const Method& method, const Message& request);

}  // namespace dpledger::server
