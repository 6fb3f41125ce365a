#!/usr/bin/env node
"use strict";
// Runs the program `annals`, which is in a package of its own for each platform.

const { spawn } = require("node:child_process");
const { accessSync, constants } = require("node:fs");
const tty = require("node:tty");

/** The path of the program; ends with a message if there is none. */
function program() {
  const platform = `${process.platform}-${process.arch}`;
  const file = process.platform === "win32" ? "annals.exe" : "annals";
  const found = [platform, `${platform}-musl`].flatMap((name) => {
    try {
      return [require.resolve(`@annals/${name}/bin/${file}`)];
    } catch {
      return [];
    }
  });
  if (found.length === 0) {
    fail(
      `@annals/${platform} is not installed; install annals without --omit=optional, ` +
        `or build it if your platform has no package (docs/install.md)`,
    );
  }
  if (found.length === 1) return found[0];
  // Package managers that do not know the field `libc` install both packages for Linux.
  process.report.excludeNetwork = true;
  return found[process.report.getReport().header.glibcVersionRuntime ? 0 : 1];
}

function fail(message) {
  console.error(`annals: ${message}`);
  process.exit(2);
}

/** Runs the program as a child, and ends as it ended. */
function runAsChild(file, args) {
  // The program ends when this process is no longer its parent, also after SIGKILL.
  const env = { ...process.env, ANNALS_PARENT: String(process.pid) };
  const child = spawn(file, args, { stdio: "inherit", env });
  const signals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"];
  const forward = (signal) => {
    // A terminal sends these to the child as well.
    const fromTerminal = ["SIGINT", "SIGQUIT"].includes(signal) && tty.isatty(0);
    if (!fromTerminal) child.kill(signal);
  };
  for (const signal of signals) process.on(signal, forward);
  child.on("error", (error) => fail(`${file} cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    for (const one of signals) process.removeListener(one, forward);
    process.kill(process.pid, signal);
  });
}

const file = program();
const args = process.argv.slice(2);
if (process.execve && process.platform !== "win32") {
  try {
    accessSync(file, constants.X_OK);
  } catch (error) {
    fail(`${file} cannot be started: ${error.message}`);
  }
  // Node.js 22.15 and later: this process becomes the program.
  process.execve(file, [file, ...args], process.env);
} else {
  runAsChild(file, args);
}
