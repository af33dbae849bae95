// A rounded Gaussian pair from 128 bits of each uniform, in integer arithmetic: what decides the
// pairs that double precision leaves open, nearly always, by the same operations for all.
//
// 1. A result is returned only if the real-number formula of docs/formats.md, section 3.4, rounds
//    to it for every continuation of the bits. Derivation: client/CLAIM.md, line W.
// 2. The same operations for all words, unless the result is nullopt: with a probability below
//    2^-95 sigma + 2^-63.
//
// Thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace dpledger::client::internal {

using WideWord = std::array<uint64_t, 2>;  // most significant first

// {cos, sin}. 1 <= sigma <= 2^40.
std::optional<std::array<int64_t, 2>> WidePair(WideWord u1, WideWord u2, int64_t sigma);

}  // namespace dpledger::client::internal
