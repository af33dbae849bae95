// The services of the checkout, and stock clients of every kind for the server at $SERVER_HTTP.
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

export const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(process.env.DESCRIPTORS)),
);
export const service = (name) => registry.getService(name);
export const Ledgers = service("dpledger.v1.LedgerService");
export const Accounting = service("dpledger.v1.AccountingService");
export const Audit = service("dpledger.v1.AuditService");
export const Health = service("grpc.health.v1.Health");
export const ErrorInfo = registry.getMessage("google.rpc.ErrorInfo");

export const http = "http://" + process.env.SERVER_HTTP;
export const grpc = createGrpcTransport({ baseUrl: "http://" + process.env.SERVER_GRPC });

const json = { useBinaryFormat: false };
export function transportsOf(baseUrl) {
  const at = { baseUrl, httpVersion: "1.1" };
  return {
    "Connect, binary": createConnectTransport(at),
    "Connect, JSON": createConnectTransport({ ...at, ...json }),
    "Connect, GET, binary": createConnectTransport({ ...at, useHttpGet: true }),
    "Connect, GET, JSON": createConnectTransport({ ...at, ...json, useHttpGet: true }),
    "Connect, compressed": createConnectTransport({ ...at, sendCompression: gzip() }),
    "gRPC-Web, binary": createGrpcWebTransport(at),
    "gRPC-Web, JSON": createGrpcWebTransport({ ...at, ...json }),
  };
}

import { compressionGzip } from "@connectrpc/connect-node";
function gzip() {
  return compressionGzip;
}

export const question = {
  subject: {
    events: [{
      kind: {
        case: "rounds",
        value: {
          scheme: { kind: { case: "poisson", value: { probability: 0.01 } } },
          queries: [{ l2NormBound: 1, noiseStddev: 1 }],
          count: 10000n,
        },
      },
    }],
  },
  delta: 1e-5,
};
export const declaration = { dataset: "d", unitOfPrivacy: "u", adjacency: 1, parameters: 1 };
