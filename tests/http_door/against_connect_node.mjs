// The same .proto served by connect-node, which asks this server over gRPC for its answers: its status, headers,
// bytes and error details are what the HTTP door's must be.
import assert from "node:assert/strict";
import * as nodeHttp from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { after, test } from "node:test";
import { ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Accounting, Ledgers, declaration, grpc, question } from "./setup.mjs";

// What gRPC's trailers held is not for connect-node to pass on as headers.
function withoutMetadata(error) {
  const own = new ConnectError(error.rawMessage, error.code);
  own.details = error.details;
  throw own;
}

function proxied(description) {
  const client = createClient(description, grpc);
  return Object.fromEntries(
    description.methods
      .filter((method) => method.methodKind === "unary")
      .map((method) => [method.localName, (request) => client[method.localName](request).catch(withoutMetadata)]),
  );
}

const reference = nodeHttp.createServer(
  connectNodeAdapter({
    routes: (router) => {
      router.service(Ledgers, proxied(Ledgers));
      router.service(Accounting, proxied(Accounting));
    },
    readMaxBytes: 4 << 20,
  }),
);
await new Promise((done) => reference.listen(0, "127.0.0.1", done));
after(() => {
  reference.close();
  reference.closeAllConnections();
});

function send(address, { method = "POST", path, headers = {}, body = "" }) {
  return new Promise((done, failed) => {
    const request = nodeHttp.request("http://" + address + path, { method, headers, agent: false }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }));
    });
    request.on("error", failed);
    request.end(body);
  });
}

const ours = process.env.SERVER_HTTP;
const theirs = "127.0.0.1:" + reference.address().port;
const name = "projects/differential/ledgers/a";
await createClient(Ledgers, grpc).createLedger({ name, requestId: "1", declaration });

// JSON members come in any order.
const parsed = (bytes) => JSON.parse(bytes.toString());
const inflated = (answer) => (answer.headers["content-encoding"] === "gzip" ? gunzipSync(answer.body) : answer.body);

const compared = ["content-type", "content-encoding"];

async function compare(request, { bytes = true, status = true } = {}) {
  const [a, b] = await Promise.all([send(ours, request), send(theirs, request)]);
  const what = JSON.stringify({ ...request, body: undefined }) + "\n" + a.body + "\n" + b.body;
  if (status) assert.equal(a.status, b.status, what);
  for (const header of compared) {
    if (b.headers["content-type"] !== undefined) assert.equal(a.headers[header], b.headers[header], header + " " + what);
  }
  if (bytes) {
    if ((b.headers["content-type"] ?? "").includes("json") && !(b.headers["content-type"] ?? "").includes("grpc")) {
      assert.deepEqual(parsed(inflated(a)), parsed(inflated(b)), what);
    } else {
      assert.deepEqual(inflated(a), inflated(b), what);
    }
  }
  return a;
}

const messages = {
  GetLedger: [{ name }, { name: "projects/differential/ledgers/none" }, { name: "" }, { name: "ε % \n" }],
  ListLedgers: [{}, { pageSize: 1 }],
  ReadEntries: [{ ledger: name }, { ledger: name, firstSequence: 9007199254740993n }],
};
const path = (method, owner = Ledgers) => "/" + owner.typeName + "/" + method;
const input = (method, value, owner = Ledgers) =>
  create(owner.methods.find((one) => one.name === method).input, value);
const schema = (method, owner = Ledgers) => owner.methods.find((one) => one.name === method).input;

for (const [method, values] of Object.entries(messages)) {
  test("the same answers: " + method, async () => {
    for (const value of values) {
      const message = input(method, value);
      const binary = toBinary(schema(method), message);
      const text = toJsonString(schema(method), message);
      for (const accept of [{}, { "accept-encoding": "gzip" }]) {
        const headers = { "connect-protocol-version": "1", ...accept };
        await compare({ path: path(method), headers: { ...headers, "content-type": "application/proto" }, body: binary });
        await compare({ path: path(method), headers: { ...headers, "content-type": "application/json" }, body: text });
        await compare({ path: path(method), headers: { ...headers, "content-type": "application/proto", "content-encoding": "gzip" }, body: gzipSync(binary) });
        const encoded = Buffer.from(binary).toString("base64url");
        await compare({ method: "GET", path: path(method) + "?connect=v1&base64=1&encoding=proto&message=" + encoded, headers: accept });
        await compare({ method: "GET", path: path(method) + "?connect=v1&encoding=json&message=" + encodeURIComponent(text), headers: accept });
      }
    }
  });
}

test("the same numbers", async () => {
  const message = input("ComputeEpsilon", question, Accounting);
  await compare({
    path: path("ComputeEpsilon", Accounting),
    headers: { "content-type": "application/json" },
    body: toJsonString(schema("ComputeEpsilon", Accounting), message),
  });
});

test("the same refusals of what is no call", async () => {
  const type = { "content-type": "application/json" };
  const body = JSON.stringify({ name });
  const words = { bytes: false };  // the code alone: the message is each server's own
  const codes = async (request) => {
    const answer = await compare(request, words);
    const other = await send(theirs, request);
    assert.equal(parsed(answer.body).code, parsed(other.body).code, JSON.stringify(request.headers));
  };
  await codes({ path: path("GetLedger"), headers: { ...type, "connect-timeout-ms": "soon" }, body });
  await codes({ path: path("GetLedger"), headers: { ...type, "connect-timeout-ms": "12345678901" }, body });
  await codes({ path: path("GetLedger"), headers: { ...type, "content-encoding": "snappy" }, body });
  await codes({ path: path("GetLedger"), headers: type, body: "{" });
  await codes({ path: path("GetLedger"), headers: type, body: JSON.stringify({ name: 1 }) });
  // connect-node calls bytes that are no message "internal"; here, as over gRPC, it is the caller's fault.
  await codes({ path: path("GetLedger"), headers: type, body: JSON.stringify({ name: "x".repeat(5 << 20) }) });
  for (const wrong of ["text/plain", "application/xml", "application/connect+json"]) {
    await compare({ path: path("GetLedger"), headers: { "content-type": wrong }, body }, words);
  }
  await compare({ path: path("CreateLedger") + "?connect=v1&encoding=json&message=%7B%7D", method: "GET" }, words);
  await compare({ path: path("GetLedger"), method: "PUT", headers: type, body }, words);
  await compare({ path: path("Append"), headers: { "content-type": "application/connect+json" }, body: "" }, words);
});

test("the same gRPC-Web", async () => {
  for (const value of messages.GetLedger) {
    const binary = toBinary(schema("GetLedger"), input("GetLedger", value));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(binary.length, 1);
    const request = { path: path("GetLedger"), headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" }, body: Buffer.concat([head, binary]) };
    const [a, b] = [await send(ours, request), await send(theirs, request)];
    assert.equal(a.status, b.status);
    assert.equal(a.headers["content-type"], b.headers["content-type"]);
    assert.deepEqual(frames(a.body), frames(b.body));
  }
});

// Trailers come in any order, their names in either case.
function frames(bytes) {
  const all = [];
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at + 1);
    const content = bytes.subarray(at + 5, at + 5 + size);
    const lines = () => content.toString().trim().split("\r\n").map((line) => line.replace(/^([^:]*):\s*/, (_, n) => n.toLowerCase() + ": ").replace(/=+$/, "")).map(decodeURIComponent);
    const sorted = () => lines().filter((line) => line.startsWith("grpc-")).sort();
    all.push(bytes[at] === 0x80 ? sorted() : content.toString("hex"));
    at += 5 + size;
  }
  return all;
}
