// All checks of one ledger, in order, each reported by itself. A check holds, fails, or could not be made; after a
// failure those that need it are not made, and say so.
import { fromBase64 } from "../api/decode";
import { EntriesCheck, tilePath } from "./entries_check";
import { bytesOf, Difference, ed25519, LOG_KEY, parseKey, parseNote, signersOf, WITNESS_KEY, type Note, type Verify, type VerifierKey } from "./note";
import { checkHead, included, readRegistryEntry, type Evidence } from "./registry";
import { TarReader } from "./tar";
import { consistent, leaf, same } from "./tree";

export type Outcome = "held" | "failed" | "none" | "unfinished";
export type CheckId = "signature" | "entries" | "formed" | "registry" | "history" | "key" | "witness";
export interface Check { id: CheckId; outcome: Outcome; title: string; text: string; ms?: number; bytes?: number; entry?: number; expected?: string; found?: string }
export interface Seen { size: string; root: string; time: number; key: string; firstSeen: number }
export interface Job {
  // One of the two.
  server?: { base: string; ledger: string; headers: Record<string, string> };
  file?: Blob;
  keys: string; // verifier keys that the reader brought, a line each
  seen?: Record<string, Seen>; // by origin
}
export interface End { ledger: string; origin: string; size: string; root: string; registrySize: string; registryRoot: string; key: string; note: string; registryNote: string; ms: number; bytes: number; own: boolean; sealed: boolean }
export type Message = { type: "check"; check: Check } | { type: "progress"; done: number; total: number; bytes: number } | { type: "end"; end: End };

const TITLES: Record<CheckId, string> = { signature: "Signature", entries: "All entries", formed: "Well formed", registry: "In the registry", history: "Same history as before", key: "Key", witness: "Witness" };
const ORDER: CheckId[] = ["signature", "registry", "entries", "formed", "history", "key", "witness"];
const MOST_ANSWER = 64 << 20;
const AHEAD = 5; // of the six connections that a browser opens; the sixth is the page's own
const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const short = (bytes: Uint8Array) => `${hex(bytes).slice(0, 8)}…${hex(bytes).slice(-4)}`;
const grouped = (n: number | bigint | string) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

class Lost extends Error {}
class Denied extends Lost {}

// The two places that a ledger's evidence comes from.
interface Source {
  opening(): Promise<{ ledger: Note; registry: Note; ledgerText: string; registryText: string; keys: VerifierKey[]; evidence: Evidence }>;
  entries(check: EntriesCheck, progress: (bytes: number) => void): Promise<void>;
  consistency?(from: bigint, to: bigint): Promise<Uint8Array[]>;
  firstWrong?(check: EntriesCheck): Promise<number | undefined>;
}

