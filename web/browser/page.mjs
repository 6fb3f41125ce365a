// What tests of the page have in common.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const TABS = ['seen', 'changes', 'history', 'transcript', 'context', 'request', 'usage', 'cache', 'compactions', 'files', 'events', 'verify'];

/** Waits until the views are drawn. */
export const settled = async (page) => {
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]') && !/^Loading/.test(document.querySelector('.panel')?.textContent ?? ''));
};
export const position = (page) => page.locator('[role=slider]').getAttribute('aria-valuenow').then(Number);
export const moved = (page, to) => page.waitForFunction((seq) => document.querySelector('[role=slider]').getAttribute('aria-valuenow') === String(seq), to, { timeout: 5000 });

/** Fails with what axe finds. */
export async function accessible(page, where) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }));
  assert.deepEqual(violations.map((one) => `${where}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`), []);
}

/** With SCREENS=DIR the page is drawn into DIR. */
export const screen = async (page, name) => {
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/${name}.png` });
};
