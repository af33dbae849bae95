// Builds the page: node build.mjs [--optional] [--accountant FILE] WORK OUT
//   WORK  a folder for npm's packages and a copy of the sources; made if there is none
//   OUT   what a server serves with --http-files, and the single-file verifier in verifier/
//   --accountant  the accountant as WebAssembly (wasm/); without it, verifying recomputes no cost
//   --optional  npm's packages cannot be fetched: says so, leaves OUT out, and is no failure
// Fails if the types do not hold or if the first load is above the budget.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { parseFolder, schemaOf, typesOf } from "./tools/proto_types.mjs";

const BUDGET_KB = 60; // gzipped, of the scripts that the first view waits for
const HERE = dirname(fileURLToPath(import.meta.url));
const { values, positionals } = parseArgs({
  options: { optional: { type: "boolean" }, accountant: { type: "string" } },
  allowPositionals: true,
});
const { optional } = values;
const [work, out] = positionals.map((folder) => resolve(folder));
if (!out) {
  console.error("usage: node build.mjs [--optional] [--accountant FILE] WORK OUT");
  process.exit(2);
}
// Compressed here, because no server's door compresses; fetched or read when it is asked for.
const accountant =
  values.accountant && gzipSync(readFileSync(resolve(values.accountant)), { level: 9 });

const npm = (words, timeout) =>
  execFileSync("npm", [...words, "--loglevel=error"], {
    cwd: work,
    stdio: ["ignore", "ignore", "pipe"],
    timeout,
  });

// From npm's cache, else from the registry: one short question first, since an install retries for
// minutes where there is no way to it.
function fetchPackages() {
  const install = ["ci", "--ignore-scripts"];
  try {
    return npm([...install, "--offline"]);
  } catch {
    // The cache does not have them all.
  }
  npm(["view", "preact", "name", "--fetch-retries=0", "--fetch-timeout=10000"], 60_000);
  npm(install);
}

function reason(error) {
  if (error.code === "ETIMEDOUT") return "the registry does not answer";
  return (String(error.stderr ?? "").trim() || error.message).split("\n").slice(0, 3).join("; ");
}

// npm's packages go beside a copy of the sources: the checkout stays as it is.
function prepare() {
  mkdirSync(work, { recursive: true });
  const lock = readFileSync(join(HERE, "package-lock.json"), "utf8");
  const installed = join(work, "installed.json");
  const leftOut = join(work, "left_out.txt");
  if (!existsSync(installed) || readFileSync(installed, "utf8") !== lock) {
    for (const file of ["package.json", "package-lock.json", ".npmrc"])
      cpSync(join(HERE, file), join(work, file));
    rmSync(leftOut, { force: true });
    try {
      fetchPackages();
    } catch (error) {
      if (!optional) throw error;
      const why = `npm's packages cannot be fetched: ${reason(error)}`;
      console.log(`The auditor's page is left out: ${why}`);
      rmSync(out, { recursive: true, force: true });
      writeFileSync(leftOut, `${why}\n`); // for the page's tests, which are skipped then
      process.exit(0);
    }
    writeFileSync(installed, lock);
  }
  for (const name of ["src", "tests", "e2e", "tools", "build.mjs", "tsconfig.json"]) {
    rmSync(join(work, name), { recursive: true, force: true });
    cpSync(join(HERE, name), join(work, name), { recursive: true });
  }
  for (const file of ["instance.js", "instance.d.ts"])
    cpSync(join(HERE, "../wasm/npm", file), join(work, "src/verify", file));
  const proto = parseFolder(join(HERE, "../proto/dpledger/v1"));
  writeFileSync(join(work, "src/api/types.ts"), typesOf(proto));
  writeFileSync(join(work, "src/api/schema.ts"), schemaOf(proto, "LedgerEntry"));
}

const gzipped = (file) => gzipSync(readFileSync(file), { level: 9 }).length;

