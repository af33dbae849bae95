// That a ledger's signed head is the registry's latest one of it (docs/formats.md, sections 7 and
// 7.1).
import { joined } from "../api/bytes";
import { Reader } from "../api/decode";
import { Difference, type Note } from "./note";
import { sha256 } from "./sha256";
import { leaf, rootFromInclusion, same } from "./tree";

// An entry of the registry, and that it is one.
export interface Proved {
  entry: Uint8Array;
  index: bigint;
  proof: Uint8Array[];
}
export interface Evidence {
  head: Proved; // the ledger's registration
  map: Proved; // the map's root
  mapPath: Uint8Array;
  points: Uint8Array; // every registration of the ledger, 49 bytes each
}
export interface ChainPoint {
  index: bigint;
  size: number;
  root: Uint8Array;
  state: number; // 1 open, 2 sealed
}
const POINT = 49;

interface Fields {
  sequence: bigint;
  body: number; // the number of its field
  numbers: Map<number, bigint>;
  texts: Map<number, Uint8Array>;
}
export function readRegistryEntry(bytes: Uint8Array): Fields {
  const found: Fields = { sequence: 0n, body: 0, numbers: new Map(), texts: new Map() };
  const outer = new Reader(bytes);
  while (outer.at < outer.end) {
    const tag = Number(outer.varint());
    if (tag === 8) found.sequence = outer.varint();
    else if (tag === 0x32)
      outer.chunk(); // recorded_time
    else if (tag >>> 3 >= 10 && (tag & 7) === 2 && !found.body) {
      found.body = tag >>> 3;
      const inner = new Reader(outer.chunk());
      while (inner.at < inner.end) {
        const field = Number(inner.varint());
        if ((field & 7) === 0) found.numbers.set(field >>> 3, inner.varint());
        else if ((field & 7) === 2) found.texts.set(field >>> 3, inner.chunk());
        else throw new Difference("an entry of the registry cannot be read");
      }
    } else throw new Difference("an entry of the registry has a field that does not belong there");
  }
  return found;
}

// Throws unless the registry has the entry; returns what it says.
export function included({ entry, index, proof }: Proved, registry: Note, what: string): Fields {
  const root = rootFromInclusion(leaf(entry), index, registry.size, proof);
  if (!root || !same(root, registry.root)) {
    throw new Difference(`the proof does not lead from ${what} to the registry's root`);
  }
  const found = readRegistryEntry(entry);
  if (found.sequence !== index) throw new Difference(`${what} says another number than its place`);
  return found;
}

function pointsOf(bytes: Uint8Array): ChainPoint[] {
  if (bytes.length % POINT) throw new Difference("the list of registrations is cut off");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const points: ChainPoint[] = [];
  for (let at = 0; at < bytes.length; at += POINT) {
    const point: ChainPoint = {
      index: view.getBigUint64(at),
      size: Number(view.getBigUint64(at + 8)),
      root: bytes.slice(at + 16, at + 48),
      state: bytes[at + 48],
    };
    const last = points.at(-1) ?? { index: -1n, size: 0, state: 1 };
    const follows = point.index > last.index && point.size > last.size && point.state >= last.state;
    if (!follows || point.state > 2) {
      throw new Difference("the registrations of the ledger contradict each other");
    }
    points.push(point);
  }
  return points;
}

const number64 = (value: bigint) => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
};

function headLeaf(origin: string, points: Uint8Array): { key: Uint8Array; leaf: Uint8Array } {
  let chain: Uint8Array = new Uint8Array(32);
  for (let at = 0; at < points.length; at += POINT) {
    chain = sha256(joined(Uint8Array.of(3), chain, points.subarray(at, at + POINT)));
  }
  const key = sha256(new TextEncoder().encode(origin));
  const count = number64(BigInt(points.length / POINT));
  const last = points.subarray(points.length - POINT);
  return { key, leaf: sha256(joined(Uint8Array.of(2), key, count, last, chain)) };
}

// The root of the map in which the leaf stands at the path's end; null if the bytes are no path.
function mapRootFrom(path: Uint8Array, key: Uint8Array, leafHash: Uint8Array) {
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
    const [left, right] = bit(key, level) ? [sibling, hash] : [hash, sibling];
    hash = sha256(joined(Uint8Array.of(4), left, right));
  }
  return hash;
}

// Throws the first Difference; returns the ledger's registrations, of which the last is its head.
export function checkHead(evidence: Evidence, ledger: Note, registry: Note): ChainPoint[] {
  if (!ledger.origin.startsWith(`${registry.origin}/`)) {
    throw new Difference("the ledger's origin is not of this registry");
  }
  const { head, map, points: chain, mapPath } = evidence;
  const isRoot = (found: Uint8Array | undefined) => !!found && same(found, ledger.root);
  const { body, numbers, texts } = included(head, registry, "the ledger's registration");
  const origin = new TextDecoder().decode(texts.get(1));
  const named = body === 22 && origin === ledger.origin;
  if (!named || numbers.get(2) !== ledger.size || !isRoot(texts.get(3))) {
    throw new Difference("the registry registered another head of this ledger");
  }
  const mapRoot = included(map, registry, "the map's root");
  if (map.index !== registry.size - 1n || mapRoot.body !== 27) {
    throw new Difference("the registry's last entry is not the map's root");
  }
  const points = pointsOf(chain);
  const last = points.at(-1);
  const shown = last?.index === head.index && BigInt(last.size) === ledger.size;
  if (!shown || !isRoot(last.root) || last.state !== Number(numbers.get(4) ?? 0n)) {
    throw new Difference("the last registration is not the one that was shown");
  }
  const { key, leaf } = headLeaf(ledger.origin, chain);
  const root = mapRootFrom(mapPath, key, leaf);
  if (!root || !same(root, mapRoot.texts.get(2) ?? new Uint8Array())) {
    throw new Difference("the map has another head of this ledger");
  }
  return points;
}
