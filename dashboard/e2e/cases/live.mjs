// What the page does while things change, and when they end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { openPage } from "../browser.mjs";
import { listOf, onServer, says, text, until } from "../case.mjs";
import { append, create, declared, poisson, steps } from "../ledgers.mjs";
import { NO_OTHERS } from "../others.mjs";

export const cases = {
  "a live trainer changes the numbers and moves nothing": onServer(async ({ server, browser }) => {
    await create(server, "live", declared("live", "example"));
    await append(server, "live", steps(0, 20, poisson(0.01), 1));
    const { page: tab, trouble } = await openPage(browser, { height: 500 });
    await tab.goto(`${server.base}/ledger/default/live`);
    await until(
      tab,
      () => document.querySelector(".epsilon") && document.querySelector(".plain-words"),
    );
    const [before, words] = await tab.evaluate(() => [
      document.querySelector(".epsilon").innerText,
      document.querySelector(".plain-words").innerText,
    ]);
    await tab.evaluate(() => scrollTo(0, 300));
    await append(server, "live", steps(20, 50, poisson(0.01), 1));
    await until(tab, (old) => document.querySelector(".epsilon").innerText !== old, before);
    // The words are of the same entries as the number.
    await until(tab, (old) => document.querySelector(".plain-words").innerText !== old, words);
    assert.equal(await tab.evaluate(() => scrollY), 300);
    assert.deepEqual(trouble, []);
  }),

  "memory does not grow with live changes, of the list and of a ledger": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "live", declared("live", "example"));
      let round = 0;
      // The page is told of a change four times a second at most.
      const change = async (times) => {
        for (let i = 0; i < times; i++, round++) {
          await append(server, "live", steps(round, 1, poisson(0.01), 1));
          await new Promise((done) => setTimeout(done, 50));
        }
      };
      await change(5);
      for (const address of ["/ledgers", "/ledger/default/live"]) {
        const { page: tab, context, trouble } = await openPage(browser);
        await tab.goto(server.base + address);
        await until(tab, () => document.querySelector(".epsilon, table.rows tbody tr"));
        const inspector = await context.newCDPSession(tab);
        const held = async () => {
          await inspector.send("HeapProfiler.collectGarbage");
          const { usedSize } = await inspector.send("Runtime.getHeapUsage");
          const { nodes } = await inspector.send("Memory.getDOMCounters");
          return { usedSize, nodes };
        };
        await change(60);
        const before = await held();
        await change(300);
        const after = await held();
        // What grows is compiled code, and the browser's own notes on requests: 150 kB.
        const both = JSON.stringify({ before, after });
        assert.ok(after.usedSize < before.usedSize + 400_000, both);
        assert.ok(after.nodes < before.nodes + 100, both);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    },
  ),

  "while a trainer trains the page follows, and the reader's place stays": onServer(
    { filled: false },
    async ({ server, browser, bin }) => {
      const trainer = spawn(
        join(bin, "dp_sgd"),
        [
          "--server",
          server.address,
          "--ledger",
          "train",
          "--noise-multiplier",
          "1.1",
          "--steps",
          "1000000",
          "--spool",
          join(server.folder, "spool"),
        ],
        { stdio: "ignore" },
      );
      const ended = new Promise((done) => trainer.on("exit", done));
      try {
        const size = async () =>
          Number(
            (
              await server
                .call("LedgerService/GetLedger", { name: "projects/default/ledgers/train" })
                .catch(() => ({ size: 0 }))
            ).size,
          );
        while ((await size()) < 700) await new Promise((done) => setTimeout(done, 50));
        const { page: tab, trouble } = await openPage(browser, { height: 600 });
        const read = [];
        let costs = 0;
        tab.on("request", (request) => {
          if (/ReadEntries$/.test(request.url())) read.push(JSON.parse(request.postData()));
          if (/ComputeEpsilon$/.test(request.url())) costs++;
        });
        await tab.goto(`${server.base}/ledger/default/train`);
        await until(
          tab,
          () =>
            document.querySelector(".epsilon") &&
            document.querySelector(".recorded-row, table.rows tbody tr") &&
            document.querySelector("svg.chart, .chart svg"),
        );
        // The reader looks at a place in the list of entries, has opened the noise's table, and
        // marked a word.
        await tab.evaluate(() => {
          const box = document.querySelector(".long-box");
          box.scrollIntoView({ block: "center" });
          box.scrollTop = 44 * 300;
        });
        await until(tab, () =>
          [...document.querySelectorAll(".long-row .num")].some(
            (cell) =>
              cell.textContent === "302" && cell.closest(".long-row").innerText.includes("trainer"),
          ),
        );
        await tab.focus("#goto");
        await tab.keyboard.type("12");
        await tab.evaluate(() =>
          getSelection().setBaseAndExtent(
            document.querySelector(".section-head h2").firstChild,
            0,
            document.querySelector(".section-head h2").firstChild,
            4,
          ),
        );
        await tab.focus("#goto");
        const place = () =>
          tab.evaluate(() => {
            const box = document.querySelector(".long-box");
            return {
              page: scrollY,
              list: box.scrollTop,
              top: Math.round(box.getBoundingClientRect().top),
              first: [...document.querySelectorAll(".long-row .num")]
                .map((cell) => cell.textContent)
                .slice(0, 5),
              focus: document.activeElement.id,
              typed: document.querySelector("#goto").value,
            };
          });
        const before = await place();
        const shown = () =>
          tab.evaluate(() => ({
            epsilon: document.querySelector(".epsilon").innerText,
            rows: Number(document.querySelector(".long").getAttribute("aria-rowcount")),
          }));
        const first = await shown();
        read.length = costs = 0;
        let [last, updates] = [first, 0];
        for (const until = Date.now() + 30000; updates < 4 && Date.now() < until;) {
          await tab.waitForTimeout(100);
          const now = await shown();
          if (now.rows > last.rows) updates++;
          assert.ok(now.rows >= last.rows, "a ledger only grows");
          last = now;
        }
        assert.ok(updates >= 4, "the list follows");
        assert.notEqual(last.epsilon, first.epsilon);
        const after = await place();
        // What stands above may gain a line (a wider number): the list keeps its place on the
        // screen, or the page its own.
        assert.ok(
          after.page === before.page || after.top === before.top,
          JSON.stringify([before, after]),
        );
        assert.deepEqual(
          [after.list, after.first, after.focus, after.typed],
          [before.list, before.first, before.focus, before.typed],
        );
        // Nothing is read twice: every page of entries begins where the one before it ended, or
        // was given up. How far behind the trainer that is depends on the machine; the beginning
        // is not read again.
        const grouped = read
          .filter((one) => one.pageSize !== 200)
          .map((one) => Number(one.firstSequence));
        assert.ok(
          grouped.length >= 2 &&
            grouped.every((from, i) => from > 0 && (i === 0 || from >= grouped[i - 1])),
          grouped.join(),
        );
        // A chart that asks for all its points again takes 48 a change, and there may be more
        // changes than were seen here.
        assert.ok(costs <= 30 * (updates + 2), `${costs} questions for ${updates} updates`);
        assert.deepEqual(trouble, []);
      } finally {
        trainer.kill("SIGINT");
        await ended;
      }
    },
  ),

  "a new ledger waits in a chip until the reader wants it": onServer(
    async ({ server, browser }) => {
      const { page: tab } = await openPage(browser);
      await tab.goto(listOf(server, NO_OTHERS));
      await until(tab, () => document.querySelectorAll("tbody tr").length === 13);
      await create(server, "a-first-by-name", declared("new", "example"));
      await until(tab, () => /1 new: show/.test(document.body.innerText));
      assert.equal(await tab.evaluate(() => document.querySelectorAll("tbody tr").length), 13);
      await tab.click("text=1 new: show");
      assert.equal(await tab.evaluate(() => document.querySelectorAll("tbody tr").length), 14);
    },
  ),

  "a list of a million entries keeps its place while it grows": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "grows", declared("grows", "example"));
      await append(server, "grows", steps(0, 100, poisson(0.01), 1));
      const { page: tab, context } = await openPage(browser);
      // So many entries take a minute to make: the server's answers speak of as many, each a copy
      // of one of the first.
      let size = 1_000_000;
      await context.route(/LedgerService\/GetLedger$/, async (route) => {
        const body = await (await route.fetch()).json();
        await route.fulfill({
          status: 200,
          contentType: "application/json",
          body: JSON.stringify({ ...body, size: String(size) }),
        });
      });
      await context.route(/ReadEntries$/, async (route) => {
        const asked = JSON.parse(route.request().postData());
        await route.continue({
          postData: JSON.stringify({
            ...asked,
            firstSequence: String(Number(asked.firstSequence) % 100),
          }),
        });
      });
      await tab.goto(`${server.base}/ledger/default/grows`);
      await until(tab, () => document.querySelector(".long-row"));
      await tab.evaluate(() => {
        const box = document.querySelector(".long-box");
        box.scrollIntoView();
        box.scrollTop = box.scrollHeight / 2;
      });
      const rows = () =>
        tab.evaluate(() => {
          const box = document.querySelector(".long-box").getBoundingClientRect();
          return [...document.querySelectorAll(".long-row")]
            .filter(
              (row) =>
                row.getBoundingClientRect().bottom > box.top &&
                row.getBoundingClientRect().top < box.bottom,
            )
            .map((row) => [
              row.querySelector(".num").textContent,
              Math.round(row.getBoundingClientRect().top - box.top),
            ]);
        });
      await tab.waitForTimeout(200);
      const before = await rows();
      assert.ok(
        before.length >= 9 && Number(before[0][0].replace(/,/g, "")) > 400_000,
        JSON.stringify(before),
      );
      size = 1_300_000;
      await append(server, "grows", steps(100, 1, poisson(0.01), 1));
      await until(
        tab,
        () => document.querySelector(".long").getAttribute("aria-rowcount") === "1300001",
      );
      await tab.waitForTimeout(200);
      assert.deepEqual(await rows(), before);
    },
  ),

  "a server whose clock is off, that answers late, or that is newer is shown as such": onServer(
    async ({ server, browser }) => {
      {
        const { page: tab, context } = await openPage(browser);
        await tab.clock.setSystemTime(Date.now() + 30 * 60000);
        await tab.goto(listOf(server, NO_OTHERS));
        await says(tab, "clock is 30 min behind");
        await context.close();
      }
      {
        const { page: tab, context, trouble } = await openPage(browser);
        let held;
        await context.route(/ListLedgers$/, async (route) => {
          await new Promise((done) => (held = done));
          await route.continue();
        });
        await tab.goto(listOf(server, NO_OTHERS));
        await until(tab, () => document.querySelector(".loading[role=status]"));
        held();
        await until(tab, () => document.querySelectorAll("tbody tr").length === 13);
        assert.deepEqual(trouble, []);
        await context.close();
      }
      {
        const { page: tab, context, trouble } = await openPage(browser);
        await context.route(/LedgerService\/GetLedger$/, async (route) => {
          const body = await (await route.fetch()).json();
          await route.fulfill({
            status: 200,
            contentType: "application/json",
            body: JSON.stringify({
              ...body,
              state: 17,
              fromTheFuture: { a: 1 },
              declaration: { ...body.declaration, adjacency: "SOME_NEW_ADJACENCY", parameters: 9 },
            }),
          });
        });
        await tab.goto(`${server.base}/ledger/default/adult-sealed-v1`);
        await until(tab, () => document.querySelector(".epsilon"));
        assert.match(await text(tab), /SOME_NEW_ADJACENCY|some new adjacency/i);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    },
  ),

  "ledgers that cannot be read are said beside the others": onServer(
    async ({ server, browser }) => {
      await create(server, "whole", declared("damage", "example"));
      const { page: tab, context, trouble } = await openPage(browser);
      let damaged = Array.from({ length: 7 }, (_, i) => ({
        name: `projects/default/ledgers/d${i}`,
        message: `projects/default/ledgers/d${i}: its head is <b>not</b> authentic`,
      }));
      await context.route(/ListLedgers$/, async (route) => {
        const body = await (await route.fetch()).json();
        await route.fulfill({
          status: 200,
          contentType: "application/json",
          body: JSON.stringify({ ...body, damaged }),
        });
      });
      await tab.goto(listOf(server, NO_OTHERS));
      await says(tab, "7 ledgers cannot be read");
      const words = await text(tab);
      assert.match(words, /ledgers\/d4: its head is <b>not<\/b> authentic/);
      assert.doesNotMatch(words, /ledgers\/d5/);
      assert.match(words, /And others/);
      assert.match(words, /whole/);
      damaged = [];
      await append(server, "whole", steps(0, 1, poisson(0.01), 1));
      await until(tab, () => !document.body.innerText.includes("cannot be read"));
      assert.deepEqual(trouble, []);
    },
  ),

  "a stream that ends in the middle is taken up again where it ended": onServer(
    async ({ server, browser }) => {
      const { page: tab, context, trouble } = await openPage(browser);
      const tokens = [];
      let cut = true;
      await context.route(/WatchLedgers$/, async (route) => {
        const body = route.request().postDataBuffer();
        tokens.push(JSON.parse(body.subarray(5).toString()).resumeToken ?? "");
        if (!cut) return route.continue();
        cut = false;
        // One whole message, and half of the next one.
        const message = Buffer.from(
          JSON.stringify({ resumeToken: "", serverTime: new Date().toISOString() }),
        );
        const head = Buffer.alloc(5);
        head.writeUInt32BE(message.length, 1);
        await route.fulfill({
          status: 200,
          contentType: "application/connect+json",
          body: Buffer.concat([head, message, head, message.subarray(0, 9)]),
        });
      });
      await tab.goto(listOf(server, NO_OTHERS));
      await until(tab, () => document.querySelectorAll("tbody tr").length === 13);
      await until(tab, () => document.querySelector(".live [role=status]").textContent === "Live");
      assert.ok(tokens.length >= 2);
      await append(server, "keyboard-emoji", steps(0, 1, poisson(0.01), 1));
      await until(tab, () =>
        [...document.querySelectorAll("tbody tr")].some(
          (row) =>
            /keyboard-emoji/.test(row.innerText) && /[^0-9]5[^0-9]/.test(` ${row.innerText} `),
        ),
      );
      assert.deepEqual(trouble, []);
    },
  ),

  "a server that dies says so, and what is shown stays": onServer(async ({ server, browser }) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/ledger/default/adult-sealed-v1`);
    await until(tab, () => document.querySelector(".epsilon"));
    await server.stop({ keep: true, signal: "SIGKILL" });
    await until(tab, () =>
      /Reconnecting, shown is the state of \d{1,2} \w+, \d\d:\d\d$/m.test(document.body.innerText),
    );
    assert.equal(await tab.evaluate(() => document.querySelectorAll(".epsilon").length), 1);
    await tab.click("nav.views >> text=Ledgers");
    await until(tab, () => /Could not get the list of ledgers/.test(document.body.innerText));
    assert.match(await text(tab), /cannot be reached/);
  }),
};
