import { execFileSync } from 'node:child_process';
import { open } from './chromium.mjs';
import { serveStore } from './server.mjs';
const annals = process.env.ANNALS; const store = process.argv[2];
const env = { ...process.env, HOME: store };
const rows = JSON.parse(execFileSync(annals, ['sessions', '--all', '--json', '--store', store], { env }));
const session = rows.sort((a, b) => b.next - a.next)[0];
const server = await serveStore({ annals, store, env });
const browser = await open(server.origin);
const page = await browser.page();
let t0 = 0; const log = [];
page.on('request', (r) => log.push([performance.now() - t0, '>', r.url().replace(server.origin, '').slice(0, 90)]));
page.on('requestfinished', (r) => log.push([performance.now() - t0, '<', r.url().replace(server.origin, '').slice(0, 90)]));
const link = `${server.origin}/#token=${server.token}&/s/${session.id}?tab=${process.env.TAB ?? 'seen'}`;
for (const name of ['cold', 'warm', 'warm2']) {
  await page.goto('about:blank');
  log.length = 0; t0 = performance.now();
  await page.goto(link);
  log.push([performance.now() - t0, '=', 'goto']);
  await page.waitForSelector('.turn:not(.hole)');
  log.push([performance.now() - t0, '=', 'timeline']);
  await page.waitForFunction(() => { const panel = document.querySelector('.panel'); return panel && !/^Loading/.test(panel.textContent) && !panel.querySelector('[aria-busy=true]'); }, null, { polling: 'raf' });
  log.push([performance.now() - t0, '=', 'view']);
  await new Promise((d) => setTimeout(d, 500));
  console.log(name); for (const [t, k, u] of log.sort((a, b) => a[0] - b[0])) console.log(String(Math.round(t)).padStart(6), k, u);
  console.log(JSON.stringify(await page.evaluate(() => ({ nav: performance.getEntriesByType('navigation')[0].toJSON(), paint: performance.getEntriesByType('paint').map((p) => [p.name, p.startTime]), res: performance.getEntriesByType('resource').map((r) => [r.name.slice(-50), Math.round(r.startTime), Math.round(r.responseStart), Math.round(r.responseEnd)]) })), null, 0).slice(0, 3000));
}
await browser.close(); server.close();
