// The page in a real browser, over stores made from the fixtures. With SCREENS=DIR ten states are drawn into DIR.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { open } from './chromium.mjs';
import { million } from './million.mjs';
import { accessible, moved, position, screen, settled, TABS } from './page.mjs';
import { serveOverrides, serveStore } from './server.mjs';
import { startModel } from './model.mjs';
import { annals, makeStores } from './stores.mjs';

let stores;
before(() => (stores = makeStores()));
after(() => stores?.remove());

/** A server and a browser for one group of tests: the real server, unless answers are given. */
function using(options) {
  const at = {};
  before(async () => {
    const given = options();
    if (given.cwd) {
      at.model = await startModel([]);
      for (const folder of [given.cwd, join(given.env.HOME, '.config/annals')]) mkdirSync(folder, { recursive: true });
      const config = ['model = "mock/one"', 'titles = false', '[providers.mock]', 'protocol = "openai-chat"', `base_url = "${at.model.url}"`, 'key_env = "MOCK_KEY"', ''];
      writeFileSync(join(given.env.HOME, '.config/annals/config.toml'), config.join('\n'));
    }
    at.server = await (given.overrides ? serveOverrides : serveStore)({ annals, env: stores.env, ...given });
    at.browser = await open(at.server.origin);
    at.page = await at.browser.page();
  });
  after(async () => {
    await at.browser?.close();
    at.server?.close();
    at.model?.close();
  });
  at.go = async (hash, ready = '.tabs') => {
    await at.page.goto('about:blank');
    await at.page.goto(`${at.server.origin}/#token=${at.server.token}`);
    await at.page.waitForSelector('.list');
    await at.page.evaluate((to) => { location.hash = to; }, hash);
    await at.page.waitForSelector(ready);
  };
  at.sound = () => {
    assert.deepEqual(at.browser.problems, []);
    assert.deepEqual(at.browser.foreign, [], 'the page asked another host');
  };
  return at;
}

const sessionOf = async (server, title, agent) => {
  const answer = await fetch(`${server.origin}/v1/sessions?limit=200`, { headers: { Authorization: `Bearer ${server.token}` } });
  const { sessions } = await answer.json();
  const found = sessions.filter((row) => row.title.startsWith(title) && (!agent || row.origin === agent)).sort((a, b) => b.next - a.next)[0];
  assert.ok(found, `no session ${title}`);
  return found;
};

describe('the list', () => {
  const at = using(() => ({ store: stores.imported }));

  test('without a token the page asks for one, and a wrong one is refused', async () => {
    const { page, server } = at;
    await page.goto(server.origin);
    await page.fill('input[name=token]', 'wrong');
    await page.click('button[type=submit]');
    await page.waitForSelector('.problem');
    await page.fill('input[name=token]', `${server.origin}/#token=${server.token}`);
    await page.click('button[type=submit]');
    await page.waitForSelector('.srow:not(.head)');
    assert.ok(!page.url().includes('token'));
    at.browser.problems.length = 0; // the browser's own line about status 401
  });

  test('it is filtered as one types, and opened with arrow keys', async () => {
    const { page } = at;
    await at.go('#/', '.srow:not(.head)');
    await screen(page, 'list');
    const all = await page.locator('.srow:not(.head)').count();
    await page.keyboard.type('kdemo');
    await page.waitForFunction((n) => document.querySelectorAll('.srow:not(.head)').length < n, all);
    assert.ok(page.url().includes('q=kdemo'));
    await accessible(page, 'list');
    const second = await page.locator('.srow:not(.head)').nth(1).getAttribute('href');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.tabs');
    assert.ok(page.url().includes(second.slice(1)), page.url());
    at.sound();
  });

  test('it says what was spent, in all and by session', async () => {
    const { page } = at;
    await at.go('#/', '.srow:not(.head)');
    await page.waitForFunction(() => /\d+ sessions · [$]\d/.test(document.querySelector('.filter output').textContent));
    const costs = await page.locator('.srow:not(.head) > :nth-child(6)').allInnerTexts();
    assert.ok(costs.some((cost) => /^~?[$]\d/.test(cost)), costs.join(' '));
    at.sound();
  });

  test('a search in all texts opens the place of a match', async () => {
    const { page } = at;
    await at.go('#/?q=%2Fno-such-file', '.hits a');
    await screen(page, 'search');
    await accessible(page, 'search');
    await page.locator('.hits a').first().click();
    await page.waitForSelector('.events .chosen');
    assert.match(await page.locator('.events .chosen').innerText(), /no-such-file/);
    at.sound();
  });
});

