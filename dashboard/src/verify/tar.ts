// The members of a bundle (docs/formats.md, section 6.1), in order, out of a file that may be
// larger than memory. Every header must be, byte for byte, the one that its name and size give.
import { grouped } from "../text/numbers";
import { Difference } from "./note";
import { Lost } from "./source";

const ascii = new TextEncoder();
export function headerOf(name: string, size: number): Uint8Array {
  const block = new Uint8Array(512);
  const put = (at: number, text: string) => block.set(ascii.encode(text), at);
  put(0, name);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${size.toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0");
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\x0000");
  put(329, "0000000\0");
  put(337, "0000000\0");
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

export const noBundle = (why: string) =>
  new Lost(
    why,
    "This file is no bundle",
    "Nothing in it was checked: it says nothing of any ledger. dpledger ledger export writes one.",
  );
const MOST = 2 ** 33; // bytes of a member: 11 octal digits

export class TarReader {
  private rest = new Uint8Array(0);
  private read = 0; // bytes taken
  private name = ""; // of the member that is read
  private readonly reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  constructor(private readonly file: Blob) {
    this.reader = file.stream().getReader();
  }
  private async more(): Promise<boolean> {
    if (this.rest.length) return true;
    try {
      const { done, value } = await this.reader.read();
      if (value) this.rest = value;
      return !done;
    } catch {
      throw new Lost("the browser can no longer read the file: it was changed or taken away");
    }
  }
  private cutOff() {
    const where = this.name ? `in ${this.name}` : "at its beginning";
    const at = `The file ends after ${grouped(this.read)} bytes, ${where}`;
    const why = "It was cut, or is still being written: get it again";
    return new Lost(`${at}. ${why}`, "This bundle is cut off");
  }
  // `size` bytes; without `out` they are passed over.
  private async take(size: number, out?: Uint8Array, passed?: (bytes: number) => void) {
    for (let at = 0; at < size;) {
      if (!(await this.more())) throw this.cutOff();
      const n = Math.min(size - at, this.rest.length);
      out?.set(this.rest.subarray(0, n), at);
      this.rest = this.rest.subarray(n);
      at += n;
      this.read += n;
      passed?.(n);
    }
  }
  private async bytes(size: number): Promise<Uint8Array<ArrayBuffer>> {
    const out = new Uint8Array(size);
    await this.take(size, out);
    return out;
  }
  // The next member's name and size; null at the end. Its content must be taken before the next
  // one.
  async next(): Promise<{ name: string; size: number } | null> {
    const first = this.read === 0;
    if (first && this.file.size < 512) {
      throw noBundle(this.file.size ? "It is shorter than any bundle" : "It is empty");
    }
    const header = await this.bytes(512);
    if (header.every((byte) => byte === 0) && !first) {
      const second = await this.bytes(512);
      if (second.every((byte) => byte === 0) && !(await this.more())) return null;
      throw new Difference("something follows the end of the bundle");
    }
    const name = String.fromCharCode(...header.subarray(0, 100)).replace(/\0.*$/s, "");
    const size = parseInt(String.fromCharCode(...header.subarray(124, 135)), 8);
    const good =
      Number.isSafeInteger(size) && headerOf(name, size).every((byte, i) => byte === header[i]);
    if (first && !(good && name === "README")) {
      throw noBundle("It does not begin as a bundle does");
    }
    if (!good) throw new Difference(`the header behind ${this.name} was changed`);
    this.name = name;
    return { name, size };
  }
  private async padding(size: number) {
    const padding = await this.bytes((512 - (size % 512)) % 512);
    if (padding.some((byte) => byte !== 0)) throw new Difference("a member's padding is not zero");
  }
  async content(size: number, most: number): Promise<Uint8Array<ArrayBuffer>> {
    if (size > most) throw new Difference("a member of the bundle is too large");
    const content = await this.bytes(size);
    await this.padding(size);
    return content;
  }
  async skip(size: number, passed: (bytes: number) => void) {
    if (size > MOST) throw new Difference("a member of the bundle is too large");
    await this.take(size, undefined, passed);
    await this.padding(size);
  }
}
