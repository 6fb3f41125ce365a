// A session that went wrong, debugged by keys alone: rules that the model never saw, one that a compaction lost, and a cache that broke at
// turn 7. Then the file that shows and proves it.
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { open } from './chromium.mjs';
import { accessible, position, screen, settled } from './page.mjs';
import { serveStore } from './server.mjs';
import { annals, makeFolder } from './stores.mjs';

const SCENARIO = fileURLToPath(new URL('wrong.json', import.meta.url));

describe('a session that went wrong in three ways, by keys alone', { timeout: 240_000 }, () => {
  let folder, store, server, browser, page, session;
  before(async () => {
    folder = makeFolder();
    store = join(folder.path, 'store');
    execFileSync(annals, ['scenario', 'run', SCENARIO, '--keep', '--store', store], { env: folder.env, stdio: 'ignore' });
    server = await serveStore({ annals, env: folder.env, store });
    browser = await open(server.origin);
    page = await browser.page();
    await page.goto(`${server.origin}/#token=${server.token}`);
    await page.waitForSelector('.srow:not(.head)');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.turn.current');
    session = /#\/s\/([^@?]+)/.exec(page.url())[1];
  });
  after(async () => {
    await browser?.close();
    server?.close();
    folder?.remove();
  });
  const shows = async (pattern) => {
    await page.waitForFunction((source) => new RegExp(source).test(document.querySelector('.panel').innerText), pattern.source);
    await settled(page);
  };
  const keys = async (...pressed) => {
    for (const key of pressed) await page.keyboard.press(key);
  };
  const turn = async (number) => {
    await keys('g');
    await page.keyboard.type(`turn:${number}`);
    await keys('Enter');
    await page.waitForFunction((name) => document.querySelector('.turn.current')?.getAttribute('aria-label') === name, `Turn ${number}`);
  };
  /** Walks down the view to the line with this text, and opens or follows it. */
  const follow = async (text) => {
    for (let step = 0; step < 60; step++) {
      await keys('j');
      if (await page.evaluate((wanted) => document.activeElement.textContent.trim() === wanted, text)) return keys('Enter');
    }
    assert.fail(`no line ${text}`);
  };
  const find = async (text) => {
    await keys('/');
    await page.waitForFunction(() => document.activeElement.type === 'search' && document.activeElement.closest('.panel'));
    await keys('Control+a');
    await page.keyboard.type(text);
    await keys('Enter');
  };

  test('the new rules are in no request: the old ones still stand in the context', async () => {
    await turn(3);
    await find('Indent with tabs');
    await shows(/the model never saw it/);
    await accessible(page, 'a text that was never seen');
    await screen(page, 'never-seen');
    await find('Indent with spaces');
    await shows(/Rules of AGENTS\.md: Indent with spaces/);
    await keys('5');
    await shows(/Indent with spaces/);
    assert.doesNotMatch(await page.locator('.panel').innerText(), /tabs/);
  });

  test('the rule that the compaction lost: in which event it was, and that it left with the compaction', async () => {
    await turn(6);
    await keys('9');
    await shows(/Not mentioned in the summary[^]*Never migrate the production database/);
    await accessible(page, 'what a compaction lost');
    await screen(page, 'lost-rule');
    await find('Never migrate');
    await shows(/entered at 13, left at 40 \(compaction\)/);
    await screen(page, 'left');
    await keys('9');
    await shows(/Not mentioned/);
    await follow('13');
    await page.waitForFunction(() => document.querySelector('.turn.current').getAttribute('aria-label') === 'Turn 2');
    assert.equal(await position(page), 15);
  });

  test('the cache broke at turn 7, by a tool that was added', async () => {
    await keys('End', '8');
    await shows(/2 breaks/);
    await shows(/other tools in tools/);
    await screen(page, 'broken-cache');
    await follow('event 64');
    await page.waitForFunction(() => document.querySelector('.turn.current').getAttribute('aria-label') === 'Turn 7');
    await find('mail');
    await shows(/tool\s[^]*mail/);
    assert.match(await page.locator('.span .gutter').first().getAttribute('title'), /tools\.recorded.*turn 7; in every request since 10/);
    assert.deepEqual(browser.problems, []);
    assert.deepEqual(browser.foreign, []);
  });

  test('one file shows the same and proves it', async () => {
    const file = join(folder.path, 'wrong.html');
    execFileSync(annals, ['report', session, '-o', file, '--store', store], { env: folder.env, stdio: 'ignore' });
    const verified = execFileSync(annals, ['verify', file], { env: folder.env, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    assert.match(verified, /integrity verified/);
    const reader = await open('file://');
    try {
      page = await reader.page();
      await page.goto(`file://${file}`);
      await page.waitForSelector('.turn.current');
      await turn(6);
      await keys('9');
      await shows(/Not mentioned in the summary[^]*Never migrate the production database/);
      await find('Indent with tabs');
      await shows(/the model never saw it/);
      assert.deepEqual(reader.problems, []);
      assert.deepEqual(reader.foreign, []);
    } finally {
      await reader.close();
    }
  });
});
