//! The tools `multiedit` and `apply_patch`, and the list of tasks.

use super::bench::{Bench, Tested, structured};
use serde_json::json;

#[tokio::test]
async fn several_edits_of_a_file_are_made_in_their_order_or_not_at_all() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one\ntwo\nthree\n")?;
    let edits = json!([{"old_string": "one", "new_string": "1"}, {"old_string": "1\ntwo", "new_string": "1\n2"}]);
    let said = bench.said("multiedit", json!({"path": "a.txt", "edits": edits})).await;
    assert_eq!(said, "Made 2 edits in a.txt (+2 -2 lines).");
    assert_eq!(bench.text("a.txt")?, "1\n2\nthree\n");
    let edits = json!([{"old_string": "three", "new_string": "3"}, {"old_string": "absent", "new_string": "x"}]);
    let said = bench.said("multiedit", json!({"file_path": "a.txt", "edits": edits})).await;
    assert!(said.starts_with("a.txt was not changed: edit 2: `old_string` does not occur in it."), "{said}");
    assert_eq!(bench.text("a.txt")?, "1\n2\nthree\n");
    assert_eq!(
        bench.demands("multiedit", json!({"path": "a.txt", "edits": [{"old_string": "a", "new_string": "b"}]})),
        ["edit a.txt"]
    );
    Ok(())
}

#[tokio::test]
async fn a_patch_adds_changes_moves_and_deletes_files() -> Tested {
    let bench = Bench::new()?;
    bench.put("src/a.rs", "fn a() {\n    old();\n}\n")?;
    bench.put("crlf.txt", "one\r\ntwo\r\n")?;
    bench.put("gone.txt", "bye\n")?;
    let patch = "*** Begin Patch\n*** Add File: new/b.rs\n+fn b() {}\n*** Update File: src/a.rs\n*** Move to: src/c.rs\n@@ fn a() {\n-    old();\n\
                 +    new();\n*** Update File: crlf.txt\n@@\n-two\n+2\n*** Delete File: gone.txt\n*** End Patch\n";
    let wanted = ["edit new/b.rs | src/a.rs | src/c.rs | crlf.txt | gone.txt"];
    assert_eq!(bench.demands("apply_patch", json!({"patch": patch})), wanted);
    let output = bench.call("apply_patch", json!({"input": patch})).await?;
    assert_eq!(
        output.text.as_deref(),
        Some(
            "Made new/b.rs (+1 -0 lines).\nMoved src/a.rs to src/c.rs (+1 -1 lines).\nChanged crlf.txt (+1 -1 lines).\n\
             Deleted gone.txt (-1 lines)."
        )
    );
    assert_eq!(structured(&output)["files"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        (bench.text("new/b.rs")?, bench.text("src/c.rs")?),
        ("fn b() {}\n".into(), "fn a() {\n    new();\n}\n".into())
    );
    assert_eq!(bench.text("crlf.txt")?, "one\r\n2\r\n");
    assert!(!bench.at("src/a.rs").exists() && !bench.at("gone.txt").exists());
    Ok(())
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one\n")?;
    let patch = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: a.txt\n-two\n+2\n*** End Patch";
    let said = bench.said("apply_patch", json!({"patch": patch})).await;
    assert!(
        said.starts_with("Nothing was changed. a.txt: these lines do not follow one another in it:\ntwo"),
        "{said}"
    );
    assert!(!bench.at("b.txt").exists());
    let there = "*** Begin Patch\n*** Add File: a.txt\n+b\n*** End Patch";
    let said = bench.said("apply_patch", json!({"patch": there})).await;
    assert_eq!(said, "Nothing was changed. a.txt exists; change it with `*** Update File`.");
    bench.call("read", json!({"path": "a.txt"})).await?;
    bench.put("a.txt", "two\n")?;
    let said = bench.said("apply_patch", json!({"patch": patch})).await;
    assert!(said.contains("a.txt has changed since you read it"), "{said}");
    let outside = "*** Begin Patch\n*** Delete File: ../x\n*** End Patch";
    let demands = bench.demands("apply_patch", json!({"patch": outside}));
    assert!(demands.first().is_some_and(|first| first.starts_with("external_directory ")), "{demands:?}");
    Ok(())
}

#[tokio::test]
async fn a_list_of_tasks_is_given_whole() -> Tested {
    let bench = Bench::new()?;
    let items = json!([{"content": "look", "status": "completed"}, {"content": "mend", "status": "in_progress", "priority": "high"}]);
    let output = bench.call("todo", json!({"todos": items})).await?;
    assert_eq!(output.text.as_deref(), Some("[x] look\n[>] mend"));
    let todos = output.todos.unwrap_or_default();
    assert_eq!((todos.len(), todos[1].status.as_str(), todos[1].priority.as_deref()), (2, "in_progress", Some("high")));
    assert_eq!(bench.said("todo", json!({})).await, "The list is empty.");
    assert!(
        bench
            .said("todo", json!({"items": [{"content": " ", "status": "pending"}]}))
            .await
            .contains("Invalid tool input")
    );
    Ok(())
}
