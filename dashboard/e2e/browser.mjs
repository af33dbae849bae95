// Debian's Chromium, or its Firefox where BROWSER says so, watched: whatever a page says to the
// console, breaks of its policy or asks of another origin is kept.
import { existsSync } from "node:fs";
import playwright from "playwright-core";

export const isFirefox = process.env.BROWSER === "firefox";
const PLACES = isFirefox
  ? ["/usr/bin/firefox-esr", "/usr/bin/firefox"]
  : [
      process.env.CHROMIUM,
      "/usr/bin/chromium",
      "/usr/bin/chromium-browser",
      "/usr/bin/google-chrome",
    ];
export const found = PLACES.find((path) => path && existsSync(path));

// Of each page, the requests that are under way. The stream of changes has no end, and is not among
// them.
const underWay = new WeakMap();

export async function openBrowser(flags = []) {
  if (isFirefox) return playwright._bidiFirefox.launch({ executablePath: found });
  return playwright.chromium.launch({
    executablePath: found,
    args: ["--font-render-hinting=none", "--disable-lcd-text", ...flags],
    chromiumSandbox: process.getuid?.() !== 0,
  });
}

export async function openPage(
  browser,
  { width = 1280, height = 900, dark = false, ...more } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    ...more,
  });
  const page = await context.newPage();
  const trouble = [];
  const asked = [];
  page.on("console", (message) => {
    // A refused call is an answer that the page shows; the browser logs its status all the same.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      trouble.push(message.text());
  });
  page.on("pageerror", (error) => trouble.push(String(error)));
  const open = new Set();
  underWay.set(page, open);
  page.on("request", (request) => {
    asked.push(request.url());
    if (request.isNavigationRequest()) open.clear(); // not all that the last page asked for ends
    if (!request.url().endsWith("/WatchLedgers")) open.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"])
    page.on(end, (request) => open.delete(request));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  return { page, context, trouble, asked };
}

// Nothing loads, and nothing has begun to for a moment.
export async function settled(page) {
  await page
    .waitForFunction(
      () => !document.querySelector(".loading") && document.querySelector("main h1"),
      undefined,
      { timeout: 15000 },
    )
    .catch(() => undefined);
  for (let [quiet, left] = [0, 100]; quiet < 3 && left > 0; left--) {
    quiet = underWay.get(page).size ? 0 : quiet + 1;
    await page.waitForTimeout(50);
  }
  await page.evaluate(() => document.fonts.ready);
}
