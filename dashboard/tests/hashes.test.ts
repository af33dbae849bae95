import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sha256 as noble } from "@noble/hashes/sha2";
import { ed25519 as curve } from "@noble/curves/ed25519";
import { strictBase64 } from "../src/api/bytes";
import { ed25519, parseKey, parseNote, signersOf } from "../src/verify/note";
import { sha256 } from "../src/verify/sha256";
import { consistent, Frontier, leaf, node, rootFromInclusion } from "../src/verify/tree";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("SHA-256 agrees with node's and noble's at every length around the blocks", () => {
  for (let size = 0; size < 300; size++) {
    const bytes = randomBytes(size);
    assert.equal(
      hex(sha256(bytes)),
      createHash("sha256").update(bytes).digest("hex"),
      `of ${size} bytes`,
    );
    assert.equal(hex(sha256(bytes)), hex(noble(bytes)));
  }
  const long = randomBytes(1_000_003);
  assert.equal(hex(sha256(long)), hex(noble(long)));
});

// The definition of RFC 6962, section 2.1, word for word.
function root(leaves: Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array());
  if (leaves.length === 1) return leaves[0];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return node(root(leaves.slice(0, k)), root(leaves.slice(k)));
}
function inclusion(index: number, leaves: Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return [];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return index < k
    ? [...inclusion(index, leaves.slice(0, k)), root(leaves.slice(k))]
    : [...inclusion(index - k, leaves.slice(k)), root(leaves.slice(0, k))];
}
function consistency(m: number, leaves: Uint8Array[], whole = true): Uint8Array[] {
  if (m === leaves.length) return whole ? [] : [root(leaves)];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return m <= k
    ? [...consistency(m, leaves.slice(0, k), whole), root(leaves.slice(k))]
    : [...consistency(m - k, leaves.slice(k), false), root(leaves.slice(0, k))];
}
const made = Array.from({ length: 70 }, (_, i) => leaf(new TextEncoder().encode(`entry ${i}`)));

test("the frontier has the root of the definition at every size", () => {
  const tree = new Frontier();
  for (let n = 0; n <= made.length; n++) {
    assert.equal(hex(tree.root()), hex(root(made.slice(0, n))), `of ${n} leaves`);
    if (n < made.length) tree.addLeaf(made[n]);
  }
});

test("proofs and notes of an independent program hold, and changed ones do not", async () => {
  const oracle = JSON.parse(readFileSync(process.env.MERKLE_ORACLE!, "utf8"));
  const { verify } = await ed25519(
    async () => async (key, message, signature) =>
      curve.verify(signature, message, key, { zip215: false }),
  );
  assert.ok(oracle.proofs.length > 5);
  for (const { size, index, log_key, witness_key, proof } of oracle.proofs) {
    const end = proof.indexOf("\n\n");
    const hashes = proof
      .slice(0, end)
      .split("\n")
      .filter((line: string) => !/^(c2sp|extra|index)/.test(line))
      .map(strictBase64);
    const note = parseNote(proof.slice(end + 2));
    const keys = [parseKey(log_key), parseKey(witness_key)];
    assert.equal(note.size, BigInt(size));
    assert.equal((await signersOf(note, keys, verify)).length, 2);
    const found = rootFromInclusion(
      leaf(new TextEncoder().encode(`entry ${index}`)),
      BigInt(index),
      BigInt(size),
      hashes,
    );
    assert.equal(hex(found!), hex(note.root), `entry ${index} of ${size}`);
    await assert.rejects(
      signersOf({ ...note, body: note.body.replace(/\n\d+\n/, `\n${size + 1}\n`) }, keys, verify),
      /not one of this note/,
    );
  }
});

test("a key is taken only under the id of its own bytes", () => {
  const { log_key } = JSON.parse(readFileSync(process.env.MERKLE_ORACLE!, "utf8")).proofs[0];
  assert.equal(parseKey(log_key).text, log_key);
  assert.throws(
    () =>
      parseKey(
        log_key.replace(
          /\+([0-9a-f])/,
          (_: string, digit: string) => `+${digit === "0" ? "1" : "0"}`,
        ),
      ),
    /: mistyped: its name, id and bytes/,
  );
  assert.throws(
    () => parseKey(log_key.replace("example", "exampel")),
    /: mistyped: its name, id and bytes/,
  );
  for (const wrong of ["", "name", "name+12345678", `${log_key} ${log_key}`])
    assert.throws(() => parseKey(wrong), /: no key: a key reads/, wrong);
  for (const wrong of ["name+12345678+AAAA", log_key.slice(0, -4)])
    assert.throws(() => parseKey(wrong), /: cut or mistyped/, wrong);
});

test("inclusion proofs lead to the root, and to no other with one bit changed", () => {
  for (const size of [1, 2, 3, 7, 8, 33, 70]) {
    const leaves = made.slice(0, size);
    for (let i = 0; i < size; i++) {
      const proof = inclusion(i, leaves);
      const found = rootFromInclusion(leaves[i], BigInt(i), BigInt(size), proof);
      assert.equal(found && hex(found), hex(root(leaves)));
      if (!proof.length) continue;
      const bent = proof.map((step) => step.slice());
      bent[bent.length - 1][5] ^= 1;
      assert.notEqual(
        hex(rootFromInclusion(leaves[i], BigInt(i), BigInt(size), bent)!),
        hex(root(leaves)),
      );
      assert.equal(rootFromInclusion(leaves[i], BigInt(i), BigInt(size), proof.slice(1)), null);
    }
  }
});

test("consistency proofs hold between all sizes, and for no other root", () => {
  for (let old = 1; old <= 40; old++) {
    for (let size = old; size <= 40; size++) {
      const leaves = made.slice(0, size);
      const [from, to] = [root(made.slice(0, old)), root(leaves)];
      const proof = consistency(old, leaves);
      assert.ok(consistent(BigInt(old), from, BigInt(size), to, proof), `${old} to ${size}`);
      assert.ok(
        !consistent(BigInt(old), root(made.slice(1, old + 1)), BigInt(size), to, proof),
        `${old} to ${size}, another past`,
      );
      if (old < size) assert.ok(!consistent(BigInt(old), from, BigInt(size), from, proof));
    }
  }
});