class FromServer implements Source {
  constructor(private readonly at: NonNullable<Job["server"]>) {}
  private async get(path: string, body?: unknown): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(this.at.base + path, { method: body ? "POST" : "GET", headers: { ...this.at.headers, ...(body ? { "content-type": "application/json" } : {}) }, body: body ? JSON.stringify(body) : undefined, cache: "no-store" });
    } catch {
      throw new Lost("the connection was lost");
    }
    if (!answer.ok) {
      const said = await answer.text().catch(() => "");
      let [code, message] = ["", said.slice(0, 300)];
      try {
        ({ code = "", message = said } = JSON.parse(said) as { code?: string; message?: string });
      } catch { /* a line of text */ }
      // No lost connection: the server found that what it keeps is not what it signed. (A file's refusal has no code.)
      if (code === "data_loss" || (answer.status === 500 && path.startsWith("/tlog/"))) throw new Difference("entries", `the server cannot show what it signed: ${message.trim()}`);
      throw new (answer.status === 403 ? Denied : Lost)(`the server answered ${answer.status}: ${message}`);
    }
    if (Number(answer.headers.get("content-length") ?? 0) > MOST_ANSWER) throw new Difference("format", "an answer is too large");
    return answer;
  }
  private call = async (method: string, body: unknown) => (await this.get(`/dpledger.v1.AuditService/${method}`, body)).json();
  async opening() {
    const answer = await this.call("GetCheckpoint", { log: this.at.ledger });
    const registryText: string = answer.registry?.note ?? "";
    const [ledger, registry] = [parseNote(answer.note ?? ""), parseNote(registryText)];
    const one = (text: string | undefined) => bytesOf(text ?? "") ?? new Uint8Array();
    const many = (texts: string[] | undefined) => (texts ?? []).map(one);
    const parts: Uint8Array[] = [];
    let got = 0;
    for (let total = 1; got < total;) {
      const page = await this.call("ListRegistrations", { log: this.at.ledger, registrySize: String(registry.size), first: String(got) });
      total = Number(page.total ?? 0);
      const points = one(page.points);
      if (!points.length) break;
      parts.push(points);
      got += points.length / 49;
    }
    const points = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (points.set(part, at), at + part.length), 0);
    const keys = ((answer.verifierKeys ?? []) as string[]).map(parseKey);
    const evidence: Evidence = { index: BigInt(answer.registry?.index ?? 0), entry: one(answer.registry?.entry), proof: many(answer.registry?.proof), mapEntry: one(answer.registry?.mapEntry), mapProof: many(answer.registry?.mapProof), mapIndex: registry.size - 1n, mapPath: one(answer.registry?.mapPath), points };
    return { ledger, registry, ledgerText: answer.note as string, registryText, keys, evidence };
  }
  // By ReadEntries, 1 MiB at a time: 10^6 entries are 4,000 tiles, and a browser takes 2 ms for each. Whoever may not read
  // entries by that call may still fetch the tiles.
  async entries(check: EntriesCheck, progress: (bytes: number) => void) {
    const page = async (first: number) => (await this.page(first, 10000)).json();
    let coming: Promise<{ entries?: string[] } | Error> = page(0).catch((error: Error) => error);
    let bundle = new Uint8Array(1 << 16);
    let [used, width] = [0, 0];
    for (let read = 0; read < check.size;) {
      const got = await coming;
      if (got instanceof Error) {
        if (got instanceof Denied && read === 0) return this.tiles(check, progress);
        throw got;
      }
      const entries = (got.entries ?? []).slice(0, check.size - read);
      if (!entries.length) throw new Difference("entries", `the server sent ${grouped(read)} entries of ${grouped(check.size)}`, read);
      read += entries.length;
      if (read < check.size) coming = page(read).catch((error: Error) => error); // while these are hashed
      let bytes = 0;
      for (const text of entries) {
        const entry = fromBase64(text);
        if (entry.length > 65535) throw new Difference("entries", "an entry is larger than an entry may be", check.tree.size + width);
        if (used + 2 + entry.length > bundle.length) {
          const larger = new Uint8Array(2 * bundle.length + entry.length);
          larger.set(bundle.subarray(0, used));
          bundle = larger;
        }
        bundle[used] = entry.length >> 8;
        bundle[used + 1] = entry.length & 255;
        bundle.set(entry, used + 2);
        used += 2 + entry.length;
        bytes += entry.length;
        if (++width === 256 || check.tree.size + width === check.size) {
          check.take(bundle.subarray(0, used), width);
          used = width = 0;
        }
      }
      progress(bytes);
    }
  }
  private page = (first: number, most: number) => this.get("/dpledger.v1.LedgerService/ReadEntries", { ledger: this.at.ledger, firstSequence: String(first), pageSize: most });
  private async tiles(check: EntriesCheck, progress: (bytes: number) => void) {
    const tiles = Math.ceil(check.size / 256);
    const fetchTile = async (n: number) => {
      const path = tilePath("entries", n, Math.min(256, check.size - 256 * n));
      return new Uint8Array(await (await this.get(`/tlog/${this.at.ledger}/${path}`)).arrayBuffer());
    };
    // A few ahead of the hashing; a failure is met where it belongs.
    const ahead: Promise<Uint8Array | Error>[] = [];
    const start = (n: number) => n < tiles && ahead.push(fetchTile(n).catch((error: Error) => error));
    for (let n = 0; n < AHEAD; n++) start(n);
    for (let n = 0; n < tiles; n++) {
      const got = await ahead.shift()!;
      start(n + AHEAD);
      if (got instanceof Error) throw got;
      check.take(got, Math.min(256, check.size - 256 * n));
      progress(got.length);
    }
  }
  // The first entry that differs from the hashes which the server keeps of it: no proof, but a place to look at.
  async firstWrong(check: EntriesCheck) {
    const tile = async (level: string, index: number, width: number) => new Uint8Array(await (await this.get(`/tlog/${this.at.ledger}/${tilePath(level, index, width)}`)).arrayBuffer());
    const full = check.tileRoots.length;
    let wrong = full; // of the last tile, which is not full, the server keeps no hashes
    for (let first = 0; first < full && wrong === full; first += 256) {
      const width = Math.min(256, full - first);
      const stored = await tile("1", first / 256, width);
      const found = check.tileRoots.slice(first, first + width).findIndex((root, i) => !same(root, stored.subarray(32 * i, 32 * i + 32)));
      if (found >= 0) wrong = first + found;
    }
    if (wrong === full) return undefined;
    const stored = await tile("0", wrong, 256);
    const { entries = [] } = (await (await this.page(256 * wrong, 256)).json()) as { entries?: string[] };
    const found = entries.findIndex((text, i) => !same(leaf(fromBase64(text)), stored.subarray(32 * i, 32 * i + 32)));
    return found < 0 ? undefined : 256 * wrong + found;
  }
  async consistency(from: bigint, to: bigint) {
    const answer = await this.call("GetConsistencyProof", { oldSize: String(from), newSize: String(to) });
    return ((answer.proof ?? []) as string[]).map((text) => bytesOf(text) ?? new Uint8Array());
  }
}

