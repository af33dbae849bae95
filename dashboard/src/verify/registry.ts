// That a ledger's signed head is the registry's latest one of it (docs/formats.md, sections 7 and 7.1).
import { Reader } from "../api/decode";
import { Difference, type Note } from "./note";
import { sha256 } from "./sha256";
import { leaf, rootFromInclusion, same } from "./tree";

export interface Evidence { index: bigint; entry: Uint8Array; proof: Uint8Array[]; mapEntry: Uint8Array; mapProof: Uint8Array[]; mapIndex: bigint; mapPath: Uint8Array; points: Uint8Array }
export interface ChainPoint { index: bigint; size: number; root: Uint8Array; state: number }
const POINT = 49;

interface Fields { sequence: bigint; recorded: boolean; numbers: Map<number, bigint>; texts: Map<number, Uint8Array>; body: number }
export function readRegistryEntry(bytes: Uint8Array): Fields {
  const found: Fields = { sequence: 0n, recorded: false, numbers: new Map(), texts: new Map(), body: 0 };
  const outer = new Reader(bytes);
  while (outer.at < outer.end) {
    const tag = Number(outer.varint());
    if (tag === 8) found.sequence = outer.varint();
    else if (tag === 0x32) {
      outer.chunk();
      found.recorded = true;
    } else if (tag >>> 3 >= 10 && (tag & 7) === 2 && !found.body) {
      found.body = tag >>> 3;
      const inner = new Reader(outer.chunk());
      while (inner.at < inner.end) {
        const field = Number(inner.varint());
        if ((field & 7) === 0) found.numbers.set(field >>> 3, inner.varint());
        else if ((field & 7) === 2) found.texts.set(field >>> 3, inner.chunk());
        else throw new Difference("registry", "an entry of the registry cannot be read");
      }
    } else throw new Difference("registry", "an entry of the registry has a field that does not belong there");
  }
  return found;
}

export function included(entry: Uint8Array, index: bigint, proof: Uint8Array[], registry: Note, what: string) {
  const root = rootFromInclusion(leaf(entry), index, registry.size, proof);
  if (!root || !same(root, registry.root)) throw new Difference("registry", `the proof does not lead from ${what} to the registry's root`);
  if (readRegistryEntry(entry).sequence !== index) throw new Difference("registry", `${what} says another number than its place`);
}

export function pointsOf(bytes: Uint8Array): ChainPoint[] {
  if (bytes.length % POINT) throw new Difference("registry", "the list of registrations is cut off");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const points: ChainPoint[] = [];
  for (let at = 0; at < bytes.length; at += POINT) {
    const point = { index: view.getBigUint64(at), size: Number(view.getBigUint64(at + 8)), root: bytes.slice(at + 16, at + 48), state: bytes[at + 48] };
    const last = points[points.length - 1];
    if (!point.size || point.state < 1 || point.state > 2 || (last && (point.index <= last.index || point.size <= last.size || (last.state === 2 && point.state === 1)))) throw new Difference("registry", "the registrations of the ledger contradict each other");
    points.push(point);
  }
  return points;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
const number64 = (value: bigint) => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
};

export function headLeaf(origin: string, points: Uint8Array): { key: Uint8Array; leaf: Uint8Array } {
  let chain: Uint8Array = new Uint8Array(32);
  for (let at = 0; at < points.length; at += POINT) chain = sha256(joined(Uint8Array.of(3), chain, points.subarray(at, at + POINT)));
  const key = sha256(new TextEncoder().encode(origin));
  return { key, leaf: sha256(joined(Uint8Array.of(2), key, number64(BigInt(points.length / POINT)), points.subarray(points.length - POINT), chain)) };
}

// The root of the map in which the leaf stands at the path's end; null if the bytes are no path.
export function mapRootFrom(path: Uint8Array, key: Uint8Array, leafHash: Uint8Array): Uint8Array | null {
  if (path.length < 2) return null;
  const depth = path[0] * 256 + path[1];
  const mask = path.subarray(2, 2 + Math.ceil(depth / 8));
  let siblings = path.subarray(2 + Math.ceil(depth / 8));
  if (depth > 256 || mask.length * 8 < depth) return null;
  const bit = (bytes: Uint8Array, i: number) => (bytes[i >> 3] >> (7 - (i & 7))) & 1;
  let set = 0;
  for (let i = 0; i < mask.length * 8; i++) {
    if (bit(mask, i) && i >= depth) return null;
    set += bit(mask, i);
  }
  if (siblings.length !== 32 * set || (depth > 0 && !bit(mask, 0))) return null;
  const empty = new Uint8Array(32);
  let hash = leafHash;
  for (let i = 0; i < depth; i++) {
    let sibling: Uint8Array = empty;
    if (bit(mask, i)) {
      sibling = siblings.subarray(0, 32);
      siblings = siblings.subarray(32);
      if (same(sibling, empty)) return null;
    }
    const level = depth - 1 - i;
    hash = bit(key, level) ? sha256(joined(Uint8Array.of(4), sibling, hash)) : sha256(joined(Uint8Array.of(4), hash, sibling));
  }
  return hash;
}

// Throws the first Difference; returns the ledger's registrations and its state.
export function checkHead(evidence: Evidence, ledger: Note, registry: Note): { points: ChainPoint[]; state: number } {
  if (!ledger.origin.startsWith(`${registry.origin}/`)) throw new Difference("registry", "the ledger's origin is not of this registry");
  included(evidence.entry, evidence.index, evidence.proof, registry, "the ledger's registration");
  const entry = readRegistryEntry(evidence.entry);
  const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes ?? new Uint8Array());
  if (entry.body !== 22 || text(entry.texts.get(1)) !== ledger.origin || entry.numbers.get(2) !== ledger.size || !same(entry.texts.get(3) ?? new Uint8Array(), ledger.root)) {
    throw new Difference("registry", "the registry registered another head of this ledger");
  }
  const state = Number(entry.numbers.get(4) ?? 0n);
  if (!evidence.mapEntry.length) throw new Difference("map", "the registry's map of heads is missing");
  included(evidence.mapEntry, evidence.mapIndex, evidence.mapProof, registry, "the map's root");
  if (evidence.mapIndex !== registry.size - 1n) throw new Difference("registry", "the map's root is not the registry's last entry");
  const map = readRegistryEntry(evidence.mapEntry);
  if (map.body !== 27) throw new Difference("registry", "the registry's last entry is not the map's root");
  const points = pointsOf(evidence.points);
  const last = points[points.length - 1];
  if (!last || last.index !== evidence.index || BigInt(last.size) !== ledger.size || !same(last.root, ledger.root) || last.state !== state) throw new Difference("registry", "the last registration is not the one that was shown");
  const head = headLeaf(ledger.origin, evidence.points);
  const root = mapRootFrom(evidence.mapPath, head.key, head.leaf);
  if (!root || !same(root, map.texts.get(2) ?? new Uint8Array())) throw new Difference("registry", "the map has another head of this ledger");
  return { points, state };
}
