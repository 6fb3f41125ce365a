// Plays an editor. stdin: {"program", "arguments", "environment", "directory", "permissions", "steps"}.
// A step is {"method", "params", "cancelOn"?}: the request is sent; "cancelOn" names the update after which the turn is cancelled.
// "$session" in params is the id of the newest session. "permissions" are the options that are chosen, one after another.
// stdout: {"answers", "updates", "permissions", "problems"}; a problem is a line that the published schema does not allow.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const require = createRequire(import.meta.url);
const file = require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json", { paths: [import.meta.dirname] });
const schema = JSON.parse(readFileSync(file, "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
for (const name of ["uint16", "uint32", "uint64", "int64", "int32"]) ajv.addFormat(name, true);
ajv.addFormat("double", true);
ajv.addSchema(schema, "acp");
const validators = new Map();
const validator = (name) => {
  if (!validators.has(name)) validators.set(name, ajv.compile({ $ref: `acp#/$defs/${name}` }));
  return validators.get(name);
};
const answerOf = {
  initialize: "InitializeResponse",
  authenticate: "AuthenticateResponse",
  "session/new": "NewSessionResponse",
  "session/load": "LoadSessionResponse",
  "session/resume": "ResumeSessionResponse",
  "session/list": "ListSessionsResponse",
  "session/close": "CloseSessionResponse",
  "session/set_mode": "SetSessionModeResponse",
  "session/set_config_option": "SetSessionConfigOptionResponse",
  "session/prompt": "PromptResponse",
};
const askedOf = {
  "session/update": "SessionNotification",
  "session/request_permission": "RequestPermissionRequest",
  "$/cancel_request": "CancelRequestNotification",
};

const input = JSON.parse(readFileSync(0, "utf8"));
const problems = [], updates = [], permissions = [], answers = [];
const asked = new Map();

function check(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch (error) {
    return problems.push({ line, errors: String(error) });
  }
  const name = message.method ? askedOf[message.method] : message.error ? "Error" : answerOf[asked.get(message.id)];
  const value = message.method ? message.params : (message.error ?? message.result);
  if (message.jsonrpc !== "2.0" || !name) return problems.push({ line, errors: "unknown message" });
  const valid = validator(name);
  if (!valid(value)) problems.push({ line, errors: valid.errors });
}

const agent = spawn(input.program, input.arguments, {
  cwd: input.directory,
  env: input.environment,
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = (each) => {
  let rest = "";
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      rest += decoder.decode(chunk, { stream: true });
      const whole = rest.split("\n");
      rest = whole.pop();
      whole.filter(Boolean).forEach(each);
      controller.enqueue(chunk);
    },
  });
};
const note = (line) => {
  const { id, method } = JSON.parse(line);
  if (method && id !== undefined) asked.set(id, method);
};
const written = lines(note);
written.readable.pipeTo(Writable.toWeb(agent.stdin)).catch(() => {});
const read = Readable.toWeb(agent.stdout).pipeThrough(lines(check));

let session, waiting;
const app = client({ name: "annals-tests" })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params);
    if (waiting?.on === params.update.sessionUpdate) waiting.done();
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params);
    const optionId = input.permissions.shift();
    return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
  });

await app.connectWith(ndJsonStream(written.writable, read), async (ctx) => {
  for (const { method, params, cancelOn } of input.steps) {
    const named = JSON.parse(JSON.stringify(params).replaceAll('"$session"', JSON.stringify(session ?? "")));
    if (cancelOn) {
      const seen = new Promise((done) => (waiting = { on: cancelOn, done }));
      seen.then(() => ctx.notify("session/cancel", { sessionId: session }));
    }
    try {
      const answer = await ctx.request(method, named);
      session = answer.sessionId ?? session;
      answers.push(answer);
    } catch (error) {
      answers.push({ error: { code: error.code, message: error.message, data: error.data } });
    }
  }
});
agent.stdin.end();
await new Promise((ended) => (agent.exitCode === null ? agent.on("exit", ended) : ended()));
console.log(JSON.stringify({ answers, updates, permissions, problems }));
process.exit(0);
