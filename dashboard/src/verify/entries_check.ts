// Takes a ledger's entries in order: hashes them, follows the rules that their numbers, times and writers keep, and
// compares every registered root. Needs a few kilobytes, whatever the size.
import { Difference } from "./note";
import type { ChainPoint } from "./registry";
import { BODY, scan } from "./scan";
import { Frontier, leafInto, same } from "./tree";

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const TILE = 256;

export function tileIndex(index: number): string {
  let text = String(index % 1000).padStart(3, "0");
  for (let n = Math.floor(index / 1000); n > 0; n = Math.floor(n / 1000)) text = `x${String(n % 1000).padStart(3, "0")}/${text}`;
  return text;
}
export const tilePath = (level: string, index: number, width: number) => `tile/${level}/${tileIndex(index)}${width < TILE ? `.p/${width}` : ""}`;

export class EntriesCheck {
  readonly tree = new Frontier();
  sealed = false;
  hashMs = 0;
  private minute = 0;
  private readonly writers = new Map<string, number>();
  private point = 0;
  // The hashes of the tiles that are being filled, by level.
  readonly levels: { hashes: Uint8Array; width: number; index: number }[] = [{ hashes: new Uint8Array(32 * TILE), width: 0, index: 0 }];
  readonly tileRoots: Uint8Array[] = []; // of every full tile of leaves
  wrong: Difference | undefined; // the first rule that an entry breaks; the hashes go on

  constructor(private readonly points: ChainPoint[], readonly size: number) {}

  // An entry bundle: each entry behind its length in 16 bits, exactly `width` of them.
  take(bytes: Uint8Array, width: number) {
    const bottom = this.levels[0];
    if (bottom.width === TILE) this.begin(bottom);
    let at = 0;
    for (let i = 0; i < width; i++) {
      const from = at + 2;
      const to = from + bytes[at] * 256 + bytes[at + 1];
      if (!(from <= bytes.length && to <= bytes.length)) throw new Difference("entries", `entry ${this.tree.size} is cut off`, this.tree.size);
      if (!this.wrong) this.rules(bytes, from, to);
      leafInto(bytes, from, to, this.tree.next, 0);
      bottom.hashes.set(this.tree.next, 32 * bottom.width++);
      this.tree.add();
      at = to;
      const point = this.points[this.point];
      if (point && this.tree.size === point.size) {
        const root = this.tree.root();
        // The last one is the signed root, compared at the end.
        if (point.size !== this.size && !same(root, point.root)) throw new Difference("entries", `the first ${point.size} entries are not those that were signed at that size`, point.size - 1, hex(point.root), hex(root));
        this.point++;
      }
    }
    if (at !== bytes.length) throw new Difference("entries", `something follows entry ${this.tree.size - 1} in its tile`, this.tree.size - 1);
    if (bottom.width === TILE) this.carry(0);
  }
  private begin(level: { width: number; index: number }) {
    level.width = 0;
    level.index++;
  }
  private carry(level: number) {
    const full = this.levels[level];
    const root = new Frontier();
    for (let i = 0; i < TILE; i++) root.addLeaf(full.hashes.subarray(32 * i, 32 * i + 32));
    const above = (this.levels[level + 1] ??= { hashes: new Uint8Array(32 * TILE), width: 0, index: 0 });
    if (above.width === TILE) this.begin(above);
    above.hashes.set(root.root(), 32 * above.width++);
    if (level === 0) this.tileRoots.push(above.hashes.slice(32 * above.width - 32, 32 * above.width));
    if (above.width === TILE) this.carry(level + 1);
  }
  tile(level: number): { path: string; content: Uint8Array } {
    const { hashes, width, index } = this.levels[level];
    return { path: tilePath(String(level), index, width), content: hashes.subarray(0, 32 * width) };
  }

  private rules(bytes: Uint8Array, from: number, to: number) {
    const number = this.tree.size;
    const must = (holds: boolean, what: string) => {
      if (!holds && !this.wrong) this.wrong = new Difference("formed", `entry ${number}: ${what}`, number);
    };
    try {
      const { sequence, writer, counter, minute, body } = scan(bytes, from, to);
      must(sequence === number, `says that it is number ${sequence}`);
      must(minute >= 0 && minute % 60 === 0, "its time is not a whole minute");
      must(minute >= this.minute, "its time is before that of the entry before");
      const before = this.writers.get(writer) ?? 0;
      must(counter === before, `is number ${counter} of its writer, and ${before} was due`);
      const first = body === BODY.declaration || body === BODY.fork || body === BODY.import;
      must(body !== 0, "has no content");
      must((number === 0) === first, number === 0 ? "is no declaration" : "is a second declaration");
      must(body !== BODY.keyRotate && body !== BODY.registered && body !== BODY.mapRoot, "belongs into the registry");
      this.minute = minute;
      this.writers.set(writer, before + 1);
      if (body === BODY.seal) this.sealed = true;
    } catch (error) {
      must(false, `cannot be read: ${(error as Error).message}`);
    }
  }
}
