// First paint and scrub latency of the page: `npm --prefix web run measure`. What docs/benchmarks.md has.
//
// Builds the release of `annals` (unless ANNALS names a program, with `annals-test` beside it), writes a session of each of SIZES events into
// FOLDER (once), and prints a line of JSON for each and a table. STEPS (500), TAB (seen) and SIZES can be set; arguments are stores to
// measure instead.
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { open } from './chromium.mjs';
import { serveStore } from './server.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');
const STEPS = Number(process.env.STEPS ?? 500);
const TAB = process.env.TAB ?? 'seen';
const SIZES = (process.env.SIZES ?? '1000 100000 1000000').split(' ').map(Number);
const FOLDER = process.env.FOLDER ?? join(target, 'measure');
const percentile = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const ms = (n) => Math.round(n);

function program() {
  if (process.env.ANNALS) return process.env.ANNALS;
  execFileSync('cargo', ['build', '--release', '--locked', '-p', 'annals-cli', '-p', 'annals-tests', '--bin', 'annals', '--bin', 'annals-test'], { cwd: root, stdio: 'inherit' });
  return join(target, 'release/annals');
}

/** A store with one session. */
function storeOf(annals, events) {
  const store = join(FOLDER, String(events));
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(store)) execFileSync(join(dirname(annals), 'annals-test'), ['long-session', store, String(events), '--views'], { stdio: ['ignore', 'ignore', 'inherit'] });
  return store;
}

/** Notes, from the start of the navigation, when the timeline and the view are drawn. Runs in the page before its script. */
const watching = () => {
  if (window !== window.top) return;
  window.drawn = {};
  const look = () => {
    const panel = document.querySelector('.panel');
    if (!window.drawn.timeline && document.querySelector('.turn:not(.hole)')) window.drawn.timeline = performance.now();
    if (panel && !/^Loading/.test(panel.textContent) && !panel.querySelector('[aria-busy=true]')) window.drawn.view ??= performance.now();
    if (!window.drawn.timeline || !window.drawn.view) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

/** From the navigation to the first paint, to the drawn timeline, and to the drawn view. */
async function painted(page, link) {
  await page.goto('about:blank');
  await page.goto(link);
  await page.waitForFunction(() => window.drawn.timeline && window.drawn.view, null, { polling: 50 });
  const { timeline, view } = await page.evaluate(() => window.drawn);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  return { paint, timeline, whole: Math.max(timeline, view) };
}

/** From a key to the moved marker, and to the drawn view at the new place; null if there is no place to go to. */
const stepped = (page, key) => page.evaluate((pressed) => new Promise((done) => {
  const slider = document.querySelector('[role=slider]');
  const before = slider.getAttribute('aria-valuenow');
  const began = performance.now();
  let marker = null;
  let view = 0;
  const look = () => {
    const now = performance.now();
    if (marker === null && slider.getAttribute('aria-valuenow') !== before) marker = now - began;
    const panel = document.querySelector('.panel');
    const busy = panel.querySelector('[aria-busy=true]') || /^Loading/.test(panel.textContent);
    if (busy) view = now - began;
    // The next key follows when this one is drawn, and no faster than one that is pressed again and again.
    if (marker !== null && !busy && now - began > marker + 150) return done({ marker, view: Math.max(marker, view) });
    if (marker === null && now - began > 3000) return done(null);
    requestAnimationFrame(look);
  };
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: pressed, bubbles: true }));
  requestAnimationFrame(look);
}), key);

async function measured(annals, store) {
  const env = { ...process.env, HOME: store };
  const rows = JSON.parse(execFileSync(annals, ['sessions', '--all', '--json', '--store', store], { env }));
  const session = rows.sort((a, b) => b.next - a.next)[0];
  const server = await serveStore({ annals, store, env });
  const browser = await open(server.origin, { guarded: process.env.PAGE === 'dist' });
  const page = await browser.page();
  await page.addInitScript(watching);
  let bytes = 0;
  page.on('requestfinished', async (request) => { bytes += (await request.sizes().catch(() => ({ responseBodySize: 0 }))).responseBodySize; });
  const link = (at) => `${server.origin}/#token=${server.token}&/s/${session.id}${at}?tab=${TAB}`;
  const cold = await painted(page, link(''));
  const first = bytes;
  const warm = await painted(page, link(''));
  await painted(page, link(`@${Math.floor(session.next / 2)}`));
  bytes = 0;
  const steps = { marker: [], view: [] };
  // To the left from the middle and from the end, to the right from the start.
  let right = false;
  for (let step = 0; step < STEPS; step++) {
    const jump = step % 25 === 24;
    if (jump) right = !right;
    const key = jump ? (right ? 'Home' : 'End') : step % 9 === 8 ? (right ? ']' : '[') : right ? 'ArrowRight' : 'ArrowLeft';
    const found = await stepped(page, key);
    if (!found) continue;
    steps.marker.push(found.marker);
    steps.view.push(found.view);
  }
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  const memory = (name) => ms(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1] / 1024);
  await browser.close();
  server.close();
  const shares = (list) => ({ p50: ms(percentile(list, 0.5)), p99: ms(percentile(list, 0.99)) });
  return {
    events: session.next, tab: TAB, first_ms: { paint: ms(cold.paint), timeline: ms(cold.timeline), view: ms(cold.whole) }, again_ms: { paint: ms(warm.paint), timeline: ms(warm.timeline), view: ms(warm.whole) }, first_bytes: first,
    steps: steps.view.length, marker_ms: shares(steps.marker), view_ms: shares(steps.view), bytes_a_step: ms(bytes / STEPS), server_mb: memory('VmRSS'), server_peak_mb: memory('VmHWM'),
  };
}

const annals = program();
const stores = process.argv.length > 2 ? process.argv.slice(2) : SIZES.map((events) => storeOf(annals, events));
const all = [];
for (const store of stores) {
  all.push(await measured(annals, store));
  console.log(JSON.stringify(all[all.length - 1]));
}
const row = (words, value, goal = '') => console.log(`| ${words} | ${all.map(value).join(' | ')} | ${goal} |`);
console.log(`\n| | ${all.map((one) => `${one.events.toLocaleString('en')} events`).join(' | ')} | goal |\n|---|${all.map(() => '---|').join('')}---|`);
row('first opened: paint, timeline, view', (one) => Object.values(one.first_ms).join(', '), '300');
row('opened again: paint, timeline, view', (one) => Object.values(one.again_ms).join(', '), '300');
row('marker moves, p50, p99', (one) => `${one.marker_ms.p50}, ${one.marker_ms.p99}`, '50');
row('view is drawn, p50, p99', (one) => `${one.view_ms.p50}, ${one.view_ms.p99}`, '50, flat');
row('bytes to open, bytes a step', (one) => `${one.first_bytes.toLocaleString('en')}, ${one.bytes_a_step.toLocaleString('en')}`, 'flat');
row('memory of the server, at most', (one) => `${one.server_mb} MB, ${one.server_peak_mb} MB`);