async function build() {
  const esbuild = createRequire(join(work, "package.json"))("esbuild");
  const common = {
    absWorkingDir: work,
    bundle: true,
    minify: true,
    legalComments: "none",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".woff2": "file" },
    define: { WITH_ACCOUNTANT: String(!!accountant) },
    logLevel: "warning",
  };
  rmSync(out, { recursive: true, force: true });
  const page = await esbuild.build({
    ...common,
    entryPoints: { app: "src/main.tsx", worker: "src/verify/worker.ts", style: "src/style.css" },
    outdir: join(out, "assets"),
    // The worker's address is a constant of the page (src/verify/in_worker.ts).
    entryNames: "[name]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]",
    format: "esm",
    splitting: true,
    metafile: true,
  });
  cpSync(join(work, "src/index.html"), join(out, "index.html"));
  cpSync(join(work, "src/icon.svg"), join(out, "assets/icon.svg"));
  if (accountant) writeFileSync(join(out, "assets/accountant.wasm.gz"), accountant);
  cpSync(
    join(work, "node_modules/@fontsource-variable/inter/LICENSE"),
    join(out, "assets/inter-licence.txt"),
  );

  // What the first view loads: the entry, and every chunk that it names by a static import.
  const outputs = page.metafile.outputs;
  const first = new Set();
  const follow = (name) => {
    if (first.has(name)) return;
    first.add(name);
    for (const found of outputs[name].imports)
      if (found.kind === "import-statement") follow(found.path);
  };
  follow(Object.keys(outputs).find((name) => name.endsWith("/assets/app.js")));
  const scripts = [...first].reduce((sum, name) => sum + gzipped(join(work, name)), 0) / 1000;
  const style = gzipped(join(out, "assets/style.css")) / 1000;
  const limit = `(at most ${BUDGET_KB})`;
  const words = `${scripts.toFixed(1)} kB of scripts ${limit}, ${style.toFixed(1)} kB of style`;
  console.log(`first load: ${words}, gzipped`);
  if (scripts > BUDGET_KB) throw new Error(`the first load is above ${BUDGET_KB} kB`);

  await singleFile(esbuild, common);
}

const dataBlock = (bytes) =>
  bytes
    ? `<script type="application/gzip" id="accountant">${bytes.toString("base64")}</script>\n`
    : "";

// One HTML file that is opened from disk: everything inline, and a policy in it that lets nothing
// else run.
async function singleFile(esbuild, common) {
  const inMemory = {
    ...common,
    write: false,
    format: "iife",
    charset: "ascii",
    outdir: join(out, "verifier"),
  };
  const worker = await esbuild.build({ ...inMemory, entryPoints: ["src/verify/worker.ts"] });
  const script = await esbuild.build({
    ...inMemory,
    entryPoints: ["src/verifier/main.tsx"],
    define: { ...common.define, WORKER_SOURCE: JSON.stringify(worker.outputFiles[0].text) },
  });
  const style = await esbuild.build({
    ...common,
    write: false,
    outdir: join(out, "verifier"),
    entryPoints: ["src/verifier/style.css"],
  });
  const code = script.outputFiles[0].text.replaceAll("</script", "<\\/script").trim();
  const css = style.outputFiles[0].text.trim();
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(code)}${accountant ? " 'wasm-unsafe-eval'" : ""}`,
    `style-src ${hash(css)}`,
    "worker-src blob:",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  const html = readFileSync(join(work, "src/verifier/index.html"), "utf8")
    .replace("POLICY", policy.join("; "))
    .replace("STYLE", () => css)
    .replace("ACCOUNTANT", () => dataBlock(accountant))
    .replace("SCRIPT", () => code);
  mkdirSync(join(out, "verifier"), { recursive: true });
  writeFileSync(join(out, "verifier/dpledger-verifier.html"), html);
  console.log(`single-file verifier: ${(html.length / 1000).toFixed(1)} kB`);
}

prepare();
execFileSync(
  process.execPath,
  [join(work, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", work],
  { stdio: "inherit" },
);
await build();
if (readdirSync(out).length === 0) throw new Error("nothing was built");
