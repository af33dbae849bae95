// Signing in by a cookie, for the page: its scripts then hold no token, and the calls that a reader
// opens by their address are answered. Pure functions, apart from the desk.
//
// 1. The cookie is the token itself, so the server keeps nothing of a session: it ends at once when
//    the token is revoked or expires, and else with the browser.
// 2. `__Host-`, Secure, HttpOnly, SameSite=Strict (RFC 6265bis, section 4.1.3): it goes to this
// host
//    alone, over TLS or on loopback, and no script reads it. A browser that got the page in plain
//    text under a name drops it.
// 3. A browser adds cookies by itself, also to requests that others make it send. SameSite keeps
//    out other sites, but not another port of this host. So a cookie counts only where the browser
//    says that the server's own page asks, or the reader's own hand, and that only for a GET:
//    Sec-Fetch-Site (W3C Fetch Metadata), which no script can set. Without it, no cookie counts.
#pragma once

#include <string_view>

#include "http/message.h"
#include "server/desk/desk.h"

namespace dpledger::server {

inline constexpr std::string_view kSessionPath = "/session";

// The answer to a POST, which makes the token of its header `authorization` the cookie, and to a
// DELETE, which ends the cookie. 401 in Connect's words if the token is not valid; 400 where nobody
// is asked for a name, or where the token is too long for a cookie.
http::Response ServeSession(Desk& desk, const http::Request& request);

// If the cookie counts, and there is no header `authorization`, makes that header of it. Whether it
// did: the answer is then for nobody else.
bool TakeSession(http::Request& request);

}  // namespace dpledger::server