describe('one session', () => {
  const at = using(() => ({ store: stores.imported }));
  let session;
  before(async () => (session = await sessionOf(at.server, 'What does inventory.csv hold', 'claude-code')));

  test('keys move by place, turn and error, and the link follows', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}`);
    await moved(page, session.next);
    await page.keyboard.press('ArrowLeft');
    await moved(page, session.next - 1);
    await page.keyboard.press('Home');
    await moved(page, 1);
    await page.keyboard.press('ArrowRight');
    await moved(page, 3);
    await page.keyboard.press('Shift+ArrowRight');
    await moved(page, 17);
    await page.keyboard.press(']');
    await moved(page, 28);
    await page.keyboard.press('[');
    await moved(page, 13);
    await page.keyboard.press('e');
    await page.waitForFunction(() => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) > 13);
    const first = await position(page);
    assert.match(await page.locator('.here .last').innerText().then(async (text) => (text.includes('tool.settled') ? text : page.locator('.here .last', { hasText: 'tool.settled' }).innerText())), /File does not exist/);
    await page.keyboard.press('e');
    await page.waitForFunction((from) => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) > from, first);
    const second = await position(page);
    await page.keyboard.press('E');
    await moved(page, first);
    await page.keyboard.press('g');
    await page.keyboard.type('turn:2');
    await page.keyboard.press('Enter');
    await moved(page, 13);
    await page.waitForFunction((hash) => location.hash === hash, `#/s/${session.id}@13`);
    await page.reload();
    await page.waitForSelector('.tabs');
    await moved(page, 13);
    assert.ok(second > first);
    at.sound();
  });

  test('the axis is dragged, and a call of the timeline is a place', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}@12`);
    const box = await page.locator('[role=slider]').boundingBox();
    await page.mouse.move(box.x + box.width * 0.1, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 12 });
    await page.mouse.up();
    await page.waitForTimeout(150);
    assert.ok(Math.abs((await position(page)) - session.next / 2) <= 2);
    await page.locator('.item.bad button').first().click();
    await page.waitForFunction(() => /tool\.settled/.test(document.querySelector('.here .last').textContent));
    await settled(page);
    await screen(page, 'session');
    at.sound();
  });

  test('a sub-agent is shown in the call that started it', async () => {
    const { page, server } = at;
    const ask = async (path) => (await fetch(`${server.origin}/v1${path}`, { headers: { Authorization: `Bearer ${server.token}` } })).json();
    const { sessions } = await ask('/sessions?limit=200');
    const details = await Promise.all(sessions.map((row) => ask(`/sessions/${row.id}`)));
    const parent = details.find((one) => one.children.length > 0);
    await at.go(`#/s/${parent.session}`, '.item .nest');
    await page.locator('.item .nest').first().click();
    await page.waitForSelector('.item.nested.call');
    const links = await page.locator('.item.nested a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    assert.ok(parent.children.some((child) => links.every((link) => link.startsWith(`#/s/${child.id}@`))), links.join(' '));
    await accessible(page, 'a sub-agent');
    await screen(page, 'sub-agent');
    await page.locator('.item .nest').first().click();
    assert.equal(await page.locator('.item.nested').count(), 0);
    at.sound();
  });

  test('what the model saw names the origin of each part, and why it is there', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}@60`, '.span');
    await settled(page);
    await page.waitForFunction(() => /What does inventory\.csv hold/.test(document.querySelector('.span.c-user .body')?.textContent ?? ''));
    const hover = await page.locator('.span.c-result .gutter').first().getAttribute('title');
    assert.match(hover, /^result from .+, event \d+ \(tool\.settled\), turn \d+; in every request since \d+$/);
    await page.locator('.span.c-result .gutter').first().click();
    await page.waitForFunction(() => /entered at/.test(document.querySelector('.why')?.textContent ?? ''));
    await screen(page, 'why');
    await accessible(page, 'why');
    await page.fill('[aria-label^="Find in"]', 'awk');
    await page.waitForFunction(() => [...document.querySelectorAll('.span .body')].every((body) => body.textContent.includes('awk')));
    at.sound();
  });

  test('a marked place is compared with, and two places are seen side by side', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}@12?tab=changes`);
    await settled(page);
    await page.keyboard.press('m');
    await page.keyboard.press(']');
    await moved(page, 28);
    await page.waitForFunction(() => /From 13 to 28/.test(document.querySelector('.panel').textContent));
    assert.match(await page.locator('.after').allInnerTexts().then((all) => all.join()), /report\.md is written/);
    await settled(page);
    await screen(page, 'changes');
    await accessible(page, 'changes');
    await page.click('text=side by side');
    await page.waitForSelector('.panels.two');
    await settled(page);
    await page.keyboard.press('4');
    await page.waitForFunction(() => document.querySelectorAll('.panel .span').length > 2);
    assert.ok(page.url().includes('with='));
    await settled(page);
    await screen(page, 'side-by-side');
    await accessible(page, 'side by side');
    at.sound();
  });

  test('two sessions are seen side by side, and compared', async () => {
    const { page, server } = at;
    const other = await sessionOf(server, '', 'codex');
    await at.go(`#/s/${session.id}@12?tab=transcript&with=${other.id}@${other.next}`);
    await page.waitForFunction(() => document.querySelectorAll('.panel .span').length > 2 && document.querySelectorAll('.panel').length === 2);
    await settled(page);
    const [one, two] = await page.locator('.panel').allInnerTexts();
    assert.match(one, /^here at 1[23]/);
    assert.ok(two.startsWith(other.id.slice(-6)) || /at \d/.test(two.split('\n')[0]), two.slice(0, 80));
    assert.notEqual(one.split('\n').slice(1).join(), two.split('\n').slice(1).join());
    await page.keyboard.press('2');
    await page.waitForFunction(() => /Differences to the second session/.test(document.querySelector('.panel').textContent));
    await settled(page);
    await accessible(page, 'two sessions');
    at.sound();
  });

  test('the proof badge has the digest of the end, which verifying gives too', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}`);
    const title = await page.locator('.badge.proof').getAttribute('title');
    const digest = /: ([0-9a-f]{64})$/.exec(title)[1];
    await page.locator('.badge.proof').click();
    await page.waitForFunction(() => /integrity verified/.test(document.querySelector('.panel').textContent));
    assert.ok((await page.locator('.panel').innerText()).includes(digest));
    at.sound();
  });

  test('every view is drawn in both colours and is accessible', async () => {
    const { page } = at;
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const tab of TABS) {
        await at.go(`#/s/${session.id}?tab=${tab}`);
        await settled(page);
        assert.equal(await page.locator('.panel [role=alert]').count(), 0, tab);
        await accessible(page, `${tab}, ${scheme}`);
        if (scheme === 'dark' && tab === 'compactions') await screen(page, 'compaction-dark');
        if (scheme === 'dark' && tab === 'transcript') await screen(page, 'transcript-dark');
        if (scheme === 'light' && tab === 'cache') await screen(page, 'cache');
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    at.sound();
  });

  test('tabs move with arrow keys as a tab list does', async () => {
    const { page } = at;
    await at.go(`#/s/${session.id}@12`);
    await page.focus('#tab-seen');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.activeElement.id === 'tab-changes' && document.activeElement.getAttribute('aria-selected') === 'true');
    assert.equal(await position(page), 13);
    at.sound();
  });

  test('a narrow window keeps everything within its width', async () => {
    const { page } = at;
    await page.setViewportSize({ width: 420, height: 800 });
    await at.go(`#/s/${session.id}@64`, '.span');
    await settled(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.setViewportSize({ width: 1280, height: 800 });
    at.sound();
  });
});

