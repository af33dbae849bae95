// What must hold for a reader in a real browser, with a real server and real ledgers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBrowser, openPage, settled } from "./browser.mjs";
import { append, create, declared, fill, gaussian, nameOf, poisson, rounds, steps } from "./ledgers.mjs";
import { sleep, startServer } from "./server.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const VIEWS = ["/", "/dataset?name=adult", "/ledgers", "/ledger/default/adult-logistic-eps1", "/ledger/default/loan-scoring-search", "/ledger/default/adult-mlp-eps2",
  "/ledger/default/adult-logistic-eps1/entry/2", "/verify", "/verify/default/adult-sealed-v1", "/statement?ledger=adult-logistic-eps1", "/statement", "/recompute", "/activity",
  "/ledgers?open=compare:adult-logistic-eps1,adult-mlp-eps2", "/ledgers?open=plan", "/nowhere"];

async function withServer({ bin, page }, body, { flags, filled = true } = {}) {
  const server = await startServer({ bin, page, flags });
  const browser = await openBrowser(["--host-resolver-rules=MAP ledger.test 127.0.0.1"]);
  try {
    if (filled) await fill(server);
    await sleep(500);
    await body(server, browser);
  } finally {
    await browser.close();
    await server.stop();
  }
}
const text = (tab) => tab.evaluate(() => document.body.innerText);
const until = (tab, what, argument) => tab.waitForFunction(what, argument, { timeout: 20000 });
const outcomes = (tab) => tab.evaluate(() => Object.fromEntries([...document.querySelectorAll("[data-check]")].map((row) => [row.dataset.check, row.dataset.outcome])));
const checked = (tab) => until(tab, () => document.querySelectorAll("[data-check]").length === 7);
const own = (tab, asked, base) => assert.deepEqual(asked.filter((address) => !address.startsWith(base) && !address.startsWith("data:") && !address.startsWith("blob:")), []);

async function bundleOf(bin, server, ledger, folder) {
  const path = join(folder, `${ledger}.bundle`);
  execFileSync(join(bin, "dpledger"), ["ledger", "export", ledger, "--server", server.address, "--output", path]);
  return path;
}

