// Which refusals of the server the page takes for its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, refusals, signIn } from "../src/api/client";

// Calls wait until they are refused.
const waiting: (() => void)[] = [];
globalThis.fetch = () =>
  new Promise((answered) => {
    const refusal = () => new Response('{"code":"unauthenticated"}', { status: 401 });
    waiting.push(() => answered(refusal()));
  });
const ask = () => call("LedgerService/ListLedgers", {}).catch(() => undefined);

test("a late refusal of nobody is none of who has signed in since", async () => {
  const early = ask();
  signIn("dpl_x");
  signIn(""); // the token became a cookie
  waiting.pop()!();
  await early;
  assert.equal(refusals.value, 0);
  const now = ask();
  waiting.pop()!();
  await now;
  assert.equal(refusals.value, 1);
});
