// The npm package as `npm pack` makes it, used as its README says: node package_test.mjs PACKAGE [TSC]
//   TSC  TypeScript's compiler, if there is one: the README's code is of the package's types
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

const [folder, tsc] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "dpledger-package-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const installed = join(work, "node_modules/dpledger");
mkdirSync(installed, { recursive: true });
const words = ["pack", "--json", "--offline", "--pack-destination", work];
const [packed] = JSON.parse(execFileSync("npm", words, { cwd: folder, encoding: "utf8" }));
const file = join(work, packed.filename);
execFileSync("tar", ["-xzf", file, "-C", installed, "--strip-components=1"]);
const examples = [
  ...readFileSync(join(installed, "README.md"), "utf8").matchAll(/```js\n(.*?)```/gs),
];

test("the README's code prints what the README says", () => {
  assert.equal(examples.length, 2);
  for (const [, code] of examples) {
    writeFileSync(join(work, "example.mjs"), code);
    const printed = execFileSync(process.execPath, ["example.mjs"], {
      cwd: work,
      encoding: "utf8",
    });
    const wanted = [...code.matchAll(/^\/\/ (.*)/gm)].map((found) => `${found[1]}\n`).join("");
    assert.equal(printed, wanted);
  }
});

test("the README's code has the package's types, and a slip in it has not", (t) => {
  if (!tsc || !existsSync(tsc)) return t.skip("there is no TypeScript");
  const check = (code) => {
    writeFileSync(join(work, "example.mts"), code.replace("console.log", "void "));
    const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
    const lib = ["--lib", "es2023,dom"];
    execFileSync(process.execPath, [tsc, ...flags, ...lib, "example.mts"], {
      cwd: work,
      stdio: "pipe",
    });
  };
  for (const [, code] of examples) check(code);
  assert.throws(() => check(examples[0][1].replace("noiseMultiplier", "noise")), /Command failed/);
});

test("the package has what it needs, and its size is known", () => {
  const names = packed.files.map((one) => one.path).sort();
  assert.deepEqual(names, [
    "LICENSE",
    "README.md",
    "accountant.wasm",
    "index.d.ts",
    "index.js",
    "instance.d.ts",
    "instance.js",
    "messages.d.ts",
    "package.json",
  ]);
  assert.ok(packed.size < 1_100_000, `${packed.size} bytes packed`);
});

const run = { noiseMultiplier: 1, samplingProbability: 1, steps: 1 };
test("a refused question names the field", async () => {
  const { dpSgd, epsilon } = await import(pathToFileURL(join(installed, "index.js")));
  await assert.rejects(epsilon({ delta: -1, subject: dpSgd(run) }), {
    name: "AccountingError",
    code: 3,
    reason: "INVALID_FIELD",
    message: "delta: must be in [0, 1), got -1",
  });
});

test("a question that memory is short for is stopped, and the next one is answered", async () => {
  // A module that may grow to 32 MiB alone: what its memory section says in place of 2 GiB.
  const small = join(work, "small");
  cpSync(installed, small, { recursive: true });
  const wasm = readFileSync(join(small, "accountant.wasm"));
  const section = Buffer.from([1, 1, 0x80, 0x04, 0x80, 0x80, 0x02]);
  const at = wasm.indexOf(section);
  assert.ok(at > 0 && at === wasm.lastIndexOf(section));
  wasm[at + 5] = 0x84;
  wasm[at + 6] = 0x00;
  writeFileSync(join(small, "accountant.wasm"), wasm);
  const { dpSgd, epsilon } = await import(pathToFileURL(join(small, "index.js")));
  const description = "x".repeat(20e6);
  const subject = { events: [{ mechanism: { unsupported: { description } } }] };
  await assert.rejects(epsilon({ delta: 1e-5, subject }), { name: "Stopped" });
  const found = (await epsilon({ delta: 1e-5, subject: dpSgd(run) })).epsilon;
  assert.ok(found.lower > 0 && found.lower <= found.upper);
});
