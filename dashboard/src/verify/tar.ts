// The members of a bundle (docs/formats.md, section 6.1), in order, out of a file that may be
// larger than memory. Every header must be, byte for byte, the one that its name and size give.
import { Difference } from "./note";

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

export class TarReader {
  private rest = new Uint8Array(0);
  private readonly reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  constructor(file: Blob) {
    this.reader = file.stream().getReader();
  }
  private async take(size: number, keep: boolean): Promise<Uint8Array<ArrayBuffer>> {
    const out = new Uint8Array(keep ? size : 0);
    let at = 0;
    while (at < size) {
      if (this.rest.length === 0) {
        const { done, value } = await this.reader.read();
        if (done) throw new Difference("the file is cut off");
        this.rest = value;
      }
      const n = Math.min(size - at, this.rest.length);
      if (keep) out.set(this.rest.subarray(0, n), at);
      this.rest = this.rest.subarray(n);
      at += n;
    }
    return out;
  }
  // The next member's name and size; null at the end. Its content must be taken before the next
  // one.
  async next(): Promise<{ name: string; size: number } | null> {
    const header = await this.take(512, true);
    if (header.every((byte) => byte === 0)) {
      const second = await this.take(512, true);
      const ends = second.every((byte) => byte === 0) && !this.rest.length;
      if (ends && (await this.reader.read()).done) return null;
      throw new Difference("something follows the end of the bundle");
    }
    const name = String.fromCharCode(...header.subarray(0, 100)).replace(/\0.*$/s, "");
    const size = parseInt(String.fromCharCode(...header.subarray(124, 135)), 8);
    if (Number.isSafeInteger(size) && headerOf(name, size).every((byte, i) => byte === header[i])) {
      return { name, size };
    }
    throw new Difference(
      "this file is not a bundle of dpledger, or one of its headers was changed",
    );
  }
  async content(size: number, most: number, keep = true): Promise<Uint8Array<ArrayBuffer>> {
    if (size > most) throw new Difference("a member of the bundle is too large");
    const content = await this.take(size, keep);
    const padding = await this.take((512 - (size % 512)) % 512, true);
    if (padding.some((byte) => byte !== 0)) throw new Difference("a member's padding is not zero");
    return content;
  }
}
