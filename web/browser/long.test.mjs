// Long sessions over the real server: 200,000 events, and one whose tools printed 50 MB of everything that a log could try.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { open } from './chromium.mjs';
import { accessible, moved, position, screen, settled, TABS } from './page.mjs';
import { serveStore } from './server.mjs';
import { annals, makeFolder } from './stores.mjs';
import { MARKUP, ORDER, transcript } from './transcripts.mjs';

const EVENTS = Number(process.env.EVENTS ?? 200_000);
// Two of them: an importer takes no line of more than 32 MiB.
const OUTPUT = 25_000_000;
/** How long anything may take before it counts as hanging. */
const PATIENCE = 240_000;

/** A server over one store, and a page in it. */
function using(make) {
  const at = {};
  before(async () => {
    at.folder = makeFolder();
    at.store = join(at.folder.path, 'store');
    await make(at);
    at.server = await serveStore({ annals, env: at.folder.env, store: at.store });
    at.browser = await open(at.server.origin);
    at.page = await at.browser.page();
    // Verifying 200,000 events takes a build without optimisation half a minute.
    at.page.setDefaultTimeout(PATIENCE);
    at.session = (await at.ask('/sessions')).sessions[0];
    // What the page received.
    // What is read late of the page before does not count.
    at.bytes = 0;
    at.round = 0;
    at.page.on('response', async (response) => {
      const { round } = at;
      const size = (await response.body().catch(() => '')).length;
      if (round === at.round) at.bytes += size;
    });
  }, { timeout: 900_000 });
  after(async () => {
    await at.browser?.close();
    at.server?.close();
    at.folder?.remove();
  });
  at.ask = async (path) => (await fetch(`${at.server.origin}/v1${path}`, { headers: { Authorization: `Bearer ${at.server.token}` } })).json();
  at.go = async (hash) => {
    await at.page.goto('about:blank');
    await at.page.goto(`${at.server.origin}/#token=${at.server.token}&${hash.slice(1)}`);
    await at.page.waitForSelector('.turn.current');
    await settled(at.page);
  };
  at.sound = () => {
    assert.deepEqual(at.browser.problems, []);
    assert.deepEqual(at.browser.foreign, [], 'the page asked another host');
  };
  return at;
}

const size = (page) => page.evaluate(() => ({ nodes: document.querySelectorAll('*').length, text: document.body.textContent.length }));

describe(`${EVENTS} events`, { timeout: 1_800_000 }, () => {
  const at = using((made) => {
    execFileSync(join(dirname(annals), 'annals-test'), ['long-session', made.store, String(EVENTS), '--views'], { stdio: ['ignore', 'ignore', 'inherit'] });
  });

  test('every view opens at the end, in the middle and at the start, bounded in bytes and elements, and is accessible', async () => {
    const { page, session } = at;
    assert.ok(session.next >= EVENTS);
    for (const place of [session.next, Math.floor(session.next / 2), 2]) {
      for (const tab of TABS) {
        at.bytes = 0;
        at.round++;
        await at.go(`#/s/${session.id}@${place}?tab=${tab}`);
        assert.equal(await page.locator('.panel [role=alert]').count(), 0, `${tab} at ${place}`);
        const { nodes, text } = await size(page);
        assert.ok(nodes < 12_000, `${tab} at ${place}: ${nodes} elements`);
        assert.ok(text < 3_000_000, `${tab} at ${place}: ${text} characters`);
        assert.ok(at.bytes < 4_000_000, `${tab} at ${place}: ${at.bytes} bytes`);
        if (place !== 2) await accessible(page, `${tab} of a long session`);
        if (place === session.next && tab === 'files') await screen(page, 'files');
      }
    }
    at.sound();
  });

  test('keys, drags and links reach any place, and the timeline shows its turn', async () => {
    const { page, session } = at;
    await at.go(`#/s/${session.id}@${Math.floor(session.next / 2)}?tab=events`);
    const middle = await position(page);
    for (let step = 0; step < 40; step++) await page.keyboard.press('ArrowRight');
    await page.waitForFunction((from) => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) >= from + 40, middle);
    await page.keyboard.press('e');
    await page.waitForFunction(() => /No error after|tool\.settled|step\.failed/.test(document.querySelector('.here').textContent));
    await page.keyboard.press('End');
    await moved(page, session.next);
    await page.keyboard.press('[');
    await page.waitForFunction((end) => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) < end, session.next);
    await page.keyboard.press('Home');
    await page.waitForFunction(() => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) <= 2);
    const box = await page.locator('[role=slider]').boundingBox();
    await page.mouse.move(box.x + 2, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 10, { steps: 30 });
    await page.mouse.up();
    await page.waitForFunction(() => document.querySelector('.turn.current'));
    assert.ok(Math.abs(await position(page) / session.next - 0.75) < 0.01);
    await page.keyboard.press('g');
    await page.keyboard.type('turn:3');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('.turn.current')?.getAttribute('aria-label') === 'Turn 3');
    await page.keyboard.press('1');
    await page.waitForSelector('.span');
    await settled(page);
    await screen(page, 'long');
    at.sound();
  });
});

describe('a hostile session with outputs of 50 MB', { timeout: 600_000 }, () => {
  const at = using((made) => {
    const line = `${MARKUP}${ORDER}\n`;
    mkdirSync(join(made.folder.path, 'made'));
    const call = { name: `Bash${ORDER}`, input: { command: MARKUP }, output: line.repeat(Math.ceil(OUTPUT / line.length)) };
    const turns = [{ prompt: `${MARKUP}${ORDER}`, calls: [call, call], answer: 'Printed.' }, { prompt: 'And now?', calls: [{ ...call, output: MARKUP, failed: true }], answer: ORDER }];
    writeFileSync(join(made.folder.path, 'made/hostile.jsonl'), transcript('hostile', turns, { model: 'mock\u202eedualc', branch: '\u202emain' }));
    execFileSync(annals, ['import', join(made.folder.path, 'made'), '--store', made.store], { env: made.folder.env, stdio: ['ignore', 'ignore', 'inherit'] });
  });

  test('does nothing in any view, sends little, and lets the page answer keys', async () => {
    const { page, session } = at;
    for (const tab of TABS) {
      at.bytes = 0;
      at.round++;
      await at.go(`#/s/${session.id}?tab=${tab}`);
      assert.equal(await page.evaluate(() => window.hacked), undefined, tab);
      assert.equal(await page.evaluate(() => document.querySelectorAll('img, iframe, svg, object, embed, #app script, a[href^="javascript"]').length), 0, tab);
      assert.equal(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(document.body.textContent + document.title)), false, tab);
      const { nodes, text } = await size(page);
      assert.ok(nodes < 5000 && text < 2_000_000, `${tab}: ${nodes} elements, ${text} characters`);
      assert.ok(at.bytes < 8_000_000, `${tab}: ${at.bytes} bytes`);
      await page.keyboard.press('ArrowLeft');
      await page.waitForFunction((end) => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) < end, session.next, { timeout: 5000 });
    }
    at.sound();
  });
});
