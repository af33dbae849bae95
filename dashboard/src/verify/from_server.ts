// A ledger's evidence, by the calls of a server.
import { fromBase64, joined, strictBase64 } from "../api/bytes";
import type { MethodName, Request as Asked, Response as Answer } from "../api/client";
import type { Method } from "../api/types";
import { grouped } from "../text/numbers";
import type { Claim } from "./cost_check";
import { TILE, tilePath, type EntriesCheck } from "./entries_check";
import { Difference, parseKeys, parseNote } from "./note";
import { Lost, type Opening, type Source } from "./source";
import { leaf, same } from "./tree";

export interface Place {
  base: string;
  ledger: string;
  headers: Record<string, string>;
}
const MOST_ENTRY = 65535;

const failed = (error: Error) => error; // a failure is met where it belongs
const bytesOf = (text = "") => strictBase64(text) ?? new Uint8Array();

export class FromServer implements Source {
  constructor(private readonly at: Place) {}

  private async get(path: string, body?: unknown): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(this.at.base + path, {
        method: body ? "POST" : "GET",
        headers: { ...this.at.headers, ...(body ? { "content-type": "application/json" } : {}) },
        body: body ? JSON.stringify(body) : undefined,
        cache: "no-store",
      });
    } catch {
      throw new Lost("the connection was lost");
    }
    if (answer.ok) return answer;
    const said = await answer.text().catch(() => "");
    let [code, message] = ["", said.slice(0, 300)];
    try {
      ({ code = "", message = said } = JSON.parse(said) as { code?: string; message?: string });
    } catch {
      // A line of text.
    }
    // No lost connection: the server found that what it keeps is not what it signed. (A file's
    // refusal has no code.)
    if (code === "data_loss" || (answer.status === 500 && path.startsWith("/tlog/"))) {
      throw new Difference(`the server cannot show what it signed: ${message.trim()}`);
    }
    const none = code === "not_found" ? ["There is no such ledger here", "Is its name right?"] : [];
    throw new Lost(`the server answered ${answer.status}: ${message}`, ...none);
  }
  private async call<M extends MethodName>(method: M, request: Asked<M>): Promise<Answer<M>> {
    return (await this.get(`/dpledger.v1.${method}`, request)).json();
  }
  private async tile(level: number, index: number, width: number) {
    const answer = await this.get(`/tlog/${this.at.ledger}/${tilePath(level, index, width)}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  private async points(registrySize: bigint): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let [got, total] = [0, 1]; got < total;) {
      const page = await this.call("AuditService/ListRegistrations", {
        log: this.at.ledger,
        registrySize: String(registrySize),
        first: String(got),
      });
      total = Number(page.total ?? 0);
      const points = bytesOf(page.points);
      if (!points.length) break;
      parts.push(points);
      got += points.length / 49;
    }
    return joined(...parts);
  }
  async opening(): Promise<Opening> {
    const answer = await this.call("AuditService/GetCheckpoint", { log: this.at.ledger });
    const found = answer.registry ?? {};
    const [ledger, registry] = [parseNote(answer.note ?? ""), parseNote(found.note ?? "")];
    const hashes = (texts: string[] = []) => texts.map(bytesOf);
    const evidence = {
      head: {
        entry: bytesOf(found.entry),
        index: BigInt(found.index ?? 0),
        proof: hashes(found.proof),
      },
      map: {
        entry: bytesOf(found.mapEntry),
        index: registry.size - 1n,
        proof: hashes(found.mapProof),
      },
      mapPath: bytesOf(found.mapPath),
      points: await this.points(registry.size),
    };
    return { ledger, registry, keys: parseKeys(answer.verifierKeys ?? []), evidence };
  }

  private page = (first: number, pageSize: number) =>
    this.call("LedgerService/ReadEntries", {
      ledger: this.at.ledger,
      firstSequence: String(first),
      pageSize,
    });
  // By ReadEntries, 1 MiB at a time: 10^6 entries are 4,000 tiles, and a browser takes
  // 2 ms for each.
  async entries(check: EntriesCheck, progress: (bytes: number) => void) {
    const ask = (first: number) => this.page(first, 10000).catch(failed);
    let coming = ask(0);
    let waiting: Uint8Array[] = []; // for the rest of their tile
    for (let read = 0; read < check.size;) {
      const got = await coming;
      if (got instanceof Error) throw got;
      const entries = (got.entries ?? []).slice(0, check.size - read);
      if (!entries.length) {
        const counts = `${grouped(read)} entries of ${grouped(check.size)}`;
        throw new Difference(`the server sent ${counts}`);
      }
      read += entries.length;
      if (read < check.size) coming = ask(read); // while these are hashed
      let bytes = 0;
      for (const text of entries) {
        const entry = fromBase64(text);
        if (entry.length > MOST_ENTRY) throw new Difference("an entry is larger than it may be");
        bytes += entry.length;
        waiting.push(entry);
        const width = waiting.length;
        if (width < TILE && check.tree.size + width < check.size) continue;
        check.take(bundleOf(waiting), width);
        waiting = [];
      }
      progress(bytes);
    }
  }

  // Who may read a ledger's entries may not always ask what they cost.
  async claim(size: bigint, delta?: number, method?: Method): Promise<Claim> {
    const who = "the server";
    const subject = { ledgers: [this.at.ledger], upToSequence: String(size) };
    try {
      const question = { subject, delta, options: method && { method } };
      const answer = await this.call("AccountingService/ComputeEpsilon", question);
      return { who, answer };
    } catch (error) {
      return { who, none: `It was not compared: ${(error as Error).message}.` };
    }
  }

  async firstWrong(check: EntriesCheck) {
    // Of the last tile, which is not full, the server keeps no hashes.
    const differs = (stored: Uint8Array) => (hash: Uint8Array, i: number) =>
      !same(hash, stored.subarray(32 * i, 32 * i + 32));
    const roots = check.tileRoots;
    for (let first = 0; first < roots.length; first += TILE) {
      const shown = roots.slice(first, first + TILE);
      const found = shown.findIndex(differs(await this.tile(1, first / TILE, shown.length)));
      if (found < 0) continue;
      const wrong = first + found;
      const stored = await this.tile(0, wrong, TILE);
      const { entries = [] } = await this.page(TILE * wrong, TILE);
      const entry = entries.map((text) => leaf(fromBase64(text))).findIndex(differs(stored));
      return entry < 0 ? undefined : TILE * wrong + entry;
    }
    return undefined;
  }
  async consistency(from: bigint, to: bigint) {
    const { proof } = await this.call("AuditService/GetConsistencyProof", {
      oldSize: String(from),
      newSize: String(to),
    });
    return (proof ?? []).map(bytesOf);
  }
}

// Each entry behind its length in 16 bits.
function bundleOf(entries: Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(entries.reduce((sum, entry) => sum + 2 + entry.length, 0));
  let at = 0;
  for (const entry of entries) {
    bundle[at] = entry.length >> 8;
    bundle[at + 1] = entry.length & 255;
    bundle.set(entry, at + 2);
    at += 2 + entry.length;
  }
  return bundle;
}
