// First paint and scrub latency of the page over real stores: `ANNALS=… node browser/measure.mjs STORE...`. What docs/benchmarks.md has.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { open } from './chromium.mjs';
import { serveStore } from './server.mjs';
import { annals } from './stores.mjs';

const STEPS = Number(process.env.STEPS ?? 500);
const TAB = process.env.TAB ?? 'seen';
const percentile = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];

for (const store of process.argv.slice(2)) {
  const env = { ...process.env, HOME: store };
  const rows = JSON.parse(execFileSync(annals, ['sessions', '--all', '--json', '--store', store], { env }));
  const session = rows.sort((a, b) => b.next - a.next)[0];
  const server = await serveStore({ annals, store, env });
  const browser = await open(server.origin);
  const page = await browser.page();
  let bytes = 0;
  page.on('response', async (response) => { bytes += (await response.body().catch(() => '')).length; });
  const painted = async (at) => {
    await page.goto('about:blank');
    const began = performance.now();
    await page.goto(`${server.origin}/#token=${server.token}&/s/${session.id}${at}?tab=${TAB}`);
    await page.waitForSelector('.turn:not(.hole)');
    const timeline = performance.now() - began;
    await page.waitForFunction(() => { const panel = document.querySelector('.panel'); return panel && !/^Loading/.test(panel.textContent) && !panel.querySelector('[aria-busy=true]'); }, null, { polling: 'raf' });
    return { timeline, whole: performance.now() - began };
  };
  const cold = await painted('');
  const warm = await painted('');
  const first = bytes;
  await painted(`@${Math.floor(session.next / 2)}`);
  bytes = 0;
  // A step: from the key to the marker, and to the view at the new place.
  const steps = { marker: [], view: [] };
  for (let step = 0; step < STEPS; step++) {
    const key = step % 25 === 24 ? (step % 2 ? 'Home' : 'End') : step % 9 === 8 ? '[' : 'ArrowLeft';
    const found = await page.evaluate((pressed) => new Promise((done) => {
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
        // The view is asked for 40 ms after the last key.
        if (marker !== null && !busy && now - began > marker + 90) return done({ marker, view: Math.max(marker, view) });
        // There is no place to go to.
        if (marker === null && now - began > 3000) return done(null);
        requestAnimationFrame(look);
      };
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: pressed, bubbles: true }));
      requestAnimationFrame(look);
    }), key);
    if (!found) continue;
    steps.marker.push(found.marker);
    steps.view.push(found.view);
  }
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))[1] / 1024;
  const ms = (n) => Math.round(n);
  console.log(JSON.stringify({
    events: session.next, tab: TAB, first_ms: { timeline: ms(cold.timeline), view: ms(cold.whole) }, again_ms: { timeline: ms(warm.timeline), view: ms(warm.whole) }, first_bytes: Math.round(first / 2),
    marker_ms: { p50: ms(percentile(steps.marker, 0.5)), p99: ms(percentile(steps.marker, 0.99)) }, view_ms: { p50: ms(percentile(steps.view, 0.5)), p99: ms(percentile(steps.view, 0.99)) },
    bytes_a_step: Math.round(bytes / STEPS), server_mb: ms(memory),
  }));
  await browser.close();
  server.close();
}