describe('recorded requests', () => {
  const at = using(() => ({ store: stores.instructions }));

  test('changed instructions are an update, with the exact request and its proof', async () => {
    const { page } = at;
    const session = await sessionOf(at.server, '');
    await at.go(`#/s/${session.id}?tab=context`);
    await page.waitForFunction(() => /These instructions replace/.test(document.querySelector('.panel').textContent));
    await settled(page);
    await screen(page, 'context');
    await accessible(page, 'context');
    await page.keyboard.press('6');
    await page.waitForFunction(() => /Proved/.test(document.querySelector('.panel').textContent));
    assert.match(await page.locator('.panel pre').last().innerText(), /These instructions replace/);
    await settled(page);
    await screen(page, 'request');
    await accessible(page, 'request');
    at.sound();
  });
});

describe('a session that went wrong, by keys alone', () => {
  const at = using(() => ({ store: stores.imported }));
  const text = (page) => page.locator('.panel').innerText();

  test('what a compaction lost, and what broke the cache', async () => {
    const { page } = at;
    const session = await sessionOf(at.server, 'What does inventory.csv hold', 'claude-code');
    await at.go(`#/s/${session.id}`);
    await moved(page, session.next);
    await page.keyboard.press('Home');
    await moved(page, 1);
    await page.keyboard.press('e');
    await page.waitForFunction(() => /File does not exist/.test(document.querySelector('.here .last').textContent));
    await page.keyboard.press('9');
    await settled(page);
    assert.match(await text(page), /No compaction up to here/);
    for (let turn = 0; turn < 30 && !/became a summary/.test(await text(page)); turn++) {
      await page.keyboard.press(']');
      await settled(page);
      await page.waitForTimeout(150);
    }
    assert.match(await text(page), /messages became a summary/);
    await page.keyboard.press('8');
    await settled(page);
    assert.match(await text(page), /cache|break/i);
    await page.keyboard.press('End');
    await settled(page);
    at.sound();
  });
});