class FromBundle implements Source {
  private readonly tar: TarReader;
  constructor(file: Blob) {
    this.tar = new TarReader(file);
  }
  private async member(wanted: string, most: number): Promise<Uint8Array<ArrayBuffer>> {
    const found = await this.tar.next();
    if (found?.name !== wanted) throw new Difference(found?.name === "checkpoint" && wanted === "registry/map/entry" ? "map" : "format", `${wanted} is missing from the bundle`);
    return this.tar.content(found.size, most);
  }
  private text = async (wanted: string) => new TextDecoder("utf-8", { fatal: true }).decode(await this.member(wanted, 2 << 20));
  private async proof(wanted: string, checkpoint: string): Promise<{ index: bigint; hashes: Uint8Array[] }> {
    const text = await this.text(wanted);
    const end = text.indexOf("\n\n");
    const lines = text.slice(0, end).split("\n");
    if (lines[0] !== "c2sp.org/tlog-proof@v1" || text.slice(end + 2) !== checkpoint) throw new Difference("registry", `${wanted} is no proof of the bundle's checkpoint`);
    if (lines[1]?.startsWith("extra ")) lines.splice(1, 1);
    const index = /^index (0|[1-9]\d{0,18})$/.exec(lines[1] ?? "");
    const hashes = lines.slice(2).map(bytesOf);
    if (!index || hashes.some((hash) => hash?.length !== 32)) throw new Difference("registry", `${wanted} is not a proof`);
    return { index: BigInt(index[1]), hashes: hashes as Uint8Array[] };
  }
  async opening() {
    await this.member("README", 1 << 20);
    const lines = (await this.text("keys")).split("\n");
    if (lines.pop() !== "" || lines.length < 1 || lines.length > 256 || new Set(lines).size !== lines.length) throw new Difference("format", "the list of keys is not one");
    const keys = lines.map(parseKey);
    const registryText = await this.text("registry/checkpoint");
    const registry = parseNote(registryText);
    let before = -1n;
    for (let i = 0; i < keys.length; i++) {
      const entry = await this.member(`registry/keys/${i}/entry`, 65535);
      const proof = await this.proof(`registry/keys/${i}/proof`, registryText);
      included(entry, proof.index, proof.hashes, registry, `key ${i}`);
      const named = readRegistryEntry(entry);
      if (named.body !== 19 || new TextDecoder().decode(named.texts.get(2)) !== keys[i].text || (i === 0 ? proof.index !== 0n : proof.index <= before)) throw new Difference("registry", `the registry does not name key ${i}`);
      before = proof.index;
    }
    const entry = await this.member("registry/entry", 65535);
    const { index, hashes: proof } = await this.proof("registry/proof", registryText);
    const mapEntry = await this.member("registry/map/entry", 65535);
    const map = await this.proof("registry/map/proof", registryText);
    const mapPath = await this.member("registry/map/path", 8226);
    const points = await this.member("registry/points", 49 << 20);
    const ledgerText = await this.text("checkpoint");
    return { ledger: parseNote(ledgerText), registry, ledgerText, registryText, keys, evidence: { index, entry, proof, mapEntry, mapProof: map.hashes, mapIndex: map.index, mapPath, points } };
  }
  async entries(check: EntriesCheck, progress: (bytes: number) => void) {
    const tile = async (level: number) => {
      const { path, content } = check.tile(level);
      if (!same(await this.member(path, 8192), content)) throw new Difference("entries", `${path} is not what the entries give`);
    };
    for (let n = 0; n * 256 < check.size; n++) {
      const width = Math.min(256, check.size - 256 * n);
      const bytes = await this.member(tilePath("entries", n, width), 256 * 65537);
      check.take(bytes, width);
      await tile(0);
      // A full tile that ends a full one above it.
      for (let level = 0; check.levels[level].width === 256 && check.levels[level + 1]?.width === 256; level++) await tile(level + 1);
      progress(bytes.length);
    }
    for (let level = 1; level < check.levels.length; level++) if (check.levels[level].width < 256) await tile(level);
    for (let found = await this.tar.next(); found; found = await this.tar.next()) {
      if (found.name !== "events.jsonl" && found.name !== "statement.json") throw new Difference("format", "the bundle has a member that does not belong there");
      await this.tar.content(found.size, 2 ** 33, false); // for reading only: nobody signed it
    }
  }
}

