// What verifying needs of an entry, read off its bytes without decoding the rest: number, writer,
// the writer's own count, time, and which kind of body it has. A decoder for all of it would take
// longer than the hashes.
interface Scanned {
  sequence: number;
  writer: string;
  counter: number;
  minute: number;
  body: number;
  from: number; // of the body's bytes
  to: number;
}

const out: Scanned = { sequence: 0, writer: "", counter: 0, minute: -1, body: 0, from: 0, to: 0 };
let at = 0;
function varint(bytes: Uint8Array, end: number): number {
  let value = 0;
  let factor = 1;
  for (let i = 0; i < 10; i++) {
    if (at >= end) throw new RangeError("cut off");
    const byte = bytes[at++];
    value += (byte & 127) * factor;
    if (byte < 128) return value;
    factor *= 128;
  }
  throw new RangeError("a number of more than 10 bytes");
}

let lastWriter = new Uint8Array(0);
let lastName = "";
function writerOf(bytes: Uint8Array, from: number, to: number): string {
  if (to - from === lastWriter.length) {
    let i = 0;
    while (i < lastWriter.length && lastWriter[i] === bytes[from + i]) i++;
    if (i === lastWriter.length) return lastName;
  }
  lastWriter = bytes.slice(from, to);
  lastName = String.fromCharCode(...lastWriter);
  return lastName;
}

// The same object each time. Throws RangeError if the bytes are no message.
export function scan(bytes: Uint8Array, from: number, end: number): Scanned {
  out.sequence = out.counter = out.body = 0;
  out.writer = "";
  out.minute = -1;
  at = from;
  let before = 0;
  while (at < end) {
    const tag = varint(bytes, end);
    const number = tag >>> 3;
    const wire = tag & 7;
    if (number <= before) throw new RangeError("fields out of order");
    before = number;
    if (wire === 0) {
      const value = varint(bytes, end);
      if (number === 1) out.sequence = value;
      else if (number === 3) out.counter = value;
    } else if (wire === 2) {
      const size = varint(bytes, end);
      const start = at;
      at += size;
      if (at > end) throw new RangeError("cut off");
      if (number === 2) out.writer = writerOf(bytes, start, at);
      else if (number === 6) {
        at = start;
        if (size && varint(bytes, end) === 8) out.minute = varint(bytes, end);
        else out.minute = 0;
        if (at !== start + size) throw new RangeError("a time that is no whole second");
      } else if (number >= 10) {
        if (out.body) throw new RangeError("two bodies");
        [out.body, out.from, out.to] = [number, start, at];
      }
    } else throw new RangeError(`wire type ${wire}`);
  }
  return out;
}
// The text of a note, whose bytes these are.
export function noteText(bytes: Uint8Array, from: number, to: number): string {
  if (from === to) return "";
  at = from;
  if (varint(bytes, to) !== 10) throw new RangeError("no note");
  const size = varint(bytes, to);
  if (at + size !== to) throw new RangeError("a note with more than a text");
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at, to));
}
export const BODY = {
  declaration: 11,
  note: 13,
  seal: 15,
  fork: 17,
  keyRotate: 19,
  import: 20,
  imported: 21,
  registered: 22,
  mapRoot: 27,
};
