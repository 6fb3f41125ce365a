"""A program on the Python SDKs of Anthropic and OpenAI: a conversation of two turns with a tool in each protocol, streamed and not."""

import json
import subprocess

import anthropic
import openai

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TURNS = ["First. @@ bash ls @@ say Two files.", "Second. @@ bash cat README.md @@ say Read."]


def shell(arguments):
    return subprocess.run(arguments["command"], shell=True, capture_output=True, text=True).stdout


def messages():
    client, history = anthropic.Anthropic(), []
    tools = [{"name": "bash", "description": "Runs a command.", "input_schema": COMMAND}]
    for turn in TURNS:
        history.append({"role": "user", "content": turn.replace("bash", "shell")})
        while True:
            with client.messages.stream(model="claude-sonnet-4-5", max_tokens=500, system="Be short.", tools=tools, messages=history) as stream:
                answer = stream.get_final_message()
            history.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": shell(call.input)} for call in calls]
            history.append({"role": "user", "content": results})


def responses():
    client, history = openai.OpenAI(), []
    tools = [{"type": "function", "name": "bash", "description": "Runs a command.", "parameters": COMMAND, "strict": False}]
    for turn in TURNS:
        history.append({"role": "user", "content": turn.replace("bash", "shell")})
        while True:
            answer = client.responses.create(model="gpt-5", instructions="Be short.", input=history, tools=tools)
            history += [item.model_dump(exclude_none=True) for item in answer.output]
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                break
            for call in calls:
                output = shell(json.loads(call.arguments))
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


messages()
responses()
