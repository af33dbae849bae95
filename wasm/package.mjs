// Makes the npm package, ready for `npm pack`: node package.mjs VERSION WASM OUT
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseFolder, typesOf } from "../dashboard/tools/proto_types.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [version, wasm, out] = process.argv.slice(2);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const file of readdirSync(join(here, "npm"))) cpSync(join(here, "npm", file), join(out, file));
cpSync(join(here, "../LICENSE"), join(out, "LICENSE"));
cpSync(wasm, join(out, "accountant.wasm"));
writeFileSync(join(out, "messages.d.ts"), typesOf(parseFolder(join(here, "../proto/dpledger/v1"))));
const description = JSON.parse(readFileSync(join(here, "npm/package.json"), "utf8"));
const whole = { name: description.name, version, ...description };
writeFileSync(join(out, "package.json"), `${JSON.stringify(whole, null, 2)}\n`);
