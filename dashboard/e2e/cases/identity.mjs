// Who asks: tokens, refusals, and what a browser keeps of either.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { openPage, settled } from "../browser.mjs";
import { command, onBrowser, onServer, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian, nameOf, poisson, rounds } from "../ledgers.mjs";
import { folderWith, OTHERS } from "../others.mjs";
import { startServer } from "../server.mjs";

const firstToken = (server) =>
  readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
const newToken = (bin, server, name, grant, ...more) =>
  JSON.parse(
    command(
      bin,
      "admin",
      "token",
      "create",
      name,
      "--grant",
      grant,
      ...more,
      "--server",
      server.address,
      "--token-file",
      join(server.folder, "store.tokens.first-admin"),
      "--json",
    ),
  ).secret;
async function signIn(tab, secret) {
  await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
  await tab.fill("dialog input[type=password]", secret);
  await tab.click("dialog button[type=submit]");
  await until(tab, () => !document.querySelector("dialog[open]"));
}

const KNOWN = { filled: false, flags: ["--identity"] };
const BY_NAME = { filled: false, flags: ["--identity", "--http-host", "ledger.test"] };

export const cases = {
  "a server with callers asks for a token, refuses a wrong one, and keeps none": onServer(
    KNOWN,
    async ({ server, browser }) => {
      const secret = firstToken(server);
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
      assert.equal(
        await tab.evaluate(
          (held) =>
            JSON.stringify({ ...localStorage, ...sessionStorage }).includes(held) ||
            document.cookie.includes(held) ||
            location.href.includes(held),
          secret,
        ),
        false,
      );
      await tab.click("nav.views >> text=Activity");
      await until(tab, () => /Tokens/.test(document.body.innerText));
      assert.deepEqual(trouble, []);
      await tab.reload();
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
    },
  ),

  "a refusal that comes as the reader signs in is none of the new token": onServer(
    KNOWN,
    async ({ server, browser }) => {
      const secret = firstToken(server);
      server.useToken(secret);
      await create(server, "mine", declared("mine", "example"));
      const { page: tab, trouble } = await openPage(browser);
      // The first answer is held until the form is filled in, for which another call was refused
      // meanwhile, and the form is sent in the frame in which the page reads that answer.
      await tab.addInitScript(() => {
        const real = fetch;
        let first = true;
        globalThis.fetch = async (...given) => {
          const answer = await real(...given);
          if (!first || !String(given[0]).endsWith("/ListLedgers")) return answer;
          first = false;
          await new Promise((resolve) => (globalThis.letRefuse = resolve));
          setTimeout(() => document.querySelector("dialog form").requestSubmit());
          return answer;
        };
      });
      await tab.goto(`${server.base}/ledgers`);
      await until(
        tab,
        () => globalThis.letRefuse && document.querySelector("dialog[open] input[type=password]"),
      );
      await tab.check("dialog input[type=checkbox]");
      await tab.fill("dialog input[type=password]", secret);
      await tab.evaluate(() => globalThis.letRefuse());
      await until(tab, () => !document.querySelector("dialog[open]"));
      await says(tab, "mine");
      await says(tab, "Sign out");
      assert.deepEqual(trouble, []);
    },
  ),

  "a token that ends while it is used: the page asks for another, and keeps what it shows":
    onServer(KNOWN, async ({ server, browser, bin }) => {
      server.useToken(firstToken(server));
      await create(server, "mine", declared("mine", "example"));
      await append(server, "mine", [rounds(10, poisson(0.1), 1)]);
      for (const [name, end] of [
        ["expires", "expired"],
        ["revoked", "revoked"],
      ]) {
        const { page: tab, context, trouble } = await openPage(browser);
        await tab.goto(`${server.base}/ledger/default/mine`);
        await signIn(
          tab,
          newToken(
            bin,
            server,
            name,
            "auditor *",
            ...(name === "expires" ? ["--expires-in", "30s"] : []),
          ),
        );
        await until(tab, () => document.querySelector(".epsilon"));
        const before = await tab.evaluate(() => document.querySelector(".epsilon").innerText);
        if (name === "revoked")
          command(
            bin,
            "admin",
            "token",
            "revoke",
            name,
            "--server",
            server.address,
            "--token-file",
            join(server.folder, "store.tokens.first-admin"),
          );
        // Its stream ends with the token, and no click is needed to learn of it.
        await until(tab, () =>
          /no longer takes this token/.test(document.querySelector("dialog[open]")?.innerText),
        );
        assert.equal(
          await tab.evaluate(() => document.querySelector(".epsilon").innerText),
          before,
          "what was shown stays",
        );
        const { ledgers } = await server.call("LedgerService/ListLedgers", {
          parent: "projects/-",
        });
        assert.ok(ledgers.length >= 1, `${end}: the server itself is well`);
        await signIn(tab, newToken(bin, server, `after-${name}`, "auditor *"));
        await append(server, "mine", [rounds(10, poisson(0.1), 1)]);
        await until(tab, (old) => document.querySelector(".epsilon").innerText !== old, before);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    }),

  "who may not is told so, and sees what he may": onServer(
    KNOWN,
    async ({ server, browser, bin }) => {
      server.useToken(firstToken(server));
      await create(server, "mine", declared("mine", "example"));
      await append(server, "mine", [rounds(10, poisson(0.1), 1)]);
      await create(server, "other", declared("other", "example"));
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/mine`);
      await signIn(tab, newToken(bin, server, "analyst", "analyst projects/default/ledgers/mine"));
      await until(tab, () => document.querySelector(".epsilon"));
      await says(tab, "Could not get the entries");
      assert.match(await text(tab), /has no right to read_entries/);
      await tab.click("nav.views >> text=Ledgers");
      await until(tab, () => document.querySelectorAll("tbody tr").length === 1);
      assert.doesNotMatch(await text(tab), /other/, "what he may not see is not there");
      await tab.click("nav.views >> text=Recompute");
      await says(tab, "Could not get recomputation");
      await tab.click("nav.views >> text=Activity");
      await says(tab, "Only administrators see the access record");
      assert.equal(
        await tab.evaluate(() => document.querySelectorAll("dialog[open]").length),
        0,
        "a refusal of a right asks for no token",
      );
      assert.deepEqual(trouble, []);
    },
  ),

  // A page load once put five refusals on record, and Activity three of whoever may not see it.
  "a view that is refused as a whole puts one refusal on record": onServer(
    KNOWN,
    async ({ server, browser, bin }) => {
      server.useToken(firstToken(server));
      await create(server, "mine", declared("mine", "example"));
      for (const view of ["/", "/ledgers", "/ledger/default/mine", "/recompute", "/activity"]) {
        const { page: tab, context } = await openPage(browser);
        const refused = [];
        tab.on("response", (answer) => answer.status() === 401 && refused.push(answer.url()));
        await tab.goto(server.base + view);
        await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
        await settled(tab);
        assert.equal(refused.length, 1, `${view}: ${refused.join()}`);
        await context.close();
      }
      const { page: tab } = await openPage(browser);
      const denied = [];
      tab.on("response", (answer) => answer.status() === 403 && denied.push(answer.url()));
      await tab.goto(`${server.base}/ledgers`);
      await signIn(tab, newToken(bin, server, "auditor", "auditor *"));
      await until(tab, () => document.querySelectorAll("tbody tr").length === 1);
      await tab.click("nav.views >> text=Activity");
      await says(tab, "Only administrators see the access record");
      await settled(tab);
      const asked = denied.map((url) => url.split("/").at(-1));
      assert.deepEqual(asked, ["ListAccess"]);
    },
  ),

  "an administrator asks who exported a ledger, and who was refused": onBrowser(
    async ({ browser, folder, bin, page }) => {
      const flags = ["--identity"];
      const store = await folderWith(OTHERS, { bin, page });
      let server = await startServer({ bin, page, flags, folder: store });
      try {
        const admin = firstToken(server);
        server.useToken(admin);
        for (const id of ["mine", "other"]) {
          await create(server, id, declared(id, "example"));
          await append(server, id, [rounds(10, poisson(0.1), 1), gaussian(3)]);
        }
        const token = join(folder, "token");
        writeFileSync(token, newToken(bin, server, "bob", "auditor *"), { mode: 0o600 });
        const at = ["--server", server.address, "--token-file", token];
        for (const id of ["mine", "other"])
          command(bin, "ledger", "export", id, ...at, "--output", join(folder, `${id}.bundle`));
        server.useToken(newToken(bin, server, "eve", "analyst projects/none"));
        const refused = 25;
        for (let i = 0; i < refused; i++)
          await assert.rejects(
            server.call("LedgerService/ReadEntries", { ledger: nameOf("mine"), forExport: true }),
            { code: "permission_denied" },
          );
        // The minute of its reads is on record when a server has ended.
        await server.stop({ keep: true });
        server = await startServer({ bin, page, flags, folder: server.folder });
        server.useToken(admin);

        const { page: tab, trouble } = await openPage(browser);
        const rows = (title) =>
          tab.evaluate(
            (title) =>
              [...document.querySelectorAll("main .section")]
                .filter((section) => section.querySelector("h2").innerText === title)
                .flatMap((section) => [...section.querySelectorAll("tbody tr")])
                .map((row) => row.innerText.replace(/\s+/g, " ")),
            title,
          );
        const found = (count) =>
          until(tab, (count) => document.querySelectorAll("main tbody tr").length === count, count);
        await tab.goto(`${server.base}/ledger/default/mine`);
        await signIn(tab, admin);
        await tab.click("aside >> text=Who read it");
        await tab.waitForURL(
          `${server.base}/activity?${new URLSearchParams({ ledger: nameOf("mine") })}`,
        );
        await until(tab, () => document.querySelectorAll("main .section").length === 2);
        await says(tab, "token:bob");
        assert.equal((await rows("Refused to known callers")).length, 20);
        await tab.click("text=Look further back");
        await until(tab, () => !/Look further back/.test(document.body.innerText));
        const turned = await rows("Refused to known callers");
        assert.equal(turned.length, refused);
        for (const row of turned)
          assert.match(
            row,
            /^token:eve refused export on mine: the caller does not have .* 127\.0\.0\.1:/,
          );
        // The file has all pages, and the address as JSON is what is shown.
        const coming = tab.waitForEvent("download");
        await tab.click("text=CSV of all pages");
        const file = readFileSync(await (await coming).path(), "utf8")
          .trim()
          .split("\n");
        assert.match(file[0], /^time,caller,from,refused,/);
        assert.equal(file.filter((line) => line.includes("token:eve")).length, refused);
        assert.ok(file.slice(1).every((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z,/.test(line)));
        const json = await tab.getAttribute("text=This page as JSON", "href");
        assert.match(json, /AdminService\/ListAccess\?/);
        // By the fields, which the address has too.
        await tab.selectOption("select[name=permission]", "export");
        await tab.fill("input[name=caller]", "token:bob");
        await tab.click("main form >> text=Filter");
        await found(1);
        assert.match((await rows("Access record"))[0], /^token:bob export on mine, 3 entries/);
        assert.deepEqual(Object.fromEntries(new URL(tab.url()).searchParams), {
          ledger: nameOf("mine"),
          caller: "token:bob",
          permission: "export",
        });
        await tab.goto(`${server.base}/activity?permission=export&refused=1`);
        await signIn(tab, admin);
        await found(refused);
        assert.equal(await tab.inputValue("select[name=refused]"), "1");
        await tab.fill("input[name=caller]", "token:bob");
        await tab.selectOption("select[name=refused]", "");
        await tab.click("main form >> text=Filter");
        await says(tab, "export on other, 3 entries");
        await tab.goBack();
        await found(refused);
        await tab.fill("input[name=caller]", "token:nobody");
        await tab.click("main form >> text=Filter");
        await says(tab, "Nothing found");
        assert.deepEqual(trouble, []);
      } finally {
        await Promise.all(browser.contexts().map((context) => context.close()));
        await server.stop();
      }
    },
  ),

  "a server without callers keeps no access record, and says so": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/activity?ledger=mine`);
      await says(tab, "This one does not.");
      await tab.goto(`${server.base}/activity`);
      await until(tab, () =>
        /last heard \d+ \w+ 20\d\d[^\n]*\d\d:\d\d:\d\d \S+/.test(document.body.innerText),
      );
      assert.equal(await tab.evaluate(() => document.querySelector("main form")), null);
      assert.deepEqual(trouble, []);
    },
  ),

  "who stays signed in holds no token, and is signed in after a reload": onServer(
    KNOWN,
    async ({ server, browser, bin }) => {
      server.useToken(firstToken(server));
      await create(server, "mine", declared("mine", "example"));
      await append(server, "mine", [rounds(10, poisson(0.1), 1)]);
      const secret = newToken(bin, server, "stays", "auditor *");
      const { page: tab, context, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/mine`);
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
      await tab.check("dialog input[type=checkbox]");
      await signIn(tab, secret);
      await until(tab, () => document.querySelector(".epsilon"));
      const sent = [];
      tab.on("request", (request) => sent.push(request.headers().authorization));
      await tab.click("nav.views >> text=Ledgers");
      await until(tab, () => document.querySelectorAll("tbody tr").length >= 1);
      await tab.goBack();
      await tab.reload();
      await until(
        tab,
        () => document.querySelector(".epsilon") && document.querySelector(".live-dot.live"),
      );
      assert.equal(await tab.evaluate(() => document.querySelectorAll("dialog[open]").length), 0);
      assert.ok(
        sent.length > 5 && sent.every((header) => header === undefined),
        "no script holds the token",
      );
      assert.equal(
        await tab.evaluate(
          (held) =>
            JSON.stringify({ ...localStorage, ...sessionStorage }).includes(held) ||
            document.cookie !== "" ||
            location.href.includes(held),
          secret,
        ),
        false,
      );
      const [cookie, ...more] = await context.cookies();
      assert.deepEqual(
        [
          cookie.name,
          cookie.value,
          cookie.httpOnly,
          cookie.secure,
          cookie.sameSite,
          cookie.expires,
          more.length,
        ],
        ["__Host-dpledger", secret, true, true, "Strict", -1, 0],
      );
      // Links to the data work, and so does verifying, which a Worker asks for.
      await tab.goto(`${server.base}/ledger/default/mine?format=json`);
      await tab.waitForURL(/ComputeEpsilon/);
      assert.ok(JSON.parse(await tab.evaluate(() => document.body.innerText)).epsilon.upper > 0);
      await tab.goto(`${server.base}/verify/default/mine`);
      await until(tab, () => document.querySelectorAll("[data-check]").length === 8);
      assert.equal(
        await tab.evaluate(() => document.querySelector("[data-check=entries]").dataset.outcome),
        "held",
      );
      // A page of another port of this host is of the same site: its browser sends the cookie,
      // and the server does not count it.
      const other = createServer((_, answer) =>
        answer
          .writeHead(200, { "content-type": "text/html" })
          .end("<!doctype html><title>other</title>"),
      );
      await new Promise((done) => other.listen(0, "127.0.0.1", done));
      try {
        const evil = await context.newPage();
        await evil.goto(`http://127.0.0.1:${other.address().port}/`);
        const tried = await evil.evaluate(async (base) => {
          const one = async (path, more) =>
            (
              await fetch(base + path, {
                mode: "no-cors",
                credentials: "include",
                ...more,
              }).catch(() => ({ status: "failed" }))
            ).status;
          return [
            await one("/session", { method: "POST" }),
            await one("/dpledger.v1.LedgerService/ListLedgers", {
              method: "POST",
              headers: { "content-type": "text/plain" },
              body: "{}",
            }),
          ];
        }, server.base);
        assert.deepEqual(tried, [0, 0], "answers that it may not read");
        const message = '{"parent":"projects/-"}';
        const query = new URLSearchParams({ connect: "v1", encoding: "json", message });
        const data = `${server.base}/dpledger.v1.LedgerService/ListLedgers?${query}`;
        const [followed] = await Promise.all([
          evil.waitForResponse(data),
          evil.evaluate((to) => {
            location.href = to;
          }, data),
        ]);
        assert.equal(followed.status(), 401, "a link of its own shows nothing");
        await evil.waitForURL(data);
        assert.equal(
          (await evil.goto(data)).status(),
          200,
          "by hand in the address bar it is the reader's own",
        );
        await evil.close();
      } finally {
        other.close();
      }
      // Signing out ends the cookie; a revoked token ends it too.
      await tab.goto(`${server.base}/ledger/default/mine`);
      await until(tab, () => document.querySelector(".epsilon"));
      await tab.click(".top-side >> text=Sign out");
      await until(tab, () => document.querySelector("dialog[open]"));
      for (let left = 50; (await context.cookies()).length && left; left--)
        await tab.waitForTimeout(50);
      assert.deepEqual(await context.cookies(), []);
      await tab.check("dialog input[type=checkbox]");
      await signIn(tab, secret);
      await until(tab, () => document.querySelector(".epsilon"));
      command(
        bin,
        "admin",
        "token",
        "revoke",
        "stays",
        "--server",
        server.address,
        "--token-file",
        join(server.folder, "store.tokens.first-admin"),
      );
      await until(tab, () =>
        /no longer takes this token/.test(document.querySelector("dialog[open]")?.innerText),
      );
      assert.deepEqual(trouble, []);
    },
  ),

  "a browser that drops the cookie is told so, and the token is used until the reload": onServer(
    BY_NAME,
    async ({ server, browser }) => {
      const { page: tab } = await openPage(browser);
      await tab.goto(`${server.base.replace("127.0.0.1", "ledger.test")}/ledgers`);
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
      await tab.check("dialog input[type=checkbox]");
      await tab.fill("dialog input[type=password]", firstToken(server));
      await tab.click("dialog button[type=submit]");
      await says(tab, "You are signed in until you reload");
      await tab.click("dialog >> text=Not now");
      await until(
        tab,
        () =>
          /No ledger|no ledger/.test(document.querySelector("main").innerText) ||
          document.querySelectorAll("tbody tr").length > 0,
      );
      await tab.reload();
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
    },
  ),
};
