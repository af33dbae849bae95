// Takes a ledger's entries in order: hashes them, follows the rules that their numbers, times and
// writers keep, and compares every registered root. Needs a few kilobytes, whatever the size.
import { hex } from "../api/bytes";
import type { DocumentCheck } from "./document_check";
import { Difference } from "./note";
import type { ChainPoint } from "./registry";
import { BODY, scan } from "./scan";
import { Frontier, leafInto, same } from "./tree";

export const TILE = 256;

// Of tile 1234067 "tile/0/x001/x234/067", as tlog-tiles has it.
export function tilePath(level: string | number, index: number, width: number): string {
  const digits = String(index);
  const padded = digits.padStart(3 * Math.ceil(digits.length / 3), "0");
  const place = padded.replace(/(...)(?=.)/g, "x$1/");
  return `tile/${level}/${place}${width < TILE ? `.p/${width}` : ""}`;
}

// The hashes of a tile that is being filled.
interface Tile {
  hashes: Uint8Array;
  width: number;
  index: number;
}
const emptyTile = (): Tile => ({ hashes: new Uint8Array(32 * TILE), width: 0, index: 0 });

export class EntriesCheck {
  readonly tree = new Frontier();
  sealed = false;
  private minute = 0;
  private readonly writers = new Map<string, number>();
  private point = 0;
  readonly levels: Tile[] = [emptyTile()];
  readonly tileRoots: Uint8Array[] = []; // of every full tile of leaves
  rootThen: Uint8Array | undefined; // of the first `then` entries
  wrong: string | undefined; // the first rule that an entry breaks; the hashes go on

  constructor(
    private readonly points: ChainPoint[],
    readonly size: number,
    private readonly document?: DocumentCheck,
    private readonly others: { take(tile: Uint8Array): void }[] = [],
    private readonly then = size,
  ) {}

  // An entry bundle: each entry behind its length in 16 bits, exactly `width` of them.
  take(bytes: Uint8Array, width: number) {
    const bottom = this.levels[0];
    if (bottom.width === TILE) this.begin(bottom);
    let at = 0;
    for (let i = 0; i < width; i++) {
      const from = at + 2;
      const to = from + bytes[at] * 256 + bytes[at + 1];
      if (!(from <= bytes.length && to <= bytes.length)) {
        throw new Difference(`entry ${this.tree.size} is cut off`);
      }
      if (!this.wrong) this.rules(bytes, from, to);
      if (!this.wrong) this.document?.take(bytes, from, to);
      leafInto(bytes, from, to, this.tree.next, 0);
      bottom.hashes.set(this.tree.next, 32 * bottom.width++);
      this.tree.add();
      if (this.tree.size === this.then) this.rootThen = this.tree.root();
      at = to;
      if (this.tree.size === this.points[this.point]?.size) this.compare(this.points[this.point++]);
    }
    if (at !== bytes.length) {
      throw new Difference(`something follows entry ${this.tree.size - 1} in its tile`);
    }
    if (bottom.width === TILE) this.carry(0);
    for (const other of this.others) other.take(bytes);
  }
  // The last point is the signed root, compared at the end.
  private compare({ size, root }: ChainPoint) {
    const found = this.tree.root();
    if (size === this.size || same(found, root)) return;
    const what = `the first ${size} entries are not those that were signed at that size`;
    throw new Difference(what, hex(root), hex(found));
  }
  private begin(level: Tile) {
    level.width = 0;
    level.index++;
  }
  private carry(level: number) {
    const full = this.levels[level];
    const tree = new Frontier();
    for (let i = 0; i < TILE; i++) tree.addLeaf(full.hashes.subarray(32 * i, 32 * i + 32));
    const root = tree.root();
    const above = (this.levels[level + 1] ??= emptyTile());
    if (above.width === TILE) this.begin(above);
    above.hashes.set(root, 32 * above.width++);
    if (level === 0) this.tileRoots.push(root);
    if (above.width === TILE) this.carry(level + 1);
  }
  tile(level: number): { path: string; content: Uint8Array } {
    const { hashes, width, index } = this.levels[level];
    return { path: tilePath(level, index, width), content: hashes.subarray(0, 32 * width) };
  }

  private rules(bytes: Uint8Array, from: number, to: number) {
    const number = this.tree.size;
    const must = (holds: boolean, what: string) => {
      if (!holds) this.wrong ??= `entry ${number}: ${what}`;
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
      must((number === 0) === first, first ? "is a second declaration" : "is no declaration");
      const ofRegistry = [BODY.keyRotate, BODY.registered, BODY.mapRoot].includes(body);
      must(!ofRegistry, "belongs into the registry");
      this.minute = minute;
      this.writers.set(writer, before + 1);
      if (body === BODY.seal) this.sealed = true;
    } catch (error) {
      must(false, `cannot be read: ${(error as Error).message}`);
    }
  }
}
