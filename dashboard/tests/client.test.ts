// Which refusals of the server the page takes for its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, forgetDenied, refusals, signIn, type CallError } from "../src/api/client";

// Calls wait until they are refused.
let code = "unauthenticated";
const waiting: (() => void)[] = [];
globalThis.fetch = () =>
  new Promise((answered) => {
    const refusal = () => new Response(JSON.stringify({ code }), { status: 401 });
    waiting.push(() => answered(refusal()));
  });
const ask = (parent = "") =>
  call("LedgerService/ListLedgers", { parent }).catch((error: CallError) => error.code);

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

test("what was denied is not asked again until somebody signs in or asks again", async () => {
  code = "permission_denied";
  const sent = async (parent?: string) => {
    const answer = ask(parent);
    const [refuse] = waiting.splice(0);
    refuse?.();
    assert.equal(await answer, "permission_denied");
    return refuse !== undefined;
  };
  assert.equal(await sent("p"), true);
  assert.equal(await sent("p"), false);
  assert.equal(await sent("q"), true);
  signIn("dpl_y");
  assert.equal(await sent("p"), true);
  assert.equal(await sent("p"), false);
  forgetDenied();
  assert.equal(await sent("p"), true);
});
