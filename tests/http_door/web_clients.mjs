// npm's connect-web in a browser, on a page that the server itself serves. Bundled by run.py; what it found becomes the
// description of the ledger projects/web/ledgers/found, a line for each kind of transport: `KIND: ok`, or what differs.
import { createFileRegistry, equals, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import descriptors from "./descriptors.bin";

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
const service = (name) => registry.getService(name);
const Ledgers = service("dpledger.v1.LedgerService");
const Accounting = service("dpledger.v1.AccountingService");
const Health = service("grpc.health.v1.Health");
const ErrorInfo = registry.getMessage("google.rpc.ErrorInfo");

const at = { baseUrl: location.origin };
const transports = {
  "Connect, binary": createConnectTransport({ ...at, useBinaryFormat: true }),
  "Connect, JSON": createConnectTransport(at),
  "Connect, GET": createConnectTransport({ ...at, useHttpGet: true }),
  "gRPC-Web, binary": createGrpcWebTransport(at),
  "gRPC-Web, JSON": createGrpcWebTransport({ ...at, useBinaryFormat: false }),
};
const event = { rounds: { scheme: { poisson: { probability: 0.01 } }, queries: [{ l2NormBound: 1, noiseStddev: 1 }], count: "10000" } };
const question = {
  subject: { events: [{ kind: { case: "rounds", value: { scheme: { kind: { case: "poisson", value: { probability: 0.01 } } },
    queries: [{ l2NormBound: 1, noiseStddev: 1 }], count: 10000n } } }] },
  delta: 1e-5,
};

async function check(kind, transport) {
  const ledgers = createClient(Ledgers, transport);
  const name = "projects/web/ledgers/" + kind.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  const declaration = { dataset: "d", unitOfPrivacy: "u", adjacency: 1, parameters: 1, plannedRounds: 2n ** 53n };
  const created = await ledgers.createLedger({ name, requestId: "1", declaration });
  if (!equals(Ledgers.method.getLedger.output, created, await ledgers.getLedger({ name }))) return "another ledger is read";
  if (created.declaration.plannedRounds !== 2n ** 53n) return "64 bits are not kept";
  const plain = await fetch("/dpledger.v1.AccountingService/ComputeEpsilon", { method: "POST",
    headers: { "content-type": "application/json" }, body: JSON.stringify({ subject: { events: [event] }, delta: 1e-5 }) });
  const { epsilon } = await createClient(Accounting, transport).computeEpsilon(question);
  const expected = (await plain.json()).epsilon;
  if (epsilon.lower !== expected.lower || epsilon.upper !== expected.upper) return "another epsilon";
  try {
    await ledgers.getLedger({ name: "ε\n%" });
    return "a wrong name is taken";
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    if (error.code !== Code.InvalidArgument) return "the wrong code: " + Code[error.code];
    if (error.findDetails(ErrorInfo).length !== 1) return "no details";
  }
  const ends = new AbortController();
  const seen = [];
  try {
    for await (const { status } of createClient(Health, transport).watch({ service: "" }, { signal: ends.signal })) {
      seen.push(status);
      ends.abort();
    }
  } catch (thrown) {
    if (ConnectError.from(thrown).code !== Code.Canceled) return "a stream ends with " + thrown;
  }
  return seen.join() === "1" ? "ok" : "a stream says " + seen;
}

const lines = [];
for (const [kind, transport] of Object.entries(transports)) {
  lines.push(kind + ": " + (await check(kind, transport).catch((error) => String(error))));
}
const declaration = { dataset: "d", unitOfPrivacy: "u", adjacency: 1, parameters: 1, description: lines.join("\n") };
await createClient(Ledgers, transports["Connect, JSON"]).createLedger({ name: "projects/web/ledgers/found", requestId: "1", declaration });
