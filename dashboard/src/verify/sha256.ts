// SHA-256 (FIPS 180-4) over arrays that are used again for every hash: a ledger of 10^6 entries
// takes two million of them, and an allocation each would cost more than the hash. Checked against
// node's crypto and noble in tests.
const K = new Uint32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);
const START = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const state = new Int32Array(8);
const words = new Int32Array(64);
const tail = new Uint8Array(128);

function block(bytes: Uint8Array, at: number) {
  for (let i = 0; i < 16; i++, at += 4) {
    const high = (bytes[at] << 24) | (bytes[at + 1] << 16);
    words[i] = high | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15];
    const y = words[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
  let a = state[0],
    b = state[1],
    c = state[2],
    d = state[3],
    e = state[4],
    f = state[5],
    g = state[6],
    h = state[7];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = (state[0] + a) | 0;
  state[1] = (state[1] + b) | 0;
  state[2] = (state[2] + c) | 0;
  state[3] = (state[3] + d) | 0;
  state[4] = (state[4] + e) | 0;
  state[5] = (state[5] + f) | 0;
  state[6] = (state[6] + g) | 0;
  state[7] = (state[7] + h) | 0;
}

// Writes the hash of bytes[from, to) to out[at, at + 32).
export function sha256Into(
  bytes: Uint8Array,
  from: number,
  to: number,
  out: Uint8Array,
  at: number,
) {
  for (let i = 0; i < 8; i++) state[i] = START[i];
  const size = to - from;
  while (to - from >= 64) {
    block(bytes, from);
    from += 64;
  }
  const rest = to - from;
  for (let i = 0; i < rest; i++) tail[i] = bytes[from + i];
  tail[rest] = 0x80;
  const end = rest < 56 ? 64 : 128;
  tail.fill(0, rest + 1, end);
  const high = Math.floor(size / 0x20000000);
  const low = size << 3;
  for (let i = 0; i < 4; i++) {
    tail[end - 8 + i] = high >>> (24 - 8 * i);
    tail[end - 4 + i] = low >>> (24 - 8 * i);
  }
  block(tail, 0);
  if (end === 128) block(tail, 64);
  for (let i = 0; i < 8; i++) {
    out[at + 4 * i] = state[i] >>> 24;
    out[at + 4 * i + 1] = state[i] >>> 16;
    out[at + 4 * i + 2] = state[i] >>> 8;
    out[at + 4 * i + 3] = state[i];
  }
}

export function sha256(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  sha256Into(bytes, 0, bytes.length, out, 0);
  return out;
}