describe('an AGENTS.md that changed too late, by keys alone', { timeout: 120_000 }, () => {
  const person = () => ({ ...stores.env, HOME: join(stores.env.HOME, 'eve'), MOCK_KEY: 'sk-test' });
  const at = using(() => ({ store: join(stores.env.HOME, 'late'), env: person(), cwd: join(stores.env.HOME, 'eve/project'), options: ['--write'] }));

  test('the model never saw the new text: it is in no request', async () => {
    const { page, model } = at;
    const project = join(stores.env.HOME, 'eve/project');
    const run = (...args) => new Promise((done) => spawn(annals, ['run', ...args, '--store', join(stores.env.HOME, 'late')], { env: person(), cwd: project, stdio: 'ignore' }).once('exit', done));
    model.say({ text: 'With spaces.' }, { text: 'Done.' });
    writeFileSync(join(project, 'AGENTS.md'), 'Indent with spaces.');
    await run('Write a function');
    await run('-s', '@last', 'Write another one');
    writeFileSync(join(project, 'AGENTS.md'), 'Indent with tabs.');
    const session = await sessionOf(at.server, '');
    await at.go(`#/s/${session.id}`);
    await page.keyboard.press('1');
    await page.waitForFunction(() => /Indent with spaces/.test(document.querySelector('.panel').innerText));
    await page.keyboard.press('/');
    for (const turn of [1, 2]) {
      assert.doesNotMatch(await page.locator('.panel').innerText(), /Indent with tabs/, `${turn}`);
      await page.keyboard.press('[');
      await settled(page);
    }
    at.sound();
  });
});

describe('permissions', () => {
  const at = using(() => ({ store: stores.permissions }));

  test('questions and replies are in the timeline', async () => {
    const { page } = at;
    const session = await sessionOf(at.server, '');
    await at.go(`#/s/${session.id}`, '.mark.permission');
    assert.ok((await page.locator('.mark.permission').count()) >= 2);
    at.sound();
  });
});

describe('a hostile session', () => {
  const at = using(() => ({ store: stores.imported }));

  test('does nothing, whatever view shows it', { timeout: 300_000 }, async () => {
    const { page } = at;
    const answer = await fetch(`${at.server.origin}/v1/sessions?limit=200`, { headers: { Authorization: `Bearer ${at.server.token}` } });
    const session = (await answer.json()).sessions.find((row) => row.model.includes('\u202e'));
    assert.ok(session, 'the hostile session was not imported');
    await at.go('#/?q=script', '.list');
    for (const tab of TABS) {
      await at.go(`#/s/${session.id}?tab=${tab}`);
      await settled(page);
      if (tab === 'seen') await page.locator('.span .gutter').first().click();
      const found = await page.evaluate(() => ({
        hacked: window.hacked, polluted: {}.polluted, made: document.querySelectorAll('img, iframe, svg, object, embed, #app script, a[href^="javascript"]').length,
        text: document.body.textContent.length, nodes: document.querySelectorAll('*').length, hidden: /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(document.body.textContent + document.title),
        titles: [...document.querySelectorAll('[title], [aria-label]')].some((one) => /[\u202a-\u202e\u2066-\u2069]/.test(`${one.title}${one.ariaLabel}`)),
      }));
      assert.equal(found.hacked, undefined, tab);
      assert.equal(found.polluted, undefined, tab);
      assert.equal(found.made, 0, `${tab}: an element came from the log`);
      assert.equal(found.hidden, false, `${tab}: a character that hides or reorders text is in the document`);
      assert.equal(found.titles, false, `${tab}: such a character is in a title`);
      assert.ok(found.text < 2_000_000, `${tab}: ${found.text} characters in the document`);
      assert.ok(found.nodes < 5000, `${tab}: ${found.nodes} elements`);
    }
    await at.go(`#/s/${session.id}@6`, '.span');
    await settled(page);
    await screen(page, 'hostile');
    at.sound();
  });
});

