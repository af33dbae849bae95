// Whether a register holds a document: of entries at every place and of every length.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DocumentCheck } from "../src/verify/document_check";

const ORIGIN = "s/projects/statements/ledgers/register";
const SHA = "ab".repeat(32);

const varint = (n: number): number[] => (n < 128 ? [n] : [(n % 128) | 128, ...varint(n >> 7)]);
const field = (number: number, bytes: number[]) => [
  ...varint(number * 8 + 2),
  ...varint(bytes.length),
  ...bytes,
];
const utf8 = (text: string) => [...new TextEncoder().encode(text)];
// A LedgerEntry whose note holds the text; its request id has so many bytes.
const entry = (sequence: number, text: string, id = 3) =>
  Uint8Array.from([
    ...(sequence ? [8, ...varint(sequence)] : []),
    ...field(2, utf8("server")),
    ...(sequence > 1 ? [24, ...varint(sequence - 1)] : []),
    ...field(4, utf8("i".repeat(id))),
    ...field(6, [8, ...varint(60)]),
    ...field(13, field(1, utf8(text))),
  ]);
const issued = (number: number) =>
  JSON.stringify({ issued: { number: String(number), htmlSha256: SHA, issuer: { name: "n" } } });
const withdrawn = (number: number, reason: string) =>
  JSON.stringify({ withdrawal: { number: String(number), reason } });
function verdict(entries: Uint8Array[]) {
  const check = new DocumentCheck({ name: "d.html", sha256: SHA });
  for (const one of entries) check.take(one, 0, one.length);
  return check.verdict(ORIGIN);
}

test("a document is found at every place of the register", () => {
  for (let number = 1; number < 400; number++)
    assert.equal(verdict([entry(number, issued(number))]).outcome, "held", String(number));
});
test("a withdrawal is heard, whatever its length and the lengths around it", () => {
  for (let length = 1; length < 200; length++)
    for (const id of [3, 9, 123]) {
      const later = entry(124, withdrawn(7, "r".repeat(length)), id);
      const { outcome, text } = verdict([entry(7, issued(7)), later]);
      assert.equal(outcome, "missing", `${length} ${id}`);
      assert.match(text, /withdrawn/);
    }
});
test("another document's withdrawal, and a hash in another field, change nothing", () => {
  const other = entry(8, withdrawn(6, "r"));
  assert.equal(verdict([entry(7, issued(7)), other]).outcome, "held");
  const named = JSON.stringify({ issued: { number: "7", htmlSha256: "00", title: SHA } });
  assert.equal(verdict([entry(7, named)]).outcome, "missing");
});
test("a note that cannot be read is never passed over", () => {
  for (const text of ["{", '{"withdrawal":', "\u0000", "no"]) {
    const { outcome, text: said } = verdict([entry(7, issued(7)), entry(8, text)]);
    assert.equal(outcome, "missing");
    assert.match(said, /Entry 8 of the register cannot be read/);
  }
});
