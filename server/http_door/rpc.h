// Calls of the desk's methods over HTTP: one exchange is one call.
#pragma once

#include <cstddef>
#include <memory>

#include "http/message.h"
#include "server/desk/desk.h"
#include "server/desk/method.h"

namespace dpledger::server {

// What a request shows of its caller. Valid as long as the request.
Credentials CredentialsOf(const http::Request& request);

// Serves a request for `method`. `headers` are added to the answer. The desk must outlive the
// exchange.
void ServeRpc(Desk& desk, const Method& method, http::Request request,
              std::shared_ptr<http::Exchange> exchange, size_t max_message_bytes,
              const http::Headers& headers);

// Answers with the content of a file of a log, as C2SP tlog-tiles names it: `path` is
// "checkpoint" or "tile/…" for the registry, and for a ledger its name, '/', and that.
void ServeLogFile(Desk& desk, std::string_view path, const http::Request& request,
                  std::shared_ptr<http::Exchange> exchange, const http::Headers& headers);

}  // namespace dpledger::server
