// npm's stock clients against the HTTP door, each compared with what gRPC's door answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { equals } from "@bufbuild/protobuf";
import { Accounting, Audit, ErrorInfo, Health, Ledgers, declaration, grpc, http, question, transportsOf } from "./setup.mjs";

const name = "projects/node/ledgers/a";

async function errorOf(call) {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  assert.fail("the call must fail");
}

function same(one, other) {
  assert.equal(Code[one.code], Code[other.code]);
  assert.equal(one.rawMessage, other.rawMessage);
  assert.deepEqual(one.findDetails(ErrorInfo), other.findDetails(ErrorInfo));
  assert.equal(one.findDetails(ErrorInfo).length, 1);
}

const overGrpc = createClient(Ledgers, grpc);
await overGrpc.createLedger({ name, requestId: "1", declaration });

for (const [kind, transport] of Object.entries(transportsOf(http))) {
  const ledgers = createClient(Ledgers, transport);
  const accounting = createClient(Accounting, transport);

  test(kind + ": answers as gRPC does", async () => {
    assert.ok(equals(Ledgers.method.getLedger.output, await ledgers.getLedger({ name }), await overGrpc.getLedger({ name })));
    const epsilon = await accounting.computeEpsilon(question);
    const expected = await createClient(Accounting, grpc).computeEpsilon(question);
    assert.ok(equals(Accounting.method.computeEpsilon.output, epsilon, expected));
    const checkpoint = await createClient(Audit, transport).getCheckpoint({ log: name, atLeast: 1n });
    assert.match(checkpoint.note, /\n1\n/);
  });

  test(kind + ": writes", async () => {
    const request = { name: "projects/node/ledgers/" + kind.toLowerCase().replaceAll(/[^a-z]+/g, "-"), requestId: "2", declaration };
    const created = await ledgers.createLedger(request);
    assert.equal(created.size, 1n);
    assert.ok(equals(Ledgers.method.createLedger.output, await ledgers.createLedger(request), created));
  });

  test(kind + ": fails as gRPC does", async () => {
    for (const request of [{ name: "projects/node/ledgers/none" }, { name: "" }, { name: "ε\n%" }]) {
      same(await errorOf(ledgers.getLedger(request)), await errorOf(overGrpc.getLedger(request)));
    }
    const taken = { name, requestId: "other", declaration };
    same(await errorOf(ledgers.createLedger(taken)), await errorOf(overGrpc.createLedger(taken)));
  });

  test(kind + ": keeps 64 bits and infinity", async () => {
    const big = { name: "projects/node/ledgers/big", requestId: "3", declaration: { ...declaration, plannedRounds: 2n ** 53n } };
    assert.equal((await ledgers.createLedger(big)).declaration.plannedRounds, 2n ** 53n);
    const error = await errorOf(ledgers.createLedger({ ...big, declaration: { ...declaration, plannedRounds: 2n ** 53n + 1n } }));
    assert.match(error.rawMessage, /got 9007199254740993/);
    const leak = { subject: { events: [{ kind: { case: "mechanism", value: { kind: { case: "nonPrivate", value: {} } } } }] }, delta: 1e-5 };
    assert.equal((await accounting.computeEpsilon(leak)).epsilon.upper, Infinity);
  });

  test(kind + ": ends at its deadline", async () => {
    // A millisecond is not always too little: one of many calls ends so, and none otherwise.
    const ends = [];
    for (let i = 0; i < 200 && ends.length === 0; ++i) {
      const slow = structuredClone(question);
      slow.subject.events[0].kind.value.count = 10007n + BigInt(i);
      await accounting.computeEpsilon(slow, { timeoutMs: 1 }).catch((error) => ends.push(Code[error.code]));
    }
    assert.deepEqual(ends, ["DeadlineExceeded"]);
  });

  test(kind + ": watches a stream until it has seen enough", async () => {
    const health = createClient(Health, transport);
    assert.equal((await health.check({})).status, 1);
    const ends = new AbortController();
    const seen = [];
    await assert.rejects(async () => {
      for await (const { status } of health.watch({ service: "" }, { signal: ends.signal })) {
        seen.push(status);
        ends.abort();
      }
    });
    assert.deepEqual(seen, [1]);
  });

  test(kind + ": ends a stream at its deadline", async () => {
    const seen = [];
    const watch = async () => {
      for await (const { status } of createClient(Health, transport).watch({ service: "nobody" }, { timeoutMs: 300 })) seen.push(status);
    };
    assert.equal(Code[(await errorOf(watch())).code], "DeadlineExceeded");
    assert.deepEqual(seen, [3]);
  });
}