describe('sessions that the server runs', { timeout: 240_000 }, () => {
  let model;
  const home = () => join(stores.env.HOME, 'ada');
  const at = using(() => ({ store: join(stores.env.HOME, 'written'), env: person(), cwd: join(home(), 'project'), options: ['--write'] }));
  const person = () => ({ ...stores.env, HOME: home(), MOCK_KEY: 'sk-test' });
  const annalsIn = (...args) => spawn(annals, [...args, '--store', join(stores.env.HOME, 'written')], { env: person(), cwd: join(home(), 'project'), stdio: 'ignore' });

  test('a session is started, asks for permission above every page, and writes after an answer', async () => {
    const { page } = at;
    model = at.model;
    model.say({ calls: [{ id: 'c1', name: 'write', input: { path: 'jars.txt', content: 'seven jars\n' } }] }, { text: 'There are seven jars.' });
    await at.go('#/', '.list');
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await page.fill('.start textarea', 'How many jars are there? Write it down.');
    await accessible(page, 'new session');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.question');
    await settled(page);
    assert.match(await page.locator('.question .what').innerText(), /write asks for/);
    await screen(page, 'permission');
    await accessible(page, 'permission');
    await page.evaluate(() => { location.hash = '#/'; });
    await page.waitForSelector('.list');
    assert.equal(await page.locator('.question').count(), 1, 'the question is above the list as well');
    assert.ok(!existsSync(join(home(), 'project/jars.txt')));
    await page.locator('.start, .filter input').first().evaluate((field) => field.blur());
    await page.keyboard.press('p');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.asking', { state: 'detached' });
    await page.locator('.srow:not(.head)').first().click();
    await page.waitForSelector('.actions');
    await page.keyboard.press('4');
    await page.waitForFunction(() => /There are seven jars/.test(document.querySelector('.panel').innerText));
    assert.ok(existsSync(join(home(), 'project/jars.txt')));
    at.sound();
  });

  test('a prompt is answered live, and an answer is interrupted', async () => {
    const { page } = at;
    model.say({ text: 'Counting them once more now', held: true });
    await page.keyboard.press('i');
    await page.keyboard.type('Count again');
    await page.keyboard.press('Control+Enter');
    await page.waitForFunction(() => /Counting them once more/.test(document.querySelector('.onitsway')?.innerText ?? ''));
    await screen(page, 'live');
    await accessible(page, 'live');
    model.release();
    await page.waitForFunction(() => /Counting them once more now/.test(document.querySelector('.panel').innerText));
    await page.waitForSelector('.onitsway', { state: 'detached' });
    model.say({ text: 'This takes long', held: true });
    await page.fill('.actions textarea', 'And again');
    await page.keyboard.press('Control+Enter');
    await page.waitForFunction(() => /This takes/.test(document.querySelector('.onitsway')?.innerText ?? ''));
    await page.getByRole('button', { name: 'Interrupt', exact: true }).click();
    await page.waitForSelector('.onitsway', { state: 'detached' });
    await page.waitForFunction(() => /This takes/.test(document.querySelector('.panel').innerText));
    model.release();
    at.sound();
  });

  test('a question of the model is answered above every page, or left to it', async () => {
    const { page } = at;
    const asks = (id, multiple) => ({ calls: [{ id, name: 'question', input: { question: `Which lid, ${id}?\nIt is for the <b>jars</b>.`, options: ['tin', 'glass \u202eknil'], multiple } }] });
    model.say(asks('q1', false), asks('q2', true), asks('q3', false), { text: 'Glass, then.' });
    await page.locator('.actions textarea').evaluate((field) => field.blur());
    await page.keyboard.press('i');
    await page.keyboard.type('Close the jars');
    await page.keyboard.press('Control+Enter');
    const asked = (name) => page.waitForFunction((part) => document.querySelector('.wondered')?.innerText.includes(part), name);
    await asked('Which lid, q1?');
    await accessible(page, 'question');
    await screen(page, 'question');
    assert.equal(await page.locator('.wondered b').count(), 1, 'no markup of the model');
    await page.getByRole('button', { name: 'tin', exact: true }).click();
    await asked('Which lid, q2?');
    await page.locator('.actions textarea').evaluate((field) => field.blur());
    await page.keyboard.press('p');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.fill('.wondered input.words', 'and a cork');
    await page.keyboard.press('Enter');
    await asked('Which lid, q3?');
    await page.getByRole('button', { name: 'Leave it to the model' }).click();
    await page.waitForSelector('.asking', { state: 'detached' });
    await page.waitForFunction(() => /Glass, then/.test(document.querySelector('.panel').innerText));
    const last = JSON.stringify(model.received.at(-1));
    for (const answer of ['"tin"', 'tin, glass \u202eknil, and a cork', 'The user cannot be asked now']) assert.ok(last.includes(answer), `${answer}: ${last}`);
    at.sound();
  });

  test('an undo is staged, dropped and applied, a message is pinned, a fork is opened', async () => {
    const { page } = at;
    const head = await position(page);
    await page.locator('.actions textarea').evaluate((field) => field.blur());
    await page.keyboard.press('[');
    await page.keyboard.press('[');
    await page.waitForFunction((was) => Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow')) < was, head);
    await page.getByRole('button', { name: 'Undo after here', exact: true }).click();
    await page.waitForSelector('.staged');
    await accessible(page, 'staged');
    await page.getByRole('button', { name: 'Drop', exact: true }).click();
    await page.waitForSelector('.staged', { state: 'detached' });
    await page.getByRole('button', { name: 'Undo after here', exact: true }).click();
    await page.waitForSelector('.staged');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await page.waitForSelector('.staged', { state: 'detached' });
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.waitForFunction(() => /is pinned/.test(document.querySelector('.here').innerText));
    const before = page.url();
    await page.getByRole('button', { name: 'Fork here', exact: true }).click();
    await page.waitForFunction((url) => location.href.split('@')[0] !== url.split('@')[0], before);
    await page.waitForSelector('.tabs');
    at.sound();
  });

  test('the answer of a run in a terminal is seen while it streams', async () => {
    const { page, server } = at;
    const session = await sessionOf(server, '');
    await at.go(`#/s/${session.id}`);
    model.say({ text: 'From the terminal, slowly', held: true });
    const run = annalsIn('run', '-s', session.id, 'Speak slowly');
    const ended = new Promise((done) => run.once('exit', done));
    await page.waitForFunction(() => /From the terminal/.test(document.querySelector('.onitsway')?.innerText ?? ''));
    model.release();
    await page.waitForSelector('.onitsway', { state: 'detached' });
    await ended;
    at.sound();
  });
});

describe('a million events', () => {
  const big = million(1_000_000);
  const at = using(() => ({ store: stores.imported, overrides: big.answer }));

  test('open with a few requests and a few elements, anywhere', async () => {
    const { page, server } = at;
    const before = server.asked.length;
    await at.go(`#/s/${big.id}@500000?tab=events`, '.events .chosen');
    await page.waitForFunction(() => document.querySelector('.turn.current'));
    assert.ok(server.asked.length - before < 30, `${server.asked.length - before} requests`);
    assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 3000);
    for (let step = 0; step < 50; step++) await page.keyboard.press('ArrowRight');
    await moved(page, 500_050);
    await page.keyboard.press('End');
    await moved(page, 1_000_000);
    await page.waitForFunction(() => /turn 50,?000|50000/.test(document.querySelector('.turn.current')?.textContent ?? ''));
    at.sound();
  });

  test('what is appended meanwhile is followed', async () => {
    const { page } = at;
    await at.go(`#/s/${big.id}?tab=events`, '.events .chosen');
    await moved(page, 1_000_000);
    big.append(20);
    await moved(page, 1_000_020);
    big.append(20);
    await moved(page, 1_000_040);
    await page.keyboard.press('ArrowLeft');
    await moved(page, 1_000_039);
    big.append(20);
    await page.waitForFunction(() => document.querySelector('[role=slider]').getAttribute('aria-valuemax') === '1000060');
    assert.equal(await position(page), 1_000_039, 'who looks at an earlier place is not moved');
    at.sound();
  });
});
