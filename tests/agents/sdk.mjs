// A program on the TypeScript SDKs of Anthropic and OpenAI: a conversation of two turns with a tool in each protocol, streamed and not.

import { execSync } from "node:child_process";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const turns = ["First. @@ shell ls @@ say Two files.", "Second. @@ shell cat README.md @@ say Read."];
const shell = (input) => execSync(input.command, { encoding: "utf8" });

async function messages() {
  const client = new Anthropic();
  const history = [];
  const tools = [{ name: "bash", description: "Runs a command.", input_schema: parameters }];
  for (const turn of turns) {
    history.push({ role: "user", content: turn });
    for (;;) {
      const request = { model: "claude-sonnet-4-5", max_tokens: 500, system: "Be short.", tools, messages: history };
      const answer = await client.messages.stream(request).finalMessage();
      history.push({ role: "assistant", content: answer.content });
      const calls = answer.content.filter((block) => block.type === "tool_use");
      if (!calls.length) break;
      const content = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: shell(call.input) }));
      history.push({ role: "user", content });
    }
  }
}

async function chat() {
  const client = new OpenAI();
  const history = [{ role: "system", content: "Be short." }];
  const tools = [{ type: "function", function: { name: "bash", description: "Runs a command.", parameters } }];
  for (const turn of turns) {
    history.push({ role: "user", content: turn });
    for (;;) {
      const answer = await client.chat.completions.create({ model: "gpt-5", messages: history, tools });
      const message = answer.choices[0].message;
      history.push(message);
      if (!message.tool_calls?.length) break;
      for (const call of message.tool_calls) {
        history.push({ role: "tool", tool_call_id: call.id, content: shell(JSON.parse(call.function.arguments)) });
      }
    }
  }
}

await messages();
await chat();
