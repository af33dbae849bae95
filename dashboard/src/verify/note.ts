// C2SP signed notes, checkpoints and verifier keys (c2sp.org/signed-note, tlog-checkpoint,
// tlog-cosignature).
import { hex, joined, strictBase64 } from "../api/bytes";
import { sha256 } from "./sha256";
import { same } from "./tree";

export class Difference extends Error {
  constructor(
    message: string,
    readonly expected = "",
    readonly found = "",
  ) {
    super(message);
  }
}
export interface VerifierKey {
  text: string;
  name: string;
  id: string;
  type: number;
  bytes: Uint8Array<ArrayBuffer>;
}
interface Signature {
  name: string;
  id: string;
  bytes: Uint8Array<ArrayBuffer>;
}
export interface Note {
  text: string; // all of it, with its signatures
  body: string;
  origin: string;
  size: bigint;
  root: Uint8Array;
  signatures: Signature[];
}

export const LOG_KEY = 1;
export const WITNESS_KEY = 4;
const utf8 = new TextEncoder();

// Throws why a text is none, as the rest of "This key is …".
export function parseKey(text: string): VerifierKey {
  const [name, id = "", ...rest] = text.trim().split("+");
  const bytes = strictBase64(rest.join("+"));
  if (!name || !rest.length || /\s/.test(text.trim())) {
    throw new Difference("no key: a key reads NAME+ID+BASE64");
  }
  if (bytes?.length !== 33 || !/^[0-9a-f]{8}$/.test(id)) {
    throw new Difference("cut or mistyped: an id of 8 digits and 33 bytes of base 64 end a key");
  }
  if (hex(sha256(joined(utf8.encode(`${name}\n`), bytes)).subarray(0, 4)) !== id) {
    throw new Difference("mistyped: its name, id and bytes do not belong together");
  }
  return { text: text.trim(), name, id, type: bytes[0], bytes: bytes.slice(1) };
}
// The keys that came along with a ledger.
export const parseKeys = (texts: string[]) =>
  texts.map((text, i) => {
    try {
      return parseKey(text);
    } catch (error) {
      throw new Difference(`key ${i + 1} that came along is ${(error as Error).message}`);
    }
  });
// Of a reader: a key a line. A slip of the reader's is no word about any ledger.
export function givenKeys(text: string): { keys: VerifierKey[]; faults: string[] } {
  const keys: VerifierKey[] = [];
  const faults: string[] = [];
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    try {
      const key = parseKey(line);
      if (key.type === LOG_KEY || key.type === WITNESS_KEY) keys.push(key);
      else faults.push(`Line ${i + 1} is neither a log’s nor a witness’s key.`);
    } catch (error) {
      faults.push(`Line ${i + 1} is ${(error as Error).message}.`);
    }
  });
  return { keys, faults };
}

function parseSignature(line: string): Signature {
  const [, name, base64] = /^— ([^ +]+) (\S+)$/.exec(line) ?? [];
  const bytes = base64 ? strictBase64(base64) : null;
  if (!bytes || bytes.length < 5) throw new Difference("not a signature line");
  return { name, id: hex(bytes.subarray(0, 4)), bytes: bytes.slice(4) };
}
export function parseNote(text: string): Note {
  const end = text.lastIndexOf("\n\n");
  if (end < 0 || !text.endsWith("\n") || /[\x00-\x09\x0b-\x1f\x7f]/.test(text)) {
    throw new Difference("not a signed note");
  }
  const body = text.slice(0, end + 1);
  const lines = /^([^\n]+)\n(0|[1-9]\d{0,18})\n([^\n]*)\n$/.exec(body) ?? [];
  const [, origin, size, base64 = ""] = lines;
  const root = strictBase64(base64);
  if (root?.length !== 32) throw new Difference("not a checkpoint");
  const signatures = text
    .slice(end + 2, -1)
    .split("\n")
    .map(parseSignature);
  if (signatures.length > 64) throw new Difference("more than 64 signatures");
  return { text, body, origin, size: BigInt(size), root, signatures };
}

type Bytes = Uint8Array<ArrayBuffer>;
export type Verify = (key: Bytes, message: Bytes, signature: Bytes) => Promise<boolean>;
interface Ed25519 {
  verify: Verify;
  own: boolean; // of this page, not of the browser
}
// In a secure context the browser's own; else, or in a browser without it, one that is fetched.
export async function ed25519(fallback: () => Promise<Verify>): Promise<Ed25519> {
  try {
    await crypto.subtle.importKey("raw", new Uint8Array(32), "Ed25519", false, ["verify"]);
    return {
      own: false,
      verify: async (key, message, signature) => {
        const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
        return crypto.subtle.verify("Ed25519", imported, signature, message);
      },
    };
  } catch {
    return { own: true, verify: await fallback() };
  }
}

// The keys that signed. A wrong signature under a known name and key id refuses the note, whatever
// others there are.
export async function signersOf(note: Note, keys: VerifierKey[], verify: Verify) {
  const signers: VerifierKey[] = [];
  for (const { name, id, bytes } of note.signatures) {
    const key = keys.find((one) => one.name === name && one.id === id);
    if (!key) continue;
    // A witness signs the time too, which stands before its signature.
    const timeBytes = key.type === WITNESS_KEY ? 8 : 0;
    let good = bytes.length === timeBytes + 64;
    if (good) {
      const time = timeBytes ? new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0) : 0n;
      const message = timeBytes ? `cosignature/v1\ntime ${time}\n${note.body}` : note.body;
      good = await verify(key.bytes, utf8.encode(message), bytes.slice(timeBytes));
    }
    if (!good) throw new Difference(`the signature by key ${id} is not one of this note`);
    if (!signers.some((one) => same(one.bytes, key.bytes))) signers.push(key);
  }
  return signers;
}
