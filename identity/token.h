// The tokens that this server makes:
//
//   token = "dpl_" base64url(32 random bytes) base64url(checksum)        53 bytes
//   checksum = the first 4 bytes of SHA-256("dpl_" base64url(32 random bytes))
//
// The checksum tells a mistyped or cut token from an unknown one without a look-up, and lets
// scanners find leaked tokens without guessing. It keeps nobody out. Thread safe.
#pragma once

#include <string>
#include <string_view>

#include "identity/caller.h"

namespace dpledger::identity {

inline constexpr std::string_view kTokenPrefix = "dpl_";
inline constexpr size_t kTokenBytes = 53;

// Aborts the process if there is no randomness: a guessable token must never be made.
std::string MakeToken();

// Whether `text` has the shape and the right checksum.
bool IsToken(std::string_view text);

Sha256Hash HashOf(std::string_view text);

// `text`; or, if it may hold a token or a JWT that was put in the wrong place, words that say so.
// For logs and records, which hold no secrets.
std::string WithoutTokens(const std::string& text);

}  // namespace dpledger::identity
