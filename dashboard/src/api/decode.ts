// A LedgerEntry's bytes as proto JSON, by the table that the build makes of the .proto files.
// Nothing is hashed here: the bytes are what was hashed.
import { base64, hex } from "./bytes";
import type { LedgerEntry } from "./types";
import { schema } from "./schema";

type Field = [name: string, type: string, repeated: number];
type Table = Record<number, Field> & { enum?: Record<number, string> };
const tables = schema as unknown as Record<string, Table>;

export class Reader {
  at = 0;
  constructor(
    readonly bytes: Uint8Array,
    readonly end = bytes.length,
  ) {}
  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.at >= this.end) throw new Error("cut off");
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error("a number of more than 10 bytes");
  }
  chunk(): Uint8Array {
    const size = Number(this.varint());
    if (this.at + size > this.end) throw new Error("cut off");
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }
  fixed(size: number): DataView {
    if (this.at + size > this.end) throw new Error("cut off");
    this.at += size;
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.at - size, size);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function timestamp(bytes: Uint8Array): string {
  const reader = new Reader(bytes);
  let seconds = 0;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    const value = Number(BigInt.asIntN(64, reader.varint()));
    if (tag === 8n) seconds = value;
  }
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

function scalar(reader: Reader, type: string): unknown {
  switch (type) {
    case "string":
      return utf8.decode(reader.chunk());
    case "bytes":
      return base64(reader.chunk());
    case "bool":
      return reader.varint() !== 0n;
    case "double":
      return reader.fixed(8).getFloat64(0, true);
    case "uint32":
    case "int32":
      return Number(reader.varint());
    case "uint64":
      return reader.varint().toString();
    case "int64":
      return BigInt.asIntN(64, reader.varint()).toString();
    case "Timestamp":
      return timestamp(reader.chunk());
    default: {
      const table = tables[type];
      if (!table.enum) return message(reader.chunk(), type);
      const number = Number(reader.varint());
      return table.enum[number] ?? number;
    }
  }
}
const WIRE: Record<string, number> = { string: 2, bytes: 2, double: 1, Timestamp: 2 };
const wireOf = (type: string) => WIRE[type] ?? (tables[type] && !tables[type].enum ? 2 : 0);

function skip(reader: Reader, wire: number) {
  if (wire === 0) reader.varint();
  else if (wire === 1) reader.fixed(8);
  else if (wire === 2) reader.chunk();
  else if (wire === 5) reader.fixed(4);
  else throw new Error(`wire type ${wire}`);
}

function message(bytes: Uint8Array, type: string): Record<string, unknown> {
  const reader = new Reader(bytes);
  const value: Record<string, unknown> = {};
  const listed = (name: string) => (value[name] ??= []) as unknown[];
  while (reader.at < reader.end) {
    const tag = Number(reader.varint());
    const [number, wire] = [tag >>> 3, tag & 7];
    const field = tables[type][number];
    if (!field) {
      const from = reader.at;
      skip(reader, wire);
      // A later version's: shown raw, never left out.
      const raw = hex(bytes.subarray(from, reader.at)).slice(0, 200);
      listed("unknownFields").push(`${number}: ${raw}`);
      continue;
    }
    const [name, kind, repeated] = field;
    if (repeated && wire === 2 && wireOf(kind) !== 2) {
      const packed = new Reader(reader.chunk());
      while (packed.at < packed.end) listed(name).push(scalar(packed, kind));
    } else if (repeated) {
      listed(name).push(scalar(reader, kind));
    } else {
      if (wire !== wireOf(kind)) throw new Error(`${name}: wire type ${wire}`);
      value[name] = scalar(reader, kind);
    }
  }
  return value;
}

export type Decoded = LedgerEntry & { unknownFields?: string[] };
export const decodeEntry = (bytes: Uint8Array) => message(bytes, "LedgerEntry") as Decoded;
