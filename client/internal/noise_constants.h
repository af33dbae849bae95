// The numbers in which the noise kernels evaluate logarithm, sine and cosine: interpolants at
// Chebyshev nodes, by tests/oracle/noise_polynomials.py. What they leave out is bounded in
// client/CLAIM.md, line P.
#pragma once

namespace dpledger::client::internal {

// 2 ln(1 + t) = 2 t + t^2 (kLogTail[0] + kLogTail[1] t + ...) for abs(t) <= 1/32.
inline constexpr double kLogTail[] = {
    -0x1.0000000000000p+0, 0x1.55555555872e4p-1, -0x1.000000002cdd2p-1, 0x1.99998d23ae84dp-2,
    -0x1.55554a1e567b4p-2, 0x1.24f5f0d7c0917p-2, -0x1.0059b0f4702dbp-2};
// sin a = a + a^3 (kSineTail[0] + kSineTail[1] a^2 + ...) for abs(a) <= pi/4.
inline constexpr double kSineTail[] = {-0x1.5555555555555p-3,  0x1.1111111110bb2p-7,
                                       -0x1.a01a019e83aaep-13, 0x1.71de37968a100p-19,
                                       -0x1.ae600b02b6262p-26, 0x1.5e0b19f8b1451p-33};
// cos a = 1 + a^2 (kCosineTail[0] + kCosineTail[1] a^2 + ...) for abs(a) <= pi/4.
inline constexpr double kCosineTail[] = {
    -0x1.0000000000000p-1,  0x1.5555555555551p-5,  -0x1.6c16c16c15d79p-10, 0x1.a01a019de131fp-16,
    -0x1.27e4f8e4a2e74p-22, 0x1.1eea7f259b344p-29, -0x1.8ff9d439a204ap-37};
// m kScales[j] - 1 is at most 1/32 for m in [1 + j/16, 1 + (j+1)/16): 1/m to 8 bits, so that it is
// exact to the last place; the last leaves 1 - U itself where U is near 1.
inline constexpr double kScales[] = {
    0x1.f000000000000p-1, 0x1.d400000000000p-1, 0x1.ba00000000000p-1, 0x1.a400000000000p-1,
    0x1.9000000000000p-1, 0x1.7e00000000000p-1, 0x1.6c00000000000p-1, 0x1.5c00000000000p-1,
    0x1.4e00000000000p-1, 0x1.4200000000000p-1, 0x1.3600000000000p-1, 0x1.2a00000000000p-1,
    0x1.2000000000000p-1, 0x1.1600000000000p-1, 0x1.0c00000000000p-1, 0x1.0000000000000p-1};
// 2 ln(2 kScales[j]), rounded.
inline constexpr double kScaleLogs[] = {
    0x1.52a2d265bc5abp+0, 0x1.34e289d9ce1d3p+0, 0x1.179eabbd899a1p+0, 0x1.faf588f78f31fp-1,
    0x1.c8ff7c79a9a22p-1, 0x1.99d958117e08bp-1, 0x1.686c81e9b14afp-1, 0x1.3a64c556945eap-1,
    0x1.1058bf9ae4ad5p-1, 0x1.d5c216b4fbb91p-2, 0x1.87fa06520c911p-2, 0x1.371fc201e8f74p-2,
    0x1.e27076e2af2e6p-3, 0x1.51b073f06183fp-3, 0x1.77458f632dcfcp-4, 0x0.0p+0};

}  // namespace dpledger::client::internal
