// The unit tests, by node's own runner: node tests/run.mjs, in the folder that build.mjs made.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const work = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = join(work, "tests-built");
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
const tests = readdirSync(join(work, "tests")).filter((name) => name.endsWith(".test.ts"));
await createRequire(join(work, "package.json"))("esbuild").build({
  absWorkingDir: work,
  entryPoints: tests.map((name) => `tests/${name}`),
  outdir: out,
  bundle: true,
  platform: "node",
  format: "esm",
  outExtension: { ".js": ".mjs" },
  target: "node18",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
const ran = spawnSync(
  process.execPath,
  ["--test", ...tests.map((name) => join(out, name.replace(".ts", ".mjs")))],
  { stdio: "inherit", cwd: work },
);
process.exit(ran.status ?? 1);
