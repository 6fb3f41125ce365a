"""The modes in which each agent is run: what a person does with it in a week, as far as its flags let a program do it.

A mode is a name, the arguments of the agent, and what else it needs: `stdin`, `interrupt` (a verb of the provider after which SIGINT is sent),
`env`, `fails` (the agent may end with another status than 0).
"""
import base64, json

DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
LARGE = "shell seq 1 30000"
LOOK = "agent Look into the folder of sources. %% shell ls src %% say It has main.rs."


def streamed(*prompts):
    """Prompts of one process, one of them with a picture."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(DOT).decode()}}
    lines = [{"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": prompt}, *([image] if at == 0 else [])]}} for at, prompt in enumerate(prompts)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def claude(prompt, *flags, first=False, yolo=True):
    return ["claude", *([] if first else ["--continue"]), "-p", prompt, *flags, *(["--dangerously-skip-permissions"] if yolo else [])]


def codex(prompt, *flags, first=False):
    yolo = ["-c", "model_auto_compact_token_limit=200000", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
    return ["codex", "exec", *yolo, *([] if first else ["resume", "--last"]), *flags, prompt]


def opencode(prompt, *flags, first=False, model="anthropic/claude-sonnet-4-5"):
    return ["opencode", "run", "--model", model, *([] if first else ["--continue"]), *flags, prompt]


def gemini(prompt, *flags, first=False, yolo=True):
    return ["gemini", *(["--yolo"] if yolo else []), *([] if first else ["--resume", "latest"]), *flags, "-p", prompt]


def qwen(prompt, *flags, first=False, yolo=True):
    return ["qwen", *(["--yolo"] if yolo else []), "--auth-type", "openai", "--chat-recording", *([] if first else ["--continue"]), *flags, "-p", prompt]


def pi(prompt, *flags, first=False, model="anthropic/claude-sonnet-4-5"):
    return ["pi", "--model", model, *([] if first else ["--continue"]), *flags, "-p", prompt]


def common(run, read="read README.md", write="write new.txt new words", image="read dot.png", wait=""):
    """What every agent can do."""
    return [
        ("turns", run("Begin. @@ shell ls @@ think %s @@ say Two files." % read, first=True), {}),
        ("edits", run("Change it. @@ %s @@ edit README.md @@ say It is tiny." % read), {}),
        ("write", run("Make one. @@ %s @@ shell cat new.txt ++ shell ls src @@ say Made." % write), {}),
        ("errors", run("Try. @@ shell exit 3 @@ %s @@ shell cat nowhere @@ say They failed." % read.replace("README.md", "missing.txt")), {}),
        ("refused", run("Overload. @@ fail 529 @@ say Recovered."), {"fails": True}),
        ("cut", run("Break. @@ cut These are the words of an answer that breaks off in the middle of it."), {"fails": True}),
        ("interrupted", run("Slow. @@ slow 30"), {"interrupt": "slow"}),
        ("after", run("Go on. @@ shell cat README.md @@ say Going on."), {}),
        ("subagent", run("Ask another. @@ %s%s @@ say It looked." % (LOOK, wait)), {}),
        ("image", run("See. @@ %s @@ say A dot." % image), {}),
        ("large", run("Much output. @@ %s @@ say Too much." % LARGE), {}),
        ("bad request", run("Refuse. @@ fail 400"), {"fails": True}),
        ("same", run("Go on. @@ say Going on."), {}),
        ("same again", run("Go on. @@ say Going on."), {}),
    ]


MODES = {
    "claude": [
        *common(claude),
        ("background", claude("In the background. @@ raw Agent %s @@ say It runs. @@ say It came." % json.dumps({
            "description": "Look", "prompt": "Look in the background. %% shell ls src %% say Seen in the background.", "subagent_type": "general-purpose", "run_in_background": True})), {}),
        ("background command", claude("Run it. @@ raw Bash %s @@ say Started. @@ say Ended." % json.dumps({"command": "sleep 1; echo background words", "description": "Waits", "run_in_background": True})), {}),
        ("plan", claude("Plan. @@ read README.md @@ raw ExitPlanMode {} @@ say The plan is short.", "--permission-mode", "plan", yolo=False), {"fails": True}),
        ("streamed", claude("", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"), {
            "stdin": streamed("Picture. @@ shell ls @@ say A red dot.", "Second in line. @@ say The second.")}),
        ("model", claude("With another model. @@ shell ls @@ say A smaller one.", "--model", "claude-haiku-4-5"), {}),
        ("compaction by hand", claude("/compact"), {}),
        ("after the compaction", claude("Sixth. @@ shell ls src @@ say After the summary."), {}),
        ("fork", claude("In a fork. @@ shell ls @@ say Forked.", "--fork-session"), {}),
        ("automatic compaction", claude("Fill it. @@ full 990000 shell ls @@ shell ls src @@ say It was full.", "--autocompact", "100000"), {}),
        ("after both", claude("Seventh. @@ say After both."), {}),
    ],
    "codex": [
        *common(codex, "shell cat README.md", "shell echo new words > new.txt", "raw view_image dot.png", " @@ wait"),
        ("plan", codex('Plan. @@ raw update_plan {"plan":[{"step":"Look","status":"in_progress"}]} @@ say Planned.'), {}),
        ("picture", codex("Picture. @@ say A red dot.", "-i", "dot.png", "--"), {}),
        ("model", codex("With another model. @@ shell ls @@ say A smaller one.", "-m", "gpt-5-codex"), {}),
        ("automatic compaction", codex("Fill it. @@ full 400000 shell ls @@ shell ls src @@ say It was full."), {}),
        ("after the compaction", codex("Sixth. @@ shell ls src @@ say After the summary."), {}),
        ("fork", ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "fork", "SESSION", "In a fork. @@ shell ls @@ say Forked."], {}),
    ],
    "opencode": [
        *common(opencode),
        ("plan", opencode("Plan. @@ read README.md @@ say The plan is short.", "--agent", "plan"), {}),
        ("picture", opencode("Picture. @@ say A red dot.", "--file", "dot.png", "--"), {}),
        ("openai", opencode("With another provider. @@ shell ls @@ think say Another one.", model="openai/gpt-5"), {}),
        ("google", opencode("With a third. @@ shell ls @@ say A third one.", model="google/gemini-2.5-pro"), {}),
        ("back", opencode("Back. @@ say The first again."), {}),
        ("automatic compaction", opencode("Fill it. @@ full 1200000 shell ls @@ shell ls src @@ say It was full."), {}),
        ("after the compaction", opencode("Sixth. @@ shell ls src @@ say After the summary."), {}),
        ("fork", opencode("In a fork. @@ shell ls @@ say Forked.", "--fork"), {}),
    ],
    "gemini": [
        *common(gemini),
        ("plan", gemini("Plan. @@ read README.md @@ say The plan is short.", "--approval-mode", "plan", yolo=False), {"fails": True}),
        ("picture", gemini("Picture of @dot.png here. @@ say A red dot."), {}),
        ("model", gemini("With another model. @@ shell ls @@ say A smaller one.", "--model", "gemini-2.5-flash"), {}),
        ("automatic compaction", gemini("Fill it. @@ full 900000 shell ls @@ shell ls src @@ say It was full."), {}),
        ("after the compaction", gemini("Sixth. @@ shell ls src @@ say After the summary."), {}),
    ],
    "qwen": [
        *common(qwen),
        ("plan", qwen("Plan. @@ read README.md @@ say The plan is short.", "--approval-mode", "plan", yolo=False), {"fails": True}),
        ("picture", qwen("Picture of @dot.png here. @@ say A red dot."), {}),
        ("fork", qwen("In a fork. @@ shell ls @@ say Forked.", "--fork-session"), {}),
        # The summary of the scripted provider is not the one that it asks for.
        ("automatic compaction", qwen("Fill it. @@ full 900000 shell ls @@ shell ls src @@ say It was full."), {"fails": True}),
    ],
    "pi": [
        *common(pi),
        ("picture", pi("Picture. @@ say A red dot.", "@dot.png"), {}),
        ("openai", pi("With another provider. @@ shell ls @@ think say Another one.", model="openai/gpt-5"), {}),
        ("google", pi("With a third. @@ shell ls @@ say A third one.", model="google/gemini-2.5-pro"), {}),
        ("back", pi("Back. @@ say The first again."), {}),
        ("automatic compaction", pi("Fill it. @@ full 1200000 shell ls @@ shell ls src @@ say It was full."), {}),
        ("after the compaction", pi("Sixth. @@ shell ls src @@ say After the summary."), {}),
    ],
}
