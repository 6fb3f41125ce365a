//! Language servers: a small one of ours, which finds an error in every line with `BAD`.

use super::bench::{Bench, Tested, structured};
use crate::{LanguageServer, LanguageServers};
use serde_json::json;
use std::time::Duration;

const SERVER: &str = r#"
import json, sys
def send(message):
    body = json.dumps(dict(message, jsonrpc="2.0")).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body); sys.stdout.flush()
while True:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length:"): length = int(line.split(b":")[1])
    if not length: break
    message = json.loads(sys.stdin.buffer.read(length)); method = message.get("method"); params = message.get("params") or {}
    if method in ("textDocument/didOpen", "textDocument/didChange"):
        document = params["textDocument"]
        text = document["text"] if "text" in document else params["contentChanges"][0]["text"]
        found = [{"range": {"start": {"line": n, "character": 0}, "end": {"line": n, "character": 3}}, "severity": 1,
                  "message": "bad word", "code": 7} for n, line in enumerate(text.splitlines()) if "BAD" in line]
        send({"method": "textDocument/publishDiagnostics",
              "params": {"uri": document["uri"], "version": document["version"], "diagnostics": found}})
    elif method == "textDocument/hover":
        send({"id": message["id"], "result": {"contents": {"kind": "markdown", "value": "at %(line)d:%(character)d" % params["position"]}}})
    elif "id" in message:
        send({"id": message["id"], "result": {"capabilities": {}}})
"#;

fn bench(program: &[&str]) -> std::io::Result<Bench> {
    let server = LanguageServer {
        name: "words".into(),
        command: program.iter().map(ToString::to_string).collect(),
        extensions: vec!["txt".into()],
    };
    Bench::with(|place| place.checked_by(LanguageServers::new(vec![server], Duration::from_secs(60))))
}

#[tokio::test]
async fn an_edit_names_the_errors_that_are_new_and_no_others() -> Tested {
    crate::needs!("python3");
    let bench = bench(&["python3", "-c", SERVER])?;
    bench.put("a.txt", "BAD\nfine\n")?;
    let output = bench.call("edit", json!({"path": "a.txt", "old_string": "fine", "new_string": "x\nBAD too"})).await?;
    assert_eq!(
        output.text.as_deref(),
        Some("Edited a.txt (+2 -1 lines).\nNew errors since this change:\na.txt:3:1: bad word [7] (words)")
    );
    assert_eq!(structured(&output)["diagnostics"]["errors"].as_array().map(Vec::len), Some(1));
    let said = bench.said("edit", json!({"path": "a.txt", "old_string": "x\n", "new_string": ""})).await;
    assert_eq!(said, "Edited a.txt (+0 -1 lines).");
    let patch = "*** Begin Patch\n*** Add File: b.txt\n+BAD\n*** Add File: c.md\n+BAD\n*** End Patch";
    let said = bench.said("apply_patch", json!({"patch": patch})).await;
    assert!(said.ends_with("\nNew errors since this change:\nb.txt:1:1: bad word [7] (words)"), "{said}");
    assert_eq!(bench.said("lsp_diagnostics", json!({"path": "a.txt"})).await.lines().count(), 2);
    let said = bench.said("lsp_hover", json!({"path": "a.txt", "line": 2, "symbol": "too"})).await;
    assert_eq!(said, "at 1:4");
    Ok(())
}

#[tokio::test]
async fn an_edit_succeeds_without_its_server() -> Tested {
    for program in [&["/no/such/server"][..], &["false"]] {
        let bench = bench(program)?;
        bench.put("a.txt", "one\n")?;
        let output = bench.call("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "BAD"})).await?;
        assert_eq!(output.text.as_deref(), Some("Edited a.txt (+1 -1 lines)."));
        let unknown = structured(&output)["diagnostics"]["unknown"][0].as_str().map(str::to_owned).unwrap_or_default();
        assert!(unknown.starts_with("words could not be started: "), "{unknown}");
    }
    Ok(())
}
