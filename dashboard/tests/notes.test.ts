import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { test } from "node:test";
import {
  Difference,
  ed25519,
  LOG_KEY,
  parseKey,
  parseNote,
  signersOf,
  WITNESS_KEY,
  type Verify,
} from "../src/verify/note";

// A key of node's own crypto, as C2SP writes it.
function keyOf(name: string, type: number) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.concat([
    Buffer.of(type),
    publicKey.export({ format: "der", type: "spki" }).subarray(-32),
  ]);
  const id = createHash("sha256").update(`${name}\n`).update(bytes).digest().subarray(0, 4);
  return {
    name,
    id,
    privateKey,
    key: parseKey(`${name}+${id.toString("hex")}+${bytes.toString("base64")}`),
  };
}
const BODY = `log.example\n7\n${Buffer.alloc(32, 5).toString("base64")}\n`;
const line = (from: { name: string; id: Buffer }, signature: Buffer) =>
  `— ${from.name} ${Buffer.concat([from.id, signature]).toString("base64")}\n`;
const signed = (key: KeyObject, text = BODY) => sign(null, Buffer.from(text), key);
const at = (time: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(time);
  return bytes;
};
const log = keyOf("log.example", LOG_KEY);
const witness = keyOf("witness.example/w", WITNESS_KEY);
const cosigned = (time: bigint, said = time) =>
  Buffer.concat([at(said), signed(witness.privateKey, `cosignature/v1\ntime ${time}\n${BODY}`)]);
async function signers(...lines: string[]) {
  return signersBy((await ed25519(async () => assert.fail("node has Ed25519"))).verify, ...lines);
}
async function signersBy(verify: Verify, ...lines: string[]) {
  return (
    await signersOf(parseNote(`${BODY}\n${lines.join("")}`), [log.key, witness.key], verify)
  ).map((key) => key.name);
}

test("a note's signature and its cosignature are found", async () => {
  assert.deepEqual(
    await signers(line(log, signed(log.privateKey)), line(witness, cosigned(1234n))),
    ["log.example", "witness.example/w"],
  );
  assert.deepEqual(
    await signers(line(keyOf("log.example", LOG_KEY), Buffer.alloc(64))),
    [],
    "another key's is passed over",
  );
});
test("a signature of any length but its own is refused", async () => {
  const good = signed(log.privateKey);
  const both = cosigned(1234n);
  // Also where what verifies would take it.
  const refused = async (text: string, what: string) => {
    for (const tried of [signers(text), signersBy(async () => true, text)])
      await assert.rejects(
        tried,
        (error) => error instanceof Difference && /is not one of this note/.test(error.message),
        what,
      );
  };
  for (const size of [1, 8, 32, 63])
    await refused(line(log, good.subarray(0, size)), `${size} bytes`);
  for (const size of [65, 72, 128])
    await refused(line(log, Buffer.concat([good, Buffer.alloc(size - 64)])), `${size} bytes`);
  for (const size of [1, 7, 8, 9, 63, 64, 71])
    await refused(line(witness, both.subarray(0, size)), `${size} bytes of a witness`);
  await refused(line(witness, Buffer.concat([both, Buffer.of(0)])), "73 bytes of a witness");
});
test("a witness's plain signature is no cosignature, nor is one under another time", async () => {
  const refused = (text: string) => assert.rejects(signers(text), /is not one of this note/);
  await refused(line(witness, signed(witness.privateKey)));
  await refused(line(witness, cosigned(1234n, 1235n)));
  await refused(line(log, cosigned(1234n)));
});
