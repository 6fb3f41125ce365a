// A report opened from its file: no server, no network.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { open } from './chromium.mjs';
import { accessible, moved, screen, settled, TABS } from './page.mjs';
import { annals, makeStores } from './stores.mjs';

describe('a report', () => {
  let stores, browser, page;
  before(async () => {
    stores = makeStores();
    browser = await open('file://');
    page = await browser.page();
  });
  after(async () => {
    await browser?.close();
    stores?.remove();
  });

  const report = (store, title, agent) => {
    const env = { ...stores.env };
    const rows = JSON.parse(execFileSync(annals, ['sessions', '--json', '--all', '--store', store], { env }));
    const row = rows.filter((one) => one.title.startsWith(title) && (!agent || one.origin === agent)).sort((a, b) => b.next - a.next)[0];
    const file = join(stores.env.HOME, `${row.id}.html`);
    execFileSync(annals, ['report', row.id, '-o', file, '--all', '--store', store], { env, stdio: 'ignore' });
    return { ...row, file };
  };
  const go = async (file, hash = '') => {
    await page.goto('about:blank');
    await page.goto(`file://${file}${hash}`);
    await page.waitForSelector('.tabs');
    await settled(page);
  };
  const sound = () => {
    assert.deepEqual(browser.problems, []);
    assert.deepEqual(browser.foreign, [], 'the page asked another host');
  };
  test('shows every view, moves with arrow keys, and is accessible', async () => {
    const session = report(stores.imported, 'What does inventory.csv hold', 'claude-code');
    await go(session.file);
    await moved(page, session.next);
    for (const tab of TABS) {
      await go(session.file, `#/s/${session.id}?tab=${tab}`);
      assert.equal(await page.locator('.panel [role=alert]').count(), 0, tab);
      await accessible(page, `${tab} of a report`);
    }
    await go(session.file, `#/s/${session.id}@12?tab=changes`);
    await page.keyboard.press('m');
    await page.keyboard.press(']');
    await page.waitForFunction(() => /From \d+ to \d+, one of them marked/.test(document.querySelector('.panel').textContent) && /report\.md is written/.test(document.querySelector('.panel').textContent));
    await page.keyboard.press('Home');
    await page.waitForFunction(() => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) <= 2);
    await page.keyboard.press('e');
    await page.waitForFunction(() => /File does not exist/.test(document.querySelector('.here .last').textContent));
    await page.keyboard.press('1');
    await page.locator('.span.c-result .gutter').first().click();
    await page.waitForFunction(() => /entered at/.test(document.querySelector('.why')?.textContent ?? ''));
    sound();
  });

  test('shows a sub-agent in its call, and opens it', async () => {
    const session = report(stores.imported, 'Ask a helper to count the files', 'claude-code');
    await go(session.file);
    await page.locator('.item .nest').first().click();
    await page.waitForSelector('.item.nested.call');
    await accessible(page, 'a sub-agent in a report');
    await screen(page, 'report');
    await page.locator('.item.nested.call a').first().click();
    await page.waitForFunction(() => [...document.querySelectorAll('.about a')].some((link) => link.textContent === 'parent'));
    await page.waitForSelector('.span');
    sound();
  });

  test('shows recorded requests as proved, and says what is not in it', async () => {
    const session = report(stores.instructions, '');
    await go(session.file, `#/s/${session.id}?tab=request`);
    await page.waitForFunction(() => /Proved: rebuilt from the log/.test(document.querySelector('.panel').innerText));
    await page.goto('about:blank');
    await page.goto(`file://${session.file}#/s/01ANOTHERSESSION0000000000`);
    await page.waitForSelector('.problem');
    assert.match(await page.locator('.problem').first().innerText(), /not in it/);
    sound();
  });

  test('a hostile session does nothing', async () => {
    const session = report(stores.imported, '<script>');
    for (const tab of TABS) await go(session.file, `#/s/${session.id}?tab=${tab}`);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    sound();
  });
});
