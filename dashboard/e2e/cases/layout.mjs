// What has one height, one line or no need to be scrolled sideways.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPage, settled } from "../browser.mjs";
import { listOf, onServer, says, until } from "../case.mjs";
import { append, create, declared, gaussian, nameOf } from "../ledgers.mjs";
import { NO_OTHERS } from "../others.mjs";

const heights = (tab, rows) =>
  tab.evaluate(
    (rows) => [
      ...new Set(
        [...document.querySelectorAll(rows)].map((row) =>
          Math.round(row.getBoundingClientRect().height),
        ),
      ),
    ],
    rows,
  );
const LINES = "table.lines tbody tr";

export const cases = {
  "rows of the access record, of tokens and of the register are of 40 pixels": onServer(
    { filled: false, flags: ["--identity"] },
    async ({ server, browser }) => {
      const token = readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
      server.useToken(token);
      const noise = declared("mine", "example", { planIndependent: true });
      await create(server, "mine", noise);
      await append(server, "mine", [gaussian(3)]);
      await server.call("StatementService/IssueStatement", {
        statement: { ledger: nameOf("mine"), delta: 1e-5 },
        issuer: {
          name: "Somebody with a long name, and who answers for it",
          role: "head of the department of answers",
          organization: "An organisation of some size",
        },
      });
      server.useToken("dpl_wrong");
      for (let i = 0; i < 2; i++) await assert.rejects(server.call("LedgerService/ListLedgers"));
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/activity`);
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
      await tab.fill("dialog input[type=password]", token);
      await tab.click("dialog button[type=submit]");
      await until(tab, () => document.querySelectorAll("table.lines.access tbody tr").length > 2);
      await says(tab, "Tokens");
      await until(tab, () => document.querySelectorAll("table.lines").length > 1);
      for (const height of await heights(tab, LINES)) assert.ok(height <= 41, String(height));
      // What is cut is said in full under the pointer.
      const cut = "table.access td[data-label=What] .line";
      const whole = await tab.evaluate((cut) => {
        const cell = document.querySelector(cut);
        cell.closest("table").style.width = "480px";
        return cell.innerText;
      }, cut);
      // When it was is whole on a narrower screen, and rows stay low on a telephone.
      for (const width of [1024, 768, 360]) {
        await tab.setViewportSize({ width, height: 900 });
        const { cut, highest } = await tab.evaluate(() => {
          document.querySelector("table.access").style.width = "";
          const when = [...document.querySelectorAll("table.access td[data-label=When] .line")];
          const rows = [...document.querySelectorAll("table.access tbody tr")];
          return {
            cut: when.filter((one) => one.scrollWidth > one.clientWidth).length,
            highest: Math.max(...rows.map((row) => row.offsetHeight)),
          };
        });
        assert.equal(cut, 0, `at ${width}`);
        assert.ok(highest <= (width > 760 ? 41 : 140), `${highest} px at ${width}`);
      }
      await tab.setViewportSize({ width: 1280, height: 900 });
      await tab.evaluate(() => (document.querySelector("table.access").style.width = "480px"));
      await tab.mouse.move(0, 0); // it may be there since the click on "Sign in"
      await tab.hover(cut);
      await until(tab, ([cut, whole]) => document.querySelector(cut).title === whole, [cut, whole]);
      await tab.evaluate(
        (path) => {
          history.pushState(null, "", path);
          dispatchEvent(new PopStateEvent("popstate"));
        },
        `/statement?ledger=${nameOf("mine")}`,
      );
      await until(tab, () => document.querySelector("table.lines td[data-label=Number]"));
      for (const height of await heights(tab, LINES)) assert.ok(height <= 41, String(height));
      assert.deepEqual(trouble, []);
    },
  ),

  "fields beside each other are of one height": onServer(async ({ server, browser }) => {
    const { page: tab, trouble } = await openPage(browser);
    await tab.goto(`${server.base}/statement?ledger=${nameOf("readmission-risk-v3")}`);
    await settled(tab);
    await tab.click(".title .actions >> text=Issue…");
    await until(tab, () => document.querySelectorAll("dialog .plan-form input").length === 4);
    const inputs = () =>
      tab.evaluate(() =>
        [...document.querySelectorAll("dialog .plan-form input")].map((one) => {
          const { height, bottom } = one.getBoundingClientRect();
          return { height: Math.round(height), bottom: Math.round(bottom) };
        }),
      );
    const [, , role, until_] = await inputs();
    for (const { height } of await inputs()) assert.ok(Math.abs(height - 32) <= 2, String(height));
    assert.equal(role.bottom, until_.bottom);
    assert.deepEqual(trouble, []);
  }),

  "the list of ledgers has room at 1280 pixels, beside a scroll bar too": onServer(
    async ({ server, browser }) => {
      for (const width of [1280, 1265]) {
        const { page: tab, trouble } = await openPage(browser, { width });
        await tab.goto(listOf(server, NO_OTHERS));
        await until(tab, (rows) => document.querySelector(rows), LINES);
        await settled(tab);
        const { wide, room } = await tab.evaluate(() => {
          const { scrollWidth, clientWidth } = document.querySelector("table.lines").parentElement;
          return { wide: scrollWidth, room: clientWidth };
        });
        assert.ok(wide <= room, `${wide} in ${room} at ${width}`);
        assert.deepEqual(trouble, []);
      }
    },
  ),

  // At 1280 pixels the names of six runs read alike, and at 768 no state was to be seen.
  "runs are told apart by their names, and a narrow screen shows their states": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const names = [1, 2, 3].flatMap((version) => [
        `projects/health/ledgers/readmission-risk-v${version}`,
        `projects/health/ledgers/readmission-risk-of-all-hospitals-v${version}`,
      ]);
      for (const name of names) {
        const free = { planIndependent: true };
        await create(server, name, declared(`clinic-${name.slice(25)}`, "patient", free));
        await append(server, name, [gaussian(2)]);
      }
      for (const width of [1280, 1024, 768])
        for (const path of ["ledgers", ""]) {
          const { page: tab, context } = await openPage(browser, { width });
          await tab.goto(`${server.base}/${path}`);
          await until(tab, () => document.querySelectorAll("table.lines .chip").length === 6);
          await settled(tab);
          const { seen, cut, hidden } = await tab.evaluate(() => {
            const main = [...document.querySelectorAll("table.lines td.main .line")];
            const { right } = document
              .querySelector("table.lines")
              .parentElement.getBoundingClientRect();
            return {
              seen: main.map((one) => one.innerText),
              cut: main.filter((one) => one.scrollWidth > one.clientWidth).length,
              hidden: [...document.querySelectorAll("table.lines .chip")].filter(
                (one) => one.getBoundingClientRect().right > right,
              ).length,
            };
          });
          assert.equal(new Set(seen).size, 6, seen.join());
          assert.deepEqual({ cut, hidden }, { cut: 0, hidden: 0 }, `/${path} at ${width}`);
          await context.close();
        }
    },
  ),

  "names that differ by a blank at an end do not look alike": onServer(
    { filled: false },
    async ({ server, browser }) => {
      for (const [i, dataset] of ["data", "data ", "\u00a0data"].entries()) {
        const declaration = declared(dataset, "example", { planIndependent: true });
        const name = nameOf(`run-${i}`);
        const request = { name, requestId: name.slice(-5), declaration, newDataset: true };
        await server.call("LedgerService/CreateLedger", request);
      }
      const { page: tab, trouble } = await openPage(browser);
      const cells = () =>
        tab.evaluate(() =>
          [...document.querySelectorAll('table.lines td[data-label="Data set"]')].map((cell) =>
            cell.innerText.trim(),
          ),
        );
      for (const path of ["ledgers", ""]) {
        await tab.goto(`${server.base}/${path}`);
        await until(tab, () => document.querySelectorAll("table.lines tbody tr").length === 3);
        assert.deepEqual((await cells()).sort(), ["data", "data⟨U+0020⟩", "⟨U+00A0⟩data"]);
      }
      await says(tab, "data⟨U+0020⟩");
      await tab.click("table.lines a >> text=data⟨U+0020⟩");
      await until(tab, () => new URLSearchParams(location.search).get("name") === "data ");
      assert.deepEqual(trouble, []);
    },
  ),

  "a log's key can be compared whole, and copied": onServer(async ({ server, browser }) => {
    const { page: tab } = await openPage(browser);
    await tab.goto(`${server.base}/verify/default/keyboard-emoji`);
    await says(tab, "What it does not show");
    const { verifierKeys } = await server.call("AuditService/GetCheckpoint", {
      log: nameOf("keyboard-emoji"),
    });
    const shown = await tab.evaluate(() => document.querySelector("[data-key]").innerText);
    assert.equal(shown, verifierKeys.at(-1));
  }),
};
