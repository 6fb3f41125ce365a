// Debian's chromium with a fresh profile and no network of its own.
import { fileURLToPath } from 'node:url';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const ARGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

/**
 * Opens the browser: `{ page(options), close() }`. A page fails the test on script errors and on requests to other hosts. Each request
 * waits for that look at its address, unless `guarded` is false: then time is measured.
 */
export async function open(origin, { guarded = true } = {}) {
  const profile = await mkdtemp(join(tmpdir(), 'annals-web-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGS, viewport: { width: 1280, height: 800 }, timezoneId: 'UTC', locale: 'en-GB',
  });
  const problems = [];
  const foreign = [];
  context.on('page', (page) => {
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => message.type() === 'error' && !/favicon|404/.test(message.text() + message.location().url) && problems.push(message.text()));
    page.on('dialog', (dialog) => {
      problems.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
  });
  if (guarded) await context.route('**/*', (route) => {
    const url = route.request().url();
    // PAGE=dist shows what was built since the program was compiled.
    const file = /^\/(app\.(?:js|css))$/.exec(new URL(url).pathname);
    if (file && process.env.PAGE === 'dist') return route.fulfill({ path: fileURLToPath(new URL(`../dist/${file[1]}`, import.meta.url)), contentType: file[1].endsWith('js') ? 'text/javascript' : 'text/css' });
    if (url.startsWith(origin) || url.startsWith('blob:')) return route.continue();
    foreign.push(url);
    return route.abort();
  });
  return {
    context, problems, foreign,
    page: () => context.newPage(),
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
