// The tree of a log (docs/formats.md, section 1; RFC 6962, section 2.1), and its proofs (RFC 9162,
// sections 2.1.3.2 and 2.1.4.2).
import { sha256, sha256Into } from "./sha256";

export const same = (a: Uint8Array, b: Uint8Array) =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

const pair = new Uint8Array(65);
pair[0] = 1;
function nodeInto(
  left: Uint8Array,
  leftAt: number,
  right: Uint8Array,
  rightAt: number,
  out: Uint8Array,
  at: number,
) {
  for (let i = 0; i < 32; i++) {
    pair[1 + i] = left[leftAt + i];
    pair[33 + i] = right[rightAt + i];
  }
  sha256Into(pair, 0, 65, out, at);
}
export function node(left: Uint8Array, right: Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  nodeInto(left, 0, right, 0, out, 0);
  return out;
}

let scratch = new Uint8Array(1 << 12);
// leaf = SHA-256(0x00 ‖ bytes[from, to))
export function leafInto(bytes: Uint8Array, from: number, to: number, out: Uint8Array, at: number) {
  const size = to - from;
  if (scratch.length < size + 1) scratch = new Uint8Array(2 * size + 1);
  scratch[0] = 0;
  for (let i = 0; i < size; i++) scratch[i + 1] = bytes[from + i];
  sha256Into(scratch, 0, size + 1, out, at);
}
export function leaf(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  leafInto(bytes, 0, bytes.length, out, 0);
  return out;
}

// The roots of the perfect subtrees of the leaves so far. Memory is 64 hashes, whatever the size.
export class Frontier {
  size = 0;
  private readonly hashes = new Uint8Array(32 * 64);
  private held = 0; // hashes
  readonly next = new Uint8Array(32); // put the leaf's hash here, then call add()
  add() {
    this.hashes.set(this.next, 32 * this.held);
    this.held++;
    for (let n = ++this.size; n % 2 === 0; n = n / 2) {
      this.held--;
      nodeInto(
        this.hashes,
        32 * (this.held - 1),
        this.hashes,
        32 * this.held,
        this.hashes,
        32 * (this.held - 1),
      );
    }
  }
  addLeaf(hash: Uint8Array) {
    this.next.set(hash);
    this.add();
  }
  root(): Uint8Array {
    if (this.held === 0) return sha256(new Uint8Array(0));
    let root: Uint8Array = this.hashes.slice(32 * (this.held - 1), 32 * this.held);
    for (let i = this.held - 2; i >= 0; i--)
      root = node(this.hashes.subarray(32 * i, 32 * i + 32), root);
    return root;
  }
}

export function rootFromInclusion(
  hash: Uint8Array,
  index: bigint,
  size: bigint,
  proof: Uint8Array[],
): Uint8Array | null {
  if (index >= size) return null;
  let fn = index;
  let sn = size - 1n;
  let root = hash;
  for (const step of proof) {
    if (sn === 0n || step.length !== 32) return null;
    if (fn & 1n || fn === sn) {
      root = node(step, root);
      while (!(fn & 1n) && fn !== 0n) {
        fn >>= 1n;
        sn >>= 1n;
      }
    } else root = node(root, step);
    fn >>= 1n;
    sn >>= 1n;
  }
  return sn === 0n ? root : null;
}

// Whether the tree of oldSize leaves with oldRoot is the beginning of the one of newSize with
// newRoot.
export function consistent(
  oldSize: bigint,
  oldRoot: Uint8Array,
  newSize: bigint,
  newRoot: Uint8Array,
  proof: Uint8Array[],
): boolean {
  if (oldSize > newSize) return false;
  if (oldSize === newSize) return proof.length === 0 && same(oldRoot, newRoot);
  if (oldSize === 0n) return proof.length === 0;
  const path = (oldSize & (oldSize - 1n)) === 0n ? [oldRoot, ...proof] : proof;
  if (path.length === 0 || path.some((step) => step.length !== 32)) return false;
  let fn = oldSize - 1n;
  let sn = newSize - 1n;
  while (fn & 1n) {
    fn >>= 1n;
    sn >>= 1n;
  }
  let [first, second] = [path[0], path[0]];
  for (const step of path.slice(1)) {
    if (sn === 0n) return false;
    if (fn & 1n || fn === sn) {
      first = node(step, first);
      second = node(step, second);
      while (!(fn & 1n) && fn !== 0n) {
        fn >>= 1n;
        sn >>= 1n;
      }
    } else second = node(second, step);
    fn >>= 1n;
    sn >>= 1n;
  }
  return sn === 0n && same(first, oldRoot) && same(second, newRoot);
}
