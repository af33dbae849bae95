// The verify view and the verifier in one file: what holds, and what is shown of everything that
// does not.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../browser.mjs";
import {
  checked,
  command,
  onBrowser,
  onServer,
  outcomes,
  recomputes,
  says,
  text,
  until,
} from "../case.mjs";
import { append, create, declared, fill, gaussian, nameOf, poisson, steps } from "../ledgers.mjs";
import { folderWith, OTHERS } from "../others.mjs";
import { sleep, startProgram, startServer } from "../server.mjs";

// A verifier key that is well formed, of nobody.
function keyOf(name, type) {
  const bytes = Buffer.concat([Buffer.from([type]), Buffer.alloc(32, 7)]);
  const id = createHash("sha256").update(`${name}\n`).update(bytes).digest("hex").slice(0, 8);
  return { id, text: `${name}+${id}+${bytes.toString("base64")}` };
}

export const cases = {
  "a ledger verifies from the server, and again as a continuation": onServer(
    async ({ server, browser, page }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/verify/default/adult-logistic-eps1`);
      await checked(tab);
      assert.deepEqual(await outcomes(tab), {
        signature: "held",
        registry: "held",
        entries: "held",
        formed: "held",
        cost: recomputes(page) ? "held" : "none",
        history: "none",
        key: "none",
        witness: "none",
      });
      await append(server, "keyboard-emoji", [gaussian(5)]);
      await sleep(800);
      await tab.goto(`${server.base}/verify/default/keyboard-emoji`);
      await checked(tab);
      assert.equal((await outcomes(tab)).history, "held");
      assert.match(
        await text(tab),
        recomputes(page)
          ? /Recomputed here: ε is in \[[\d., ]+\] \(δ = 10⁻⁵, zero out one, fixed plan\). It/
          : /no accounting is in this page[\s\S]*It was not recomputed here/,
      );
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
    },
  ),

  "served entries that were changed are shown as such": onServer(async ({ server, browser }) => {
    const { page: tab, context } = await openPage(browser);
    await context.route(/ReadEntries$/, async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const at = 1000 - Number(JSON.parse(route.request().postData()).firstSequence);
      const bent = Buffer.from(body.entries[at], "base64");
      bent[bent.length - 1] ^= 1;
      body.entries[at] = bent.toString("base64");
      await route.fulfill({
        status: 200,
        contentType: "application/json",
        body: JSON.stringify(body),
      });
    });
    await tab.goto(`${server.base}/verify/default/adult-logistic-eps1`);
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "failed");
    assert.match(await text(tab), /all entries failed[\s\S]*Do not rely on what this ledger shows/);
    assert.match(await text(tab), /entry 1,000 is the first that differs/);
    await context.unroute(/ReadEntries$/);
    await context.route(/ReadEntries$/, (route) => route.abort());
    await tab.reload();
    await checked(tab);
    assert.equal((await outcomes(tab)).entries, "unfinished");
    assert.match(await text(tab), /Nothing is wrong as far as it went, and nothing is proved/);
  }),

  "a store that somebody changed is shown as such": onBrowser(async ({ browser, bin, page }) => {
    const ledger = "adult-logistic-eps1";
    const change = (server, from, to) =>
      execFileSync(join(bin, "change_entry"), [
        join(server.folder, "store"),
        nameOf(ledger),
        from,
        to,
      ]);
    let server = await startServer({ bin, page, folder: await folderWith(OTHERS, { bin, page }) });
    try {
      await fill(server);
      await sleep(800);
      const again = async (between) => {
        await server.stop({ keep: true });
        await between();
        server = await startServer({ bin, page, folder: server.folder });
      };
      const look = async (ledger) => {
        const { page: tab, context, trouble } = await openPage(browser);
        await tab.goto(`${server.base}/verify/default/${ledger}`);
        await checked(tab);
        const found = {
          outcomes: await outcomes(tab),
          words: await text(tab),
          title: await tab.evaluate(() => document.querySelector(".verdict").className),
        };
        assert.deepEqual(trouble, []);
        await context.close();
        return found;
      };
      // The control: a restart alone changes nothing, and the ledger beside the changed one stays
      // whole.
      await again(() => undefined);
      assert.equal((await look(ledger)).outcomes.entries, "held");
      await again(() => change(server, "gradient", "gradieNt")); // in its first release, entry 2
      const bent = await look(ledger);
      assert.deepEqual(
        [
          bent.outcomes.signature,
          bent.outcomes.registry,
          bent.outcomes.entries,
          bent.outcomes.formed,
        ],
        ["held", "held", "failed", "none"],
      );
      assert.match(bent.words, /all entries failed[\s\S]*Do not rely on what this ledger shows/);
      // Said by the server, which reads its own tiles, or found by the page.
      assert.match(bent.words, /entry 2 is (not what was signed|the first that differs)/);
      assert.match(bent.title, /bad/);
      assert.equal((await look("adult-mlp-eps2")).outcomes.entries, "held");
      await again(() => change(server, "gradieNt", "gradient"));
      assert.equal((await look(ledger)).outcomes.entries, "held", "and what is put back is whole");
    } finally {
      await server.stop();
    }
  }),

  "what a server says of its own damage is a failure, and no lost connection": onServer(
    async ({ server, browser }) => {
      const { page: tab, context } = await openPage(browser);
      await context.route(/ReadEntries$/, (route) =>
        route.fulfill({
          status: 500,
          contentType: "application/json",
          body: '{"code":"data_loss","message":"row 3 does not agree with its hash"}',
        }),
      );
      await tab.goto(`${server.base}/verify/default/keyboard-emoji`);
      await checked(tab);
      assert.equal((await outcomes(tab)).entries, "failed");
      assert.match(
        await text(tab),
        /The server cannot show what it signed: row 3 does not agree with its hash/,
      );
    },
  ),

  "a witness's cosignature counts with its key, and is not counted without": onBrowser(
    async ({ browser, folder, bin, page }) => {
      const origin = "witness.example/w";
      const words = ["--signing-key", join(folder, "witness.pem"), "--name", origin];
      const key = execFileSync(join(bin, "dpledger-witness"), [...words, "--print-key"], {
        encoding: "utf8",
      }).trim();
      let server = await startServer({
        bin,
        page,
        folder: await folderWith(OTHERS, { bin, page }),
      });
      let witness;
      try {
        await fill(server);
        await sleep(600);
        const log = (await server.call("AuditService/GetCheckpoint", {})).verifierKeys[0];
        const { page: tab, trouble } = await openPage(browser);
        const look = async (keys) => {
          await tab.goto(
            `${server.base}/verify/default/keyboard-emoji?${new URLSearchParams({ keys })}`,
          );
          await checked(tab);
          return {
            outcome: (await outcomes(tab)).witness,
            words: await tab.evaluate(
              () => document.querySelector("[data-check=witness]").innerText,
            ),
            all: await text(tab),
          };
        };
        const alone = await look("");
        assert.equal(alone.outcome, "none");
        assert.match(alone.words, /No witness is known/);
        assert.match(alone.all, /That others see this same history: that takes a witness/);
        const absent = await look(key);
        assert.equal(absent.outcome, "missing", "its key was given, and it did not cosign");
        assert.match(absent.all, /were signed, without a witness of yours/);
        assert.match(absent.all, /Witness witness\.example\/w: has not cosigned/);
        assert.doesNotMatch(absent.all, /Do not rely/, "nothing contradicts the record");
        // The server again, at the same address, with the witness beside it.
        const listen = server.address;
        await tab.goto("about:blank"); // or its stream would hold the server up
        await server.stop({ keep: true });
        witness = await startProgram(
          join(bin, "dpledger-witness"),
          [
            ...words,
            "--listen",
            "127.0.0.1:0",
            "--state",
            join(folder, "state"),
            "--log-key",
            log,
            "--log-server",
            `${log.split("+")[0]}=${listen}`,
          ],
          join(folder, "port"),
        );
        server = await startServer({
          bin,
          page,
          folder: server.folder,
          listen,
          flags: ["--witness", `http://${witness.address}`, "--witness-key", key],
        });
        await append(server, "keyboard-emoji", [gaussian(5)]);
        for (let note = ""; !note.includes(`— ${origin} `); await sleep(100))
          ({ note } = await server.call("AuditService/GetCheckpoint", {}));
        const unknown = await look("");
        assert.equal(unknown.outcome, "none");
        assert.match(unknown.words, /cosigned by witness\.example\/w, but you gave no key/);
        const known = await look(key);
        assert.equal(known.outcome, "held");
        assert.match(known.words, /is cosigned by witness\.example\/w/);
        assert.match(known.all, /A witness that you trust saw the same registry/);
        assert.match(known.all, /Witness witness\.example\/w: cosigned, checked with your key/);
        assert.match(unknown.all, /Witness witness\.example\/w: cosigned, it is said/);
        assert.doesNotMatch(known.all, /that takes a witness/);
        const other = execFileSync(
          join(bin, "dpledger-witness"),
          ["--signing-key", join(folder, "other.pem"), "--name", origin, "--print-key"],
          { encoding: "utf8" },
        ).trim();
        const bent = await look(other);
        assert.equal(bent.outcome, "failed", "another key of the same name");
        assert.match(bent.all, /witness\.example\/w: cosigned by another key than yours/);
        // Kept, it is used without being given; a witness of another registry is none missed.
        await look(key);
        await tab.click("text=Keep it in this browser");
        const kept = await look("");
        assert.equal(kept.outcome, "held");
        await tab.evaluate(
          (text) => localStorage.setItem("dpledger.keys", JSON.stringify([text])),
          keyOf("elsewhere.example/w", 4).text,
        );
        const foreign = await look("");
        assert.equal(foreign.outcome, "none");
        assert.match(foreign.all, /elsewhere\.example\/w: has not cosigned/);
        assert.match(foreign.all, /entries shown are the ones that were signed/);
        assert.deepEqual(trouble, []);
      } finally {
        await Promise.all(browser.contexts().map((context) => context.close()));
        await server.stop();
        witness?.child.kill();
        await witness?.ended;
      }
    },
  ),

  "a connection that is lost in the middle is not finished, and says where": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "long", declared("long", "example"));
      await append(server, "long", steps(0, 15000, poisson(0.01), 1));
      await sleep(1000);
      const { page: tab, context } = await openPage(browser);
      let asked = 0;
      await context.route(/ReadEntries$/, async (route) => {
        if (++asked === 2) await server.stop({ keep: true, signal: "SIGKILL" });
        await route.continue();
      });
      await tab.goto(`${server.base}/verify/default/long`);
      await checked(tab);
      assert.equal((await outcomes(tab)).entries, "unfinished");
      assert.match(
        await text(tab),
        /did not come to an end[\s\S]*entries were read. the connection was lost/i,
      );
      assert.doesNotMatch(await text(tab), /are the ones that were signed/);
    },
  ),

  "a bundle verifies on the page and in the file of its own, and not with any bit flipped":
    onServer(async ({ server, browser, folder, bin, page }) => {
      const path = join(folder, "adult.bundle");
      command(
        bin,
        "ledger",
        "export",
        "adult-logistic-eps1",
        "--server",
        server.address,
        "--output",
        path,
      );
      const good = readFileSync(path);
      const vkey = (await server.call("AuditService/GetCheckpoint", {})).verifierKeys[0];
      for (const address of [
        `${server.base}/verify`,
        `file://${page}/verifier/dpledger-verifier.html`,
      ]) {
        const { page: tab, context, trouble, asked } = await openPage(browser);
        await tab.goto(address);
        await until(tab, () => document.querySelector("input[type=file]"));
        await tab.fill("textarea", vkey);
        const check = async (bytes) => {
          writeFileSync(path, bytes);
          // The rows of the file before it are marked, and gone before this one's are read.
          await tab.evaluate(() =>
            document
              .querySelectorAll("[data-check]")
              .forEach((row) => row.setAttribute("data-before", "")),
          );
          await tab.setInputFiles("input[type=file]", []);
          await tab.setInputFiles("input[type=file]", path);
          await until(tab, () => !document.querySelector("[data-before]"));
          await checked(tab);
          const found = await outcomes(tab);
          return { found, failed: Object.values(found).includes("failed"), words: await text(tab) };
        };
        const whole = await check(good);
        assert.equal(whole.failed, false, JSON.stringify(whole.found));
        assert.equal(whole.found.entries, "held");
        assert.equal(whole.found.key, "held");
        // Header, keys, notes, proofs, map, points, entries and tiles; what is for reading only
        // stands at both ends.
        const first = 512 * (1 + Math.ceil(parseInt(good.subarray(124, 135).toString(), 8) / 512));
        const last = good.indexOf("events.jsonl\0") - 1;
        for (let i = 0; i < 24; i++) {
          const bent = Buffer.from(good);
          const at = first + Math.floor(((last - first) * i) / 23);
          bent[at] ^= 1 << (i % 8);
          assert.equal(
            (await check(bent)).failed,
            true,
            `${address}: bit ${i % 8} of byte ${at} flipped`,
          );
        }
        // A file that is cut, or none, says nothing of a ledger.
        const held = ({ found }) => Object.values(found).includes("held");
        for (const at of [first + 100, 20000, last, good.length - 512]) {
          const cut = await check(good.subarray(0, at));
          assert.equal(cut.failed, false, `cut at ${at}`);
          assert.match(cut.words, /This bundle is cut off/);
          assert.ok(cut.words.includes(`ends after ${at.toLocaleString("en")} bytes`), cut.words);
          assert.doesNotMatch(cut.words, /are the ones that were signed/);
        }
        const tar = Buffer.from(good);
        tar[100] ^= 1; // of its first header: as another program writes it
        const jsonl = good.subarray(last + 513, last + 1700);
        for (const [what, why] of [
          [Buffer.alloc(0), /It is empty/],
          [Buffer.from("hello"), /shorter than any bundle/],
          [Buffer.alloc(5000), /does not begin as a bundle does/],
          [jsonl, /does not begin as a bundle does/],
          [tar, /does not begin as a bundle does/],
        ]) {
          const none = await check(what);
          assert.equal(none.failed || held(none), false);
          assert.match(none.words, /This file is no bundle/);
          assert.match(none.words, why);
          assert.doesNotMatch(none.words, /Do not rely|Keep the evidence/);
        }
        assert.deepEqual(trouble, []);
        if (address.startsWith("file:"))
          assert.deepEqual(
            asked.filter((one) => !/^(file|blob|data):/.test(one)),
            [],
            "the file of its own asks nobody",
          );
        await context.close();
      }
    }),

  "a slip with a key is named as one, and the checks run again with each that is whole": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "keyed", declared("keyed", "example"));
      await append(server, "keyed", steps(0, 5, poisson(0.01), 1));
      await sleep(600);
      const log = (await server.call("AuditService/GetCheckpoint", {})).verifierKeys[0];
      const [name, id, ...parts] = log.split("+");
      const rest = parts.join("+");
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/verify/default/keyed`);
      await checked(tab);
      const give = async (text, outcome, tone) => {
        await tab.fill("main textarea", text);
        await until(
          tab,
          ([outcome, tone]) =>
            document.querySelector("[data-check=key]")?.dataset.outcome === outcome &&
            document.querySelectorAll("[data-check]").length === 8 &&
            document.querySelector(".verdict").className.trim() === `card verdict ${tone}`,
          [outcome, tone],
        );
        return tab.evaluate(() => ({
          faults: document.querySelector("[data-faults]").innerText,
          all: document.body.innerText,
        }));
      };
      // One letter of the end changed, the end cut, another text, another kind: not used, not red.
      const turned = rest.at(9) === "A" ? "B" : "A";
      for (const [slip, fault] of [
        [`${name}+${id}+${rest.slice(0, 9)}${turned}${rest.slice(10)}`, /Line 1 is mistyped/],
        [log.slice(0, -5), /Line 1 is cut or mistyped/],
        ["my key", /Line 1 is no key: a key reads NAME\+ID\+BASE64/],
        [keyOf("x", 9).text, /Line 1 is neither a log’s nor a witness’s key/],
      ]) {
        const said = await give(slip, "none", "held");
        assert.match(said.faults, fault);
        assert.match(said.faults, /It is not used/);
        assert.doesNotMatch(said.all, /Do not rely/);
      }
      const good = await give(log, "held", "held");
      assert.equal(good.faults, "");
      assert.match(good.all, new RegExp(`Key ${id}, which you gave, signed both`));
      const both = await give(`my key\n${log}`, "held", "held");
      assert.match(both.faults, /Line 1 is no key/);
      // Of another server; and of this name, which is a contradiction.
      const foreign = await give(keyOf("other.example/registry", 1).text, "missing", "warn");
      assert.match(foreign.all, /were signed, by no key that you gave/);
      assert.match(foreign.all, /another server’s registry/);
      assert.doesNotMatch(foreign.all, /Do not rely/);
      const forged = await give(keyOf(name, 1).text, "failed", "bad");
      assert.match(forged.all, /has this registry’s name.*but has not signed it/);
      assert.match(forged.all, /Do not rely on what this ledger shows/);
      // Kept by its name, shown, used, removed.
      await give(log, "held", "held");
      await tab.click("text=Keep it in this browser");
      await until(tab, () => /which you keep, signed both/.test(document.body.innerText));
      assert.equal(new URL(tab.url()).search, "");
      await tab.reload();
      await checked(tab);
      assert.match(await text(tab), /which you keep, signed both/);
      assert.ok(
        (await tab.evaluate(() => document.querySelector("main table").innerText)).includes(name),
      );
      await tab.click(`[aria-label="Remove the key of ${name}"]`);
      await until(
        tab,
        () => document.querySelector("[data-check=key]")?.dataset.outcome === "none",
      );
      assert.equal(await tab.evaluate(() => localStorage.getItem("dpledger.keys")), null);
      await tab.goto(`${server.base}/verify/default/never-made`);
      await checked(tab);
      assert.match(await text(tab), /There is no such ledger here/);
      assert.deepEqual(trouble, []);
    },
  ),

  "a bundle of 2 GB is checked, and what nobody signed of it is passed over": onServer(
    { filled: false },
    async ({ server, browser, folder, bin, page }) => {
      await create(server, "huge", declared("huge", "example"));
      await append(server, "huge", steps(0, 300, poisson(0.01), 1));
      await sleep(600);
      const path = join(folder, "huge.bundle");
      const at = ["--server", server.address, "--output", path];
      command(bin, "ledger", "export", "huge", ...at);
      const good = readFileSync(path);
      const events = good.indexOf("events.jsonl\0");
      const size = 2 * 1024 ** 3;
      // events.jsonl of 2 GiB of zeros, which take no room on the disk.
      const header = Buffer.from(good.subarray(events, events + 512));
      header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
      header.write("        ", 148);
      const sum = header.reduce((total, byte) => total + byte, 0);
      header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
      const write = (bytes) => {
        writeFileSync(path, Buffer.concat([good.subarray(0, events), header]));
        truncateSync(path, bytes);
      };
      const whole = events + 512 + size + 1024;
      for (const address of [
        `${server.base}/verify`,
        `file://${page}/verifier/dpledger-verifier.html`,
      ]) {
        const { page: tab, context, trouble } = await openPage(browser);
        await tab.goto(address);
        const check = async (bytes) => {
          write(bytes);
          await tab.setInputFiles("input[type=file]", []);
          await tab.setInputFiles("input[type=file]", path);
          await checked(tab);
          return { found: await outcomes(tab), words: await text(tab) };
        };
        const { found, words } = await check(whole);
        assert.equal(found.entries, "held", words);
        assert.match(words, /601 entries in the bundle are the ones that were signed/);
        assert.match(words, /2147\.\d MB/);
        await tab.reload();
        const cut = await check(whole - 1024 - size / 2);
        assert.deepEqual([cut.found.signature, cut.found.entries], ["held", "unfinished"]);
        assert.match(cut.words, /This bundle is cut off/);
        assert.match(cut.words, /ends after 1,07\d,\d+,\d+ bytes, in events\.jsonl/);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    },
  ),

  "the verifier finds a document in the bundle of the register, without a server": onServer(
    async ({ server, browser, bin, page }) => {
      const issuer = { organization: "Office", name: "Data unit", role: "controller" };
      const issue = (ledger) =>
        server.call("StatementService/IssueStatement", {
          statement: { ledger: nameOf(ledger) },
          issuer,
        });
      const [first, second] = [await issue("adult-logistic-eps1"), await issue("adult-sealed-v1")];
      await server.call("StatementService/WithdrawStatement", {
        number: "2",
        ledger: nameOf("adult-sealed-v1"),
        reason: "a run was missing",
      });
      const file = (name) => join(server.folder, name);
      const exported = (ledger, path) =>
        command(bin, "ledger", "export", ledger, "--server", server.address, "--output", path);
      exported("projects/statements/ledgers/register", file("register.bundle"));
      exported("adult-logistic-eps1", file("run.bundle"));
      writeFileSync(file("one.html"), first.html);
      writeFileSync(file("two.md"), second.markdown);
      writeFileSync(file("changed.html"), first.html.replace("0.9998", "0.5"));
      const { page: tab, context, trouble } = await openPage(browser);
      await tab.goto(`file://${page}/verifier/dpledger-verifier.html`);
      const check = async (bundle, document) => {
        await tab.setInputFiles("[aria-label='Statement file']", file(document));
        await tab.setInputFiles("[aria-label='Bundle file']", file(bundle));
        await says(tab, document);
        await until(tab, () => document.querySelectorAll("[data-check]").length === 9);
        return [(await outcomes(tab)).document, await text(tab)];
      };
      const [held, words] = await check("register.bundle", "one.html");
      assert.equal(held, "held");
      assert.match(words, /one.html is statement 1, stated by Data unit, controller, Office/);
      const [withdrawn, why] = await check("register.bundle", "two.md");
      assert.equal(withdrawn, "missing");
      assert.match(why, /two.md is statement 2.*and withdrawn: a run was missing/);
      assert.match(why, /are the ones that were signed, and your document does not stand/);
      for (const [bundle, document, wanted] of [
        ["register.bundle", "changed.html", /No entry has the SHA-256 of changed.html/],
        ["run.bundle", "one.html", /This is no register of statements/],
      ]) {
        const [outcome, said] = await check(bundle, document);
        assert.equal(outcome, "missing");
        assert.match(said, wanted);
      }
      assert.deepEqual(trouble, []);
      await context.close();
    },
  ),

  "verifying works without a secure context, and says that it is none": onServer(
    { flags: ["--http-host", "ledger.test"] },
    async ({ server, browser }) => {
      const { page: tab } = await openPage(browser);
      await tab.goto(
        `${server.base.replace("127.0.0.1", "ledger.test")}/verify/default/adult-sealed-v1`,
      );
      await checked(tab);
      assert.equal((await outcomes(tab)).signature, "held");
      assert.match(await text(tab), /plain HTTP[\s\S]*by this page’s own code/);
    },
  ),
};
