// What no code of the page may do: read off its sources.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

function* sources(folder: string): Generator<[string, string]> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* sources(path);
    else if (/\.(ts|tsx|html|css)$/.test(name) && name !== "types.ts" && name !== "schema.ts")
      yield [path, readFileSync(path, "utf8")];
  }
}
const all = [...sources("src")];
const holding = (pattern: RegExp) =>
  all.filter(([, text]) => pattern.test(text)).map(([path]) => path);

test("there are sources to read", () => assert.ok(all.length > 40, String(all.length)));
test("one component alone prints ε", () =>
  assert.deepEqual(holding(/ε\s*(≤|<=|&le;|<)/), ["src/parts/epsilon.tsx"]));
test("nothing becomes markup, and nothing is evaluated", () =>
  assert.deepEqual(
    holding(
      /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\(|new Function/,
    ),
    [],
  ));
test("the token goes into no storage, cookie or log", () => {
  for (const [path, text] of all)
    if (/\btoken\b/.test(text) && /client\.ts$/.test(path))
      assert.ok(!/localStorage|sessionStorage|document\.cookie|console\./.test(text), path);
  assert.deepEqual(holding(/sessionStorage|document\.cookie|console\.(log|info|debug)/), []);
  assert.deepEqual(holding(/localStorage/), ["src/storage.ts"]);
  const session = all.find(([path]) => path === "src/api/session.ts")![1];
  const kept = [...session.matchAll(/\bkeep\((.*?)\)/g)].map(([, what]) => what);
  const cookie = 'THERE, there ? "cookie" : undefined';
  assert.deepEqual(kept, [cookie], "that there is a cookie, and not which");
});
test("nothing is asked of another origin", () =>
  assert.deepEqual(holding(/https?:\/\/(?!www\.w3\.org\/2000\/svg|x\b)/), []));
test("no word promises what no number can", () =>
  assert.deepEqual(holding(/>[^<]*\b(is safe|anonymous|budget left)\b/i), []));
test("a server finds the one place where it says below which path the page stands", () =>
  assert.deepEqual(
    all
      .map(([path, text]) => [path, text.split('<base href="/">').length - 1])
      .filter((one) => one[1]),
    [["src/index.html", 1]],
  ));
test("files stay short", () => {
  for (const [path, text] of all) assert.ok(text.split("\n").length <= 400, path);
});
test("sources are as npm run format writes them", () => {
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", "check-format"]);
  assert.equal(status, 0, `${stdout}${stderr}`);
});