export const cases = {
  "every view opens without an error, a foreign request or anything too wide": (at) => withServer(at, async (server, browser) => {
    for (const width of [1280, 320]) {
      for (const address of VIEWS) {
        const { page: tab, context, trouble, asked } = await openPage(browser, { width });
        await tab.goto(server.base + address);
        await settled(tab);
        assert.deepEqual(trouble, [], address);
        own(tab, asked, server.base);
        assert.ok((await text(tab)).length > 150, `${address} is blank`);
        assert.ok((await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${address} at ${width} is too wide`);
        await context.close();
      }
    }
  }),

  "axe-core finds nothing, light and dark": (at) => withServer(at, async (server, browser) => {
    const run = (tab) => tab.evaluate(async () => (await globalThis.axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`).slice(0, 2).join(" | ")}`));
    {
      const { page: tab, context } = await openPage(browser);
      await tab.goto(server.base);
      await settled(tab);
      await tab.evaluate(AXE);
      await tab.evaluate(() => document.querySelector("main").append(document.createElement("img")));
      assert.match((await run(tab)).join(), /image-alt/, "or it finds nothing, whatever there is");
      await context.close();
    }
    for (const dark of [false, true]) {
      for (const address of VIEWS) {
        const { page: tab, context } = await openPage(browser, { dark, width: dark ? 360 : 1280 });
        await tab.goto(server.base + address);
        await settled(tab);
        await tab.evaluate(AXE);
        assert.deepEqual(await run(tab), [], `${address} ${dark ? "dark" : "light"}`);
        await context.close();
      }
    }
  }),

  "no number of the cost stands without its delta, neighbours, regime and unit": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/adult-logistic-eps1`);
    await until(tab, () => document.querySelector(".epsilon"));
    const block = await tab.evaluate(() => document.querySelector(".epsilon-block").innerText.replace(/\s+/g, " "));
    const answer = await server.call("AccountingService/ComputeEpsilon", { subject: { ledgers: [nameOf("adult-logistic-eps1")] }, delta: 1e-5 });
    const shown = Number(/ε ≤ ([\d.]+)/.exec(block)[1]);
    assert.ok(shown >= answer.epsilon.upper && shown < answer.epsilon.upper * 1.001, `${shown} for ${answer.epsilon.upper}`);
    assert.match(block, /at δ = 10−5.*protects one example.*neighbours add or remove one.*parameters fixed in advance/);
    await tab.goto(`${server.base}/ledger/default/loan-scoring-search`);
    await until(tab, () => document.querySelector(".refused"));
    assert.match(await text(tab), /No ε can be given[\s\S]*a filter that is declared before the first event/);
    assert.equal(await tab.evaluate(() => document.querySelectorAll(".epsilon").length), 0);
  }),

  "the same address with format=json is the call's answer": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/adult-sealed-v1?format=json`);
    await tab.waitForURL(/ComputeEpsilon/);
    assert.equal(JSON.parse(await tab.evaluate(() => document.body.innerText)).details.method, "contour");
  }),

  "a live trainer changes the numbers and moves nothing": (at) => withServer(at, async (server, browser) => {
    await create(server, "live", declared("live", "example"));
    await append(server, "live", steps(0, 20, poisson(0.01), 1));
    const { page: tab, trouble } = await openPage(browser, { height: 500 });
    await tab.goto(`${server.base}/ledger/default/live`);
    await until(tab, () => document.querySelector(".epsilon"));
    const before = await tab.evaluate(() => document.querySelector(".epsilon").innerText);
    await tab.evaluate(() => scrollTo(0, 300));
    await append(server, "live", steps(20, 50, poisson(0.01), 1));
    await until(tab, (old) => document.querySelector(".epsilon").innerText !== old, before);
    assert.equal(await tab.evaluate(() => scrollY), 300);
    assert.deepEqual(trouble, []);
  }),

  "a new ledger waits in a chip until the reader wants it": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledgers`);
    await until(tab, () => document.querySelectorAll("tbody tr").length === 13);
    await create(server, "a-first-by-name", declared("new", "example"));
    await until(tab, () => /1 new: show/.test(document.body.innerText));
    assert.equal(await tab.evaluate(() => document.querySelectorAll("tbody tr").length), 13);
    await tab.click("text=1 new: show");
    assert.equal(await tab.evaluate(() => document.querySelectorAll("tbody tr").length), 14);
  }),

  "a ledger verifies from the server, and again as a continuation": (at) => withServer(at, async (server, browser) => {
    const { page: tab, trouble } = await openPage(browser);
    await tab.goto(`${server.base}/verify/default/adult-logistic-eps1`);
    await checked(tab);
    assert.deepEqual(await outcomes(tab), { signature: "held", registry: "held", entries: "held", formed: "held", history: "none", key: "none", witness: "none" });
    await append(server, "keyboard-emoji", [gaussian(5)]);
    await sleep(800);
    await tab.goto(`${server.base}/verify/default/keyboard-emoji`);
    await checked(tab);
    assert.equal((await outcomes(tab)).history, "held");
    assert.match(await text(tab), /What it does not show[\s\S]*No accounting is done here/);
    assert.deepEqual(trouble, []);
    // Another registry of the same name would be noticed: what this browser remembers is bent.
    await tab.evaluate(() => {
      const key = Object.keys(localStorage).find((name) => name.startsWith("dpledger.registry."));
      const seen = JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify({ ...seen, root: btoa("x".repeat(32)) }));
    });
    await tab.reload();
    await checked(tab);
    assert.equal((await outcomes(tab)).history, "failed");
  }),

  "served entries that were changed are shown as such": (at) => withServer(at, async (server, browser) => {
    const { page: tab, context } = await openPage(browser);
    await context.route(/ReadEntries$/, async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const bent = Buffer.from(body.entries[1000], "base64");
      bent[bent.length - 1] ^= 1;
      body.entries[1000] = bent.toString("base64");
      await route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(body) });
    });
    await tab.goto(`${server.base}/verify/default/adult-logistic-eps1`);
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "failed");
    assert.match(await text(tab), /all entries failed[\s\S]*Do not rely on what this ledger shows/);
    await context.unroute(/ReadEntries$/);
    // Whoever may not read entries gets the tiles, of which one is bent, and then none.
    await context.route(/ReadEntries$/, (route) => route.fulfill({ status: 403, contentType: "application/json", body: '{"code":"permission_denied"}' }));
    await tab.reload();
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "held");
    await context.route(/tile\/entries\/003$/, async (route) => {
      const answer = await route.fetch();
      const body = await answer.body();
      body[1000] ^= 1;
      await route.fulfill({ status: 200, contentType: "application/octet-stream", body });
    });
    await tab.reload();
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "failed");
    await context.unroute(/tile\/entries\/003$/);
    await context.route(/tile\/entries\/003$/, (route) => route.abort());
    await tab.reload();
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "unfinished");
    assert.match(await text(tab), /Nothing is wrong as far as it went, and nothing is proved/);
  }),

  "a bundle verifies on the page and in the file of its own, and not with any bit flipped": ({ bin, page }) => withServer({ bin, page }, async (server, browser) => {
    const folder = mkdtempSync(join(tmpdir(), "dpledger-bundle-"));
    try {
      const path = await bundleOf(bin, server, "adult-logistic-eps1", folder);
      const good = readFileSync(path);
      const vkey = (await server.call("AuditService/GetCheckpoint", {})).verifierKeys[0];
      for (const address of [`${server.base}/verify`, `file://${page}/verifier/dpledger-verifier.html`]) {
        const { page: tab, context, trouble, asked } = await openPage(browser);
        await tab.goto(address);
        await until(tab, () => document.querySelector("input[type=file]"));
        await tab.fill("textarea", vkey);
        const check = async (bytes) => {
          writeFileSync(path, bytes);
          await tab.setInputFiles("input[type=file]", []);
          await tab.setInputFiles("input[type=file]", path);
          await sleep(30);
          await checked(tab);
          const found = await outcomes(tab);
          return { found, failed: Object.values(found).includes("failed") };
        };
        const whole = await check(good);
        assert.equal(whole.failed, false, JSON.stringify(whole.found));
        assert.equal(whole.found.entries, "held");
        assert.equal(whole.found.key, "held");
        // Header, keys, notes, proofs, map, points, entries and tiles; what is for reading only stands at both ends.
        const first = 512 * (1 + Math.ceil(parseInt(good.subarray(124, 135).toString(), 8) / 512));
        const last = good.indexOf("events.jsonl\0") - 1;
        for (let i = 0; i < 24; i++) {
          const bent = Buffer.from(good);
          const at = first + Math.floor(((last - first) * i) / 23);
          bent[at] ^= 1 << (i % 8);
          assert.equal((await check(bent)).failed, true, `${address}: bit ${i % 8} of byte ${at} flipped`);
        }
        assert.equal((await check(good.subarray(0, 20000))).failed, true, "cut off");
        assert.equal((await check(Buffer.from("hello"))).failed, true, "no bundle");
        assert.deepEqual(trouble, []);
        if (address.startsWith("file:")) assert.deepEqual(asked.filter((one) => !/^(file|blob|data):/.test(one)), [], "the file of its own asks nobody");
        await context.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }),

  "verifying works without a secure context, and says that it is none": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base.replace("127.0.0.1", "ledger.test")}/verify/default/adult-sealed-v1`);
    await checked(tab);
    assert.equal((await outcomes(tab)).signature, "held");
    assert.match(await text(tab), /plain HTTP[\s\S]*by this page’s own code/);
  }, { flags: ["--http-host", "ledger.test"] }),

  "names that are markup, marks of direction or 200 characters stay text": (at) => withServer(at, async (server, browser) => {
    const evil = ["<img src=x onerror=alert(1)>", "abc\u202edcba\u2066", "é".repeat(100) + "x".repeat(50), "../../etc/passwd?x=<script>", "=cmd|' /C calc'!A0"];
    for (const [i, dataset] of evil.entries()) {
      await create(server, `evil-${i}`, declared(dataset, `<b>${dataset}</b>`.slice(0, 60), { released: dataset, description: `${dataset}\u0007\u200b` }));
      await append(server, `evil-${i}`, [rounds(3, poisson(0.1), 1, `<u>${i}</u>\u202e`), { note: { text: `<iframe src=x> ${dataset}` } }, { correction: { correctedSequence: "1", text: dataset } }]);
    }
    for (const address of ["/", "/ledgers", "/ledger/default/evil-0", "/ledger/default/evil-1", "/ledger/default/evil-2", "/ledger/default/evil-0/entry/2", ...evil.map((name) => `/dataset?${new URLSearchParams({ name })}`), "/ledgers?open=compare:evil-0,evil-1"]) {
      const { page: tab, context, trouble, asked } = await openPage(browser, { width: 360 });
      await tab.goto(server.base + address);
      await settled(tab);
      assert.deepEqual(trouble, [], address);
      own(tab, asked, server.base);
      assert.equal(await tab.evaluate(() => document.querySelectorAll("main img, main iframe, main script, main b, main u").length), 0, address);
      assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/.test(await tab.evaluate(() => document.body.innerText)), `${address} shows what is not seen`);
      assert.ok((await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${address} is too wide`);
      await context.close();
    }
  }),

  "a server with callers asks for a token, refuses a wrong one, and keeps none": (at) => withServer(at, async (server, browser) => {
    const secret = readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
    server.useToken(secret);
    await create(server, "mine", declared("mine", "example"));
    await append(server, "mine", [rounds(10, poisson(0.1), 1)]);
    const { page: tab, trouble } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/mine`);
    await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
    assert.equal(await tab.evaluate(() => document.querySelectorAll(".epsilon").length), 0);
    await tab.fill("dialog input", "dpl_wrong");
    await tab.click("dialog button[type=submit]");
    await until(tab, () => /does not know this token/.test(document.body.innerText));
    await tab.fill("dialog input", secret);
    await tab.click("dialog button[type=submit]");
    await until(tab, () => document.querySelector(".epsilon"));
    assert.equal(await tab.evaluate((held) => JSON.stringify({ ...localStorage, ...sessionStorage }).includes(held) || document.cookie.includes(held) || location.href.includes(held), secret), false);
    await tab.click("nav.views >> text=Activity");
    await until(tab, () => /Tokens/.test(document.body.innerText));
    assert.deepEqual(trouble, []);
    await tab.reload();
    await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
  }, { filled: false, flags: ["--identity"] }),

  "a server that dies says so, and what is shown stays": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/adult-sealed-v1`);
    await until(tab, () => document.querySelector(".epsilon"));
    await server.stop({ keep: true, signal: "SIGKILL" });
    await until(tab, () => /Reconnecting/.test(document.body.innerText));
    assert.equal(await tab.evaluate(() => document.querySelectorAll(".epsilon").length), 1);
    await tab.click("nav.views >> text=Ledgers");
    await until(tab, () => /Could not get the list of ledgers/.test(document.body.innerText));
    assert.match(await text(tab), /cannot be reached/);
  }),

  "a browser gets the page at any address, a script does not, and the policy goes with it": ({ bin, page }) => withServer({ bin, page }, async (server) => {
    const html = await fetch(`${server.base}/ledger/default/a.b`, { headers: { accept: "text/html,*/*" } });
    assert.equal(html.status, 200);
    assert.match(await html.text(), /<div id="page">/);
    const policy = html.headers.get("content-security-policy");
    for (const part of ["default-src 'none'", "script-src 'self'", "worker-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "require-trusted-types-for 'script'; trusted-types dpledger-worker"]) assert.ok(policy.includes(part), part);
    assert.ok(!/unsafe/.test(policy));
    assert.equal(html.headers.get("x-content-type-options"), "nosniff");
    assert.equal((await fetch(`${server.base}/assets/none.js`)).status, 404);
    assert.equal((await fetch(`${server.base}/../store/CURRENT`)).status, 404);
    const empty = mkdtempSync(join(tmpdir(), "dpledger-no-page-"));
    const without = await startServer({ bin, page: empty });
    const answer = await fetch(without.base, { headers: { accept: "text/html" } });
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /--http-files/);
    await without.stop();
    rmSync(empty, { recursive: true });
  }, { filled: false }),

  "entries open by number and by hash, and keys move": (at) => withServer(at, async (server, browser) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/adult-logistic-eps1/entry/1017`);
    await until(tab, () => document.querySelector(".opened-entry pre"));
    const hash = await tab.evaluate(() => document.querySelector(".opened-entry .hash").title);
    await tab.goto(`${server.base}/ledger/default/adult-logistic-eps1/entry/sha256:${hash}`);
    await until(tab, () => /Entry 1,017/.test(document.body.innerText));
    await tab.keyboard.press("g");
    await tab.keyboard.press("l");
    await until(tab, () => location.pathname === "/ledgers" && document.querySelectorAll("tbody tr").length === 13);
    await tab.keyboard.press("j");
    await tab.keyboard.press("j");
    await tab.keyboard.press("Enter");
    await until(tab, () => location.pathname.startsWith("/ledger/default/adult-mlp-eps2"));
  }),
};
