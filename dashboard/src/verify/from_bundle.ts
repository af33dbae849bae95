// A ledger's evidence out of a bundle (docs/formats.md, section 6).
import { strictBase64 } from "../api/bytes";
import type { ComputeEpsilonResponse } from "../api/types";
import type { Claim } from "./cost_check";
import { TILE, tilePath, type EntriesCheck } from "./entries_check";
import { Difference, parseKeys, parseNote, type Note, type VerifierKey } from "./note";
import { included, type Proved } from "./registry";
import type { Opening, Source } from "./source";
import { noBundle, TarReader } from "./tar";
import { same } from "./tree";

const MOST_STATEMENT = 1 << 20; // bytes that are read of it

export class FromBundle implements Source {
  private readonly tar: TarReader;
  private statement: string | undefined;
  constructor(file: Blob) {
    this.tar = new TarReader(file);
  }

  private async member(wanted: string, most: number): Promise<Uint8Array<ArrayBuffer>> {
    const found = await this.tar.next();
    if (found?.name === wanted) return this.tar.content(found.size, most);
    if (wanted === "keys") throw noBundle("its second file is not a bundle’s list of keys");
    throw new Difference(`${wanted} is missing from the bundle`);
  }
  private text = async (wanted: string) =>
    new TextDecoder("utf-8", { fatal: true }).decode(await this.member(wanted, 2 << 20));

  // NAME/entry and NAME/proof.
  private async proved(name: string, checkpoint: Note): Promise<Proved> {
    const entry = await this.member(`${name}/entry`, 65535);
    const text = await this.text(`${name}/proof`);
    const end = text.indexOf("\n\n");
    const [first, ...lines] = text.slice(0, end).split("\n");
    if (first !== "c2sp.org/tlog-proof@v1" || text.slice(end + 2) !== checkpoint.text) {
      throw new Difference(`${name}/proof is no proof of the bundle's checkpoint`);
    }
    if (lines[0]?.startsWith("extra ")) lines.shift();
    const index = /^index (0|[1-9]\d{0,18})$/.exec(lines.shift() ?? "");
    const proof = lines.map(strictBase64).filter((hash) => hash?.length === 32);
    if (!index || proof.length !== lines.length) {
      throw new Difference(`${name}/proof is not a proof`);
    }
    return { entry, index: BigInt(index[1]), proof: proof as Uint8Array[] };
  }
  private async keys(): Promise<VerifierKey[]> {
    const lines = (await this.text("keys")).split("\n");
    const last = lines.pop();
    const different = new Set(lines).size === lines.length;
    if (last !== "" || !different || lines.length < 1 || lines.length > 256) {
      throw new Difference("the list of keys is not one");
    }
    return parseKeys(lines);
  }
  async opening(): Promise<Opening> {
    await this.member("README", 1 << 20);
    const keys = await this.keys();
    const registry = parseNote(await this.text("registry/checkpoint"));
    let before = -1n;
    for (let i = 0; i < keys.length; i++) {
      const proved = await this.proved(`registry/keys/${i}`, registry);
      const { body, texts } = included(proved, registry, `key ${i}`);
      const named = body === 19 && new TextDecoder().decode(texts.get(2)) === keys[i].text;
      const inOrder = i === 0 ? proved.index === 0n : proved.index > before;
      if (!named || !inOrder) throw new Difference(`the registry does not name key ${i}`);
      before = proved.index;
    }
    const evidence = {
      head: await this.proved("registry", registry),
      map: await this.proved("registry/map", registry),
      mapPath: await this.member("registry/map/path", 8226),
      points: await this.member("registry/points", 49 << 20),
    };
    return { ledger: parseNote(await this.text("checkpoint")), registry, keys, evidence };
  }

  async entries(check: EntriesCheck, progress: (bytes: number) => void) {
    const { levels, size } = check;
    const tile = async (level: number) => {
      const { path, content } = check.tile(level);
      if (same(await this.member(path, 8192), content)) return;
      throw new Difference(`${path} is not what the entries give`);
    };
    for (let n = 0; n * TILE < size; n++) {
      const width = Math.min(TILE, size - TILE * n);
      const bytes = await this.member(tilePath("entries", n, width), 256 * 65537);
      check.take(bytes, width);
      await tile(0);
      // A full tile that ends a full one above it.
      for (
        let level = 0;
        levels[level].width === TILE && levels[level + 1]?.width === TILE;
        level++
      ) {
        await tile(level + 1);
      }
      progress(bytes.length);
    }
    for (let level = 1; level < levels.length; level++) {
      if (levels[level].width < TILE) await tile(level);
    }
    for (let found = await this.tar.next(); found; found = await this.tar.next()) {
      if (found.name !== "events.jsonl" && found.name !== "statement.json") {
        throw new Difference("the bundle has a member that does not belong there");
      }
      if (found.name === "statement.json" && found.size <= MOST_STATEMENT) {
        this.statement = new TextDecoder().decode(
          await this.tar.content(found.size, MOST_STATEMENT),
        );
      } else await this.tar.skip(found.size, progress); // for reading only: nobody signed it
    }
  }

  async claim(): Promise<Claim> {
    const who = "statement.json";
    if (this.statement === undefined)
      return { who, none: "The bundle has no statement to hold against it." };
    try {
      const answer = JSON.parse(this.statement) as ComputeEpsilonResponse;
      const delta = Number(answer.delta);
      if (answer.epsilon && delta > 0 && delta < 1) return { who, answer };
    } catch {
      // No JSON.
    }
    return { who, none: "Its statement.json is no answer of ε, and was not compared." };
  }
}
