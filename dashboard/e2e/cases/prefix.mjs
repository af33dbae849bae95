// The page below a path of its host: a proxy takes the path off, and the server knows of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { join } from "node:path";
import { openPage, settled } from "../browser.mjs";
import { checked, onServer, outcomes, own, says, until } from "../case.mjs";
import { fill } from "../ledgers.mjs";

const PATH = "/dpledger";
async function startProxy(server) {
  const proxy = createServer((request, answer) => {
    if (!request.url.startsWith(`${PATH}/`)) return answer.writeHead(404).end();
    const { method, headers } = request;
    const url = server.base + request.url.slice(PATH.length);
    const onward = ask(url, { method, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  return { proxy, base: `http://127.0.0.1:${proxy.address().port}${PATH}` };
}

export const cases = {
  "the whole page works below a path of its host": onServer(
    { filled: false, flags: ["--identity", "--http-prefix", `${PATH}/`] },
    async ({ server, browser }) => {
      const admin = readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
      server.useToken(admin);
      await fill(server);
      const { proxy, base } = await startProxy(server);
      try {
        const { page: tab, context, trouble, asked } = await openPage(browser);
        const at = (address) => until(tab, (url) => location.href === url, base + address);
        // A deep link; the cookie of the session comes and goes by calls too.
        await tab.goto(`${base}/ledger/default/adult-sealed-v1`);
        await until(tab, () => document.querySelector("dialog[open]"));
        await tab.check("dialog input[type=checkbox]");
        await tab.fill("dialog input[type=password]", admin);
        await tab.click("dialog button[type=submit]");
        await until(
          tab,
          () => document.querySelector(".epsilon") && document.querySelector(".live-dot.live"),
        );
        assert.equal((await context.cookies()).length, 1);
        await says(tab, "--server HOST:PORT");
        // By links, keys and the way back.
        await tab.click("nav.views >> text=Ledgers");
        await at("/ledgers");
        await tab.fill("#filter", "dataset=adult");
        await tab.keyboard.press("Enter");
        await at("/ledgers?filter=dataset%3Dadult");
        await tab.click("tbody >> text=adult-mlp-eps2");
        await at("/ledger/default/adult-mlp-eps2");
        await tab.keyboard.press("g");
        await tab.keyboard.press("d");
        await at("/");
        await tab.goBack();
        await at("/ledger/default/adult-mlp-eps2");
        await until(tab, () => document.querySelector(".epsilon"));
        await tab.focus(".skip");
        await tab.keyboard.press("Enter");
        await at("/ledger/default/adult-mlp-eps2#content");
        await tab.fill(".ask input", "1e-6");
        await tab.keyboard.press("Enter");
        await at("/ledger/default/adult-mlp-eps2?delta=1e-6");
        await tab.reload();
        await until(tab, () => document.querySelector(".epsilon"));
        // The worker, and its calls.
        await tab.goto(`${base}/verify/default/adult-sealed-v1`);
        await checked(tab);
        assert.equal((await outcomes(tab)).entries, "held");
        await tab.goto(`${base}/ledger/default/adult-sealed-v1?format=json`);
        await tab.waitForURL(`${base}/dpledger.v1.AccountingService/ComputeEpsilon?*`);
        // Every address that a view names is below the path, and what it asks for too.
        for (const address of [
          "/",
          "/dataset?name=adult",
          "/ledgers",
          "/ledger/default/adult-mlp-fine-tune/entry/1",
          "/verify",
          "/statement?ledger=adult-logistic-eps1",
          "/recompute",
          "/activity",
          "/ledgers?open=compare:adult-logistic-eps1,adult-mlp-eps2",
          "/nowhere",
        ]) {
          await tab.goto(base + address);
          await settled(tab);
          const links = await tab.evaluate(() => [...document.links].map((one) => one.href));
          assert.ok(links.length > 5, address);
          own(links, `${base}/`);
          if (address === "/activity")
            assert.equal(
              await tab.evaluate(() => document.querySelectorAll(".chip.plain").length),
              2,
            );
        }
        for (const address of ["/metrics", "/verifier/dpledger-verifier.html"]) {
          const status = await tab.evaluate(
            (url) => fetch(url).then((got) => got.status),
            base + address,
          );
          assert.equal(status, 200, address);
        }
        own(asked, `${base}/`);
        assert.deepEqual(trouble, []);
        await tab.click(".top-side >> text=Sign out");
        await until(tab, () => document.querySelector("dialog[open]"));
        for (let left = 50; (await context.cookies()).length && left; left--)
          await tab.waitForTimeout(50);
        assert.deepEqual(await context.cookies(), []);
        await context.close();
      } finally {
        proxy.close();
      }
    },
  ),
};