export async function check(job: Job, send: (message: Message) => void, fallback: () => Promise<Verify>): Promise<void> {
  const start = performance.now();
  const done = new Set<CheckId>();
  let last = start;
  let total = 0;
  const report = (id: CheckId, outcome: Outcome, text: string, more: Partial<Check> = {}) => {
    if (done.has(id)) return;
    done.add(id);
    const now = performance.now();
    send({ type: "check", check: { id, outcome, title: TITLES[id], text, ms: now - last, ...more } });
    last = now;
  };
  const rest = (why: string) => {
    for (const id of ORDER) report(id, "none", why, { ms: undefined });
  };
  let step: CheckId = "signature";
  let entries: EntriesCheck | undefined;
  try {
    const brought = job.keys.split("\n").map((line) => line.trim()).filter(Boolean).map(parseKey);
    const source: Source = job.server ? new FromServer(job.server) : new FromBundle(job.file!);
    const { verify, own } = await ed25519(fallback);
    const { ledger, registry, ledgerText, registryText, keys, evidence } = await source.opening();
    if (keys.some((key) => key.name !== registry.origin || key.type !== LOG_KEY)) throw new Difference("signature", "a key is named for another registry");
    const trusted = brought.filter((key) => key.type === LOG_KEY);
    // Without a key of the reader's own, those that came along: what is shown then agrees with itself.
    const [signers, registrySigners] = [await signersOf(ledger, [...keys, ...trusted], verify), await signersOf(registry, [...keys, ...trusted], verify)];
    if (!signers.length || !registrySigners.length) throw new Difference("signature", "no key that came along has signed the checkpoint");
    report("signature", "held", `The ledger’s checkpoint and the registry’s are signed by key ${signers[0].id} (Ed25519${own ? ", by this page’s own code: the browser has none here" : ""}).`);

    step = "registry";
    const { points, state } = checkHead(evidence, ledger, registry);
    if (job.server && ledger.origin !== `${registry.origin}/${job.server.ledger}`) throw new Difference("registry", "the checkpoint is another ledger’s");
    report("registry", "held", `The registry of ${grouped(registry.size)} entries has exactly one latest head of this ledger: size ${grouped(ledger.size)}, with this root${points.length > 1 ? `, after ${grouped(points.length - 1)} earlier ones that it begins with` : ""}.`);

    step = "entries";
    const size = Number(ledger.size);
    entries = new EntriesCheck(points, size);
    let shown = 0;
    await source.entries(entries, (bytes) => {
      total += bytes;
      if (performance.now() - shown < 100) return;
      shown = performance.now();
      send({ type: "progress", done: entries!.tree.size, total: size, bytes: total });
    });
    const root = entries.tree.root();
    if (!same(root, ledger.root)) {
      const first = await source.firstWrong?.(entries).catch(() => undefined);
      const where = first === undefined ? "" : `: entry ${grouped(first)} is the first that differs from the hashes which the server keeps`;
      throw new Difference("entries", `the ${grouped(size)} entries that were sent are not the ones that were signed${where}`, first ?? entries.wrong?.entry, hex(ledger.root), hex(root));
    }
    report("entries", "held", `${grouped(size)} entries were hashed; their tree has the signed root ${short(root)}.`, { bytes: total });
    if (entries.wrong) report("formed", "failed", entries.wrong.message, { entry: entries.wrong.entry });
    else if (entries.sealed !== (state === 2)) report("formed", "failed", entries.sealed ? "The ledger has a seal, and the registry says that it is open." : "The registry says that the ledger is sealed, and it has no seal.");
    else report("formed", "held", "Numbers run from 0 without a gap, each entry says its own number and its writer’s, times never go back.");

    step = "history";
    const seen = job.seen?.[registry.origin];
    const seenWords = seen && `${new Date(seen.time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })} (size ${grouped(seen.size)})`;
    if (!seen) report("history", "none", "This browser had not seen this registry before. From now on it remembers its size and root.");
    else if (BigInt(seen.size) > registry.size) {
      if (job.server) throw new Difference("history", `this browser saw a larger registry on ${seenWords}. The server shows an older one now`);
      report("history", "none", `The bundle is older than the registry that this browser saw on ${seenWords}; a bundle holds no proof between the two.`);
    } else {
      const expected = bytesOf(seen.root) ?? new Uint8Array();
      const proof = BigInt(seen.size) === registry.size ? [] : await source.consistency?.(BigInt(seen.size), registry.size);
      if (!proof) report("history", "none", `A bundle holds no proof that its registry extends the one that this browser saw on ${seenWords}.`);
      else if (consistent(BigInt(seen.size), expected, registry.size, registry.root, proof)) report("history", "held", `The registry extends the one that this browser saw on ${seenWords}.`);
      else throw new Difference("history", `the registry is not a continuation of the one that this browser saw on ${seenWords}. One of the two histories is false`, undefined, hex(expected));
    }

    step = "key";
    const own_ = trusted.find((key) => [...signers, ...registrySigners].some((signer) => same(signer.bytes, key.bytes)));
    if (own_) report("key", "held", `Key ${own_.id}, which you gave, signed both.`);
    else if (trusted.length) throw new Difference("key", `none of the keys that you gave signed this (${trusted.map((key) => key.id).join(", ")}). It was signed by ${signers[0].id}`);
    else report("key", "none", `You did not give a key of your own. ${job.server ? `It is the one that this server sent${seen ? `, first seen on ${new Date(seen.firstSeen).toLocaleDateString()}` : ""}` : "It is the one that stands in the bundle"}.${seen && seen.key !== signers[0].text ? " It is not the key that this browser saw before." : ""}`);

    step = "witness";
    const witnesses = brought.filter((key) => key.type === WITNESS_KEY);
    const cosigned = await signersOf(registry, witnesses, verify);
    const others = registry.signatures.filter((one) => !keys.some((key) => key.id === one.id)).map((one) => one.name);
    if (cosigned.length && cosigned.length === witnesses.length) report("witness", "held", `This registry is cosigned by ${cosigned.map((key) => key.name).join(", ")}, whose keys you gave.`);
    else if (witnesses.length) throw new Difference("witness", "a witness whose key you gave did not cosign this registry");
    else report("witness", "none", others.length ? `It says that it is cosigned by ${others.join(", ")}, but you gave no key of theirs to check that with.` : "No witness is known: nobody cosigned. The server could show others a different history.");
    send({ type: "end", end: { ledger: ledger.origin.slice(registry.origin.length + 1), origin: registry.origin, size: String(ledger.size), root: hex(ledger.root), registrySize: String(registry.size), registryRoot: btoa(String.fromCharCode(...registry.root)), key: signers[0].text, note: ledgerText, registryNote: registryText, ms: performance.now() - start, bytes: total, own, sealed: entries.sealed } });
  } catch (error) {
    if (error instanceof Lost) {
      report(step, "unfinished", `${entries ? `${grouped(entries.tree.size)} entries were read. ` : ""}${error.message}.`);
      rest("Not made: the evidence is not whole.");
    } else {
      const difference = error instanceof Difference ? error : undefined;
      const sentence = (difference?.message ?? `the evidence cannot be read: ${(error as Error).message}`).replace(/^./, (letter) => letter.toUpperCase());
      report(step, "failed", `${sentence}.`, { entry: difference?.entry, expected: difference?.expected, found: difference?.found });
      rest("Not made, because of what failed before.");
    }
  }
}
