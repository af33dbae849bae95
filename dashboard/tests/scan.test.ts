// The scanner that verifying uses, and the decoder that shows entries, against bytes that a server
// made (written down here in base 64) and against broken ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeEntry } from "../src/api/decode";
import { EntriesCheck, tilePath } from "../src/verify/entries_check";
import { scan, BODY } from "../src/verify/scan";
import { headerOf } from "../src/verify/tar";
import { Grouping, noiseMultiplier } from "../src/views/entries";

const DECLARATION =
  "IgtlMmUtNDY1My0yNjIGCPCcjdgGWjUKCXN5bnRoZXRpYxIHZXhhbXBsZRgBIAIyCxIJCQAAAAAAAOA/OgxhbGwgaXRl" +
  "cmF0ZXNQAQ==";
const EVENTS = [
  "CAESB3RyYWluZXIiC2UyZS00NjUzLTI3MgYI8JyN2AZSDSILKgkJAAAAAAAAEEA=",
  "CAISB3RyYWluZXIYASILZTJlLTQ2NTMtMjcyBgjwnI3YBlINIgsqCQkAAAAAAAAUQA==",
  "CAMSB3RyYWluZXIYAiILZTJlLTQ2NTMtMjcyBgjwnI3YBlINIgsqCQkAAAAAAAAIQA==",
];
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
const all = [DECLARATION, ...EVENTS].map(bytes);
const bundle = (entries: Uint8Array[]) =>
  Uint8Array.from(entries.flatMap((entry) => [entry.length >> 8, entry.length & 255, ...entry]));

test("an entry is decoded as proto JSON", () => {
  const entry = decodeEntry(all[0]);
  assert.equal(entry.declaration?.dataset, "synthetic");
  assert.equal(entry.declaration?.adjacency, "ADD_OR_REMOVE_ONE");
  assert.equal(entry.declaration?.filter?.zcdp?.rho, 0.5);
  assert.equal(decodeEntry(all[2]).event?.mechanism?.gaussian?.noiseMultiplier, 5);
  assert.equal(decodeEntry(all[2]).writerCounter, "1");
});
test("a field of a later version is shown, not left out", () => {
  const entry = decodeEntry(Uint8Array.from([...all[1], 0xf2, 0x07, 2, 1, 2]));
  assert.deepEqual(entry.unknownFields, ["126: 020102"]);
});
test("the scanner reads what the decoder reads", () => {
  all.forEach((entry, i) => {
    const found = { ...scan(entry, 0, entry.length) };
    const decoded = decodeEntry(entry);
    assert.equal(found.sequence, i);
    assert.equal(found.writer, decoded.writer ?? "");
    assert.equal(found.counter, Number(decoded.writerCounter ?? 0));
    assert.equal(found.minute * 1000, Date.parse(decoded.recordedTime!));
    assert.equal(found.body, i ? 10 : BODY.declaration);
  });
  assert.throws(() => scan(all[0], 0, all[0].length - 1), RangeError);
  assert.throws(
    () => scan(Uint8Array.from([...all[1], ...all[1]]), 0, 2 * all[1].length),
    /out of order/,
  );
});
test("each rule on entries notices the entry that breaks it", () => {
  const wrong = (entries: Uint8Array[]) => {
    const check = new EntriesCheck([], entries.length);
    check.take(bundle(entries), entries.length);
    return check.wrong;
  };
  assert.equal(wrong(all), undefined);
  assert.match(wrong([all[0], all[2], all[1]])!, /entry 1: says that it is number 2/);
  assert.match(wrong([all[1]])!, /entry 0/);
  const earlier = all[2].slice();
  earlier[Buffer.from(earlier).indexOf(Buffer.from([0x32, 6, 8])) + 3] -= 60;
  assert.match(wrong([all[0], all[1], earlier])!, /entry 2: its time/);
  const counter = all[2].slice();
  counter[counter.indexOf(0x18) + 1] = 5;
  assert.match(
    wrong([all[0], all[1], counter])!,
    /entry 2: is number 5 of its writer, and 1 was due/,
  );
  assert.throws(
    () => new EntriesCheck([], 2).take(bundle(all.slice(0, 2)), 1),
    /something follows/,
  );
  assert.throws(() => new EntriesCheck([], 2).take(bundle(all.slice(0, 1)), 2), /cut off/);
});
test("a registered root that the entries do not have is noticed at its size", () => {
  const point = { index: 1n, size: 2, root: new Uint8Array(32), state: 1 };
  assert.throws(
    () => new EntriesCheck([point], 4).take(bundle(all), 4),
    /first 2 entries are not those/,
  );
});
test("tiles have the names of tlog-tiles", () => {
  assert.equal(tilePath("entries", 0, 4), "tile/entries/000.p/4");
  assert.equal(tilePath("0", 1234067, 256), "tile/0/x001/x234/067");
});
test("a bundle's header is the canonical one", () => {
  const header = headerOf("README", 10);
  assert.equal(Buffer.from(header.subarray(257, 265)).toString("latin1"), "ustar\x0000");
  const sum = header.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0);
  assert.equal(parseInt(Buffer.from(header.subarray(148, 154)).toString(), 8), sum);
});
test("equal rounds are one run, and a round that differs begins another", () => {
  const grouping = new Grouping();
  const query = { group: "g", l2NormBound: 1, noiseStddev: 2 };
  let sequence = 0;
  const round = (n: number, probability: number) => {
    grouping.add({
      sequence: String(++sequence),
      writer: "w",
      event: { sampling: { round: String(n), scheme: { poisson: { probability } } } },
    });
    grouping.add({
      sequence: String(++sequence),
      writer: "w",
      event: { sumQuery: { round: String(n), query } },
    });
  };
  for (let n = 0; n < 5; n++) round(n, 0.1);
  for (let n = 5; n < 7; n++) round(n, 0.2);
  round(9, 0.2); // after a gap
  const shape = () => grouping.shown().map((run) => [run.first, run.rounds, run.queries.length]);
  assert.deepEqual(shape(), [
    [0, 5, 1],
    [5, 2, 1],
    [9, 1, 1],
  ]);
  // What was shown is not changed by it: the last round may get a further query, and be followed.
  assert.deepEqual(shape(), [
    [0, 5, 1],
    [5, 2, 1],
    [9, 1, 1],
  ]);
  round(10, 0.2);
  assert.deepEqual(shape(), [
    [0, 5, 1],
    [5, 2, 1],
    [9, 2, 1],
  ]);
  grouping.add({
    sequence: String(++sequence),
    writer: "w",
    event: { sumQuery: { round: "10", query } },
  });
  assert.deepEqual(shape(), [
    [0, 5, 1],
    [5, 2, 1],
    [9, 1, 1],
    [10, 1, 2],
  ]);
  assert.equal(noiseMultiplier([query, query]), 1 / Math.sqrt(0.5));
});
