// C2SP signed notes, checkpoints and verifier keys (c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature).
import { sha256 } from "./sha256";
import { same } from "./tree";

export class Difference extends Error {
  constructor(readonly step: string, message: string, readonly entry?: number, readonly expected = "", readonly found = "") {
    super(message);
  }
}
export interface VerifierKey { text: string; name: string; id: string; type: number; bytes: Uint8Array<ArrayBuffer> }
export interface Signature { name: string; id: string; bytes: Uint8Array<ArrayBuffer> }
export interface Note { text: string; origin: string; size: bigint; root: Uint8Array; signatures: Signature[] }

export const LOG_KEY = 1;
export const WITNESS_KEY = 4;
const utf8 = new TextEncoder();
const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// Base 64 in its one spelling.
export function bytesOf(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
  try {
    const plain = atob(text);
    return btoa(plain) === text ? Uint8Array.from(plain, (letter) => letter.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}

export function parseKey(text: string): VerifierKey {
  const parts = text.trim().split("+");
  const bytes = parts.length >= 3 ? bytesOf(parts.slice(2).join("+")) : null;
  const [name, id] = parts;
  if (!bytes || bytes.length !== 33 || !/^[0-9a-f]{8}$/.test(id)) throw new Difference("key", "not a verifier key: NAME+ID+BASE64");
  const named = utf8.encode(`${name}\n`);
  const whole = new Uint8Array(named.length + bytes.length);
  whole.set(named);
  whole.set(bytes, named.length);
  if (hexOf(sha256(whole).subarray(0, 4)) !== id) throw new Difference("key", "the key's id is not that of its bytes");
  return { text: text.trim(), name, id, type: bytes[0], bytes: bytes.slice(1) };
}

export function parseNote(text: string): Note {
  const end = text.lastIndexOf("\n\n");
  if (end < 0 || !text.endsWith("\n") || /[\x00-\x09\x0b-\x1f\x7f]/.test(text)) throw new Difference("note", "not a signed note");
  const body = text.slice(0, end + 1);
  const lines = body.split("\n");
  const root = bytesOf(lines[2] ?? "");
  if (lines.length !== 4 || !lines[0] || !/^(0|[1-9]\d{0,18})$/.test(lines[1]) || root?.length !== 32) throw new Difference("note", "not a checkpoint");
  const signatures = text.slice(end + 2, -1).split("\n").map((line) => {
    const [, name, base64] = /^— ([^ +]+) (\S+)$/.exec(line) ?? [];
    const bytes = base64 ? bytesOf(base64) : null;
    if (!bytes || bytes.length < 5) throw new Difference("note", "not a signature line");
    return { name, id: hexOf(bytes.subarray(0, 4)), bytes: bytes.slice(4) };
  });
  if (signatures.length > 64) throw new Difference("note", "more than 64 signatures");
  return { text: body, origin: lines[0], size: BigInt(lines[1]), root, signatures };
}

// In a secure context the browser's own Ed25519; else, or in a browser without it, one that is fetched.
export type Verify = (key: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>) => Promise<boolean>;
export async function ed25519(fallback: () => Promise<Verify>): Promise<{ verify: Verify; own: boolean }> {
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

// The keys that signed. A wrong signature under a known name and key id refuses the note, whatever others there are.
export async function signersOf(note: Note, keys: VerifierKey[], verify: Verify): Promise<VerifierKey[]> {
  const signers: VerifierKey[] = [];
  for (const { name, id, bytes } of note.signatures) {
    const key = keys.find((one) => one.name === name && one.id === id);
    if (!key) continue;
    // A witness signs the time too, which stands before its signature.
    const timeBytes = key.type === WITNESS_KEY ? 8 : 0;
    let good = bytes.length === timeBytes + 64;
    if (good) {
      const time = timeBytes ? new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0) : 0n;
      const message = timeBytes ? `cosignature/v1\ntime ${time}\n${note.text}` : note.text;
      good = await verify(key.bytes, utf8.encode(message), bytes.slice(timeBytes));
    }
    if (!good) throw new Difference("signature", `the signature by key ${id} is not one of this note`);
    if (!signers.some((one) => same(one.bytes, key.bytes))) signers.push(key);
  }
  return signers;
}
