//! The tools `write` and `edit`.

use super::bench::{Bench, Tested, pipe, structured};
use crate::{Workplace, change};
use annals_core::SessionId;
use serde_json::json;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() -> Tested {
    let bench = Bench::new()?;
    let output = bench.call("write", json!({"path": "a/b/ü ü.txt", "content": "one\ntwo\n"})).await?;
    assert_eq!(output.text.as_deref(), Some("Made a/b/ü ü.txt (+2 -0 lines)."));
    assert_eq!(bench.text("a/b/ü ü.txt")?, "one\ntwo\n");
    let diff = structured(&output)["diff"].as_str().map(str::to_string).unwrap_or_default();
    assert_eq!(diff, "--- /dev/null\n+++ b/a/b/ü ü.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    let names: Vec<_> = std::fs::read_dir(bench.at("a/b"))?.collect::<Result<_, _>>()?;
    assert_eq!(names.len(), 1, "nothing temporary is left");
    Ok(())
}

#[tokio::test]
async fn a_file_is_replaced_only_by_who_has_read_it() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "old\n")?;
    let write = || json!({"path": "a.txt", "content": "new\n"});
    let unread = "a.txt exists, and you have not read it. Read it before you replace it.";
    assert_eq!(bench.said("write", write()).await, unread);
    bench.call("read", json!({"path": "a.txt"})).await?;
    let bench = bench.other_session();
    assert_eq!(bench.said("write", write()).await, unread, "another Session has not");
    bench.call("read", json!({"path": "a.txt"})).await?;
    assert_eq!(bench.said("write", write()).await, "Replaced a.txt (+1 -1 lines).");
    assert_eq!(
        bench.said("write", json!({"path": "a.txt", "content": "newer\n"})).await,
        "Replaced a.txt (+1 -1 lines)."
    );
    Ok(())
}

#[tokio::test]
async fn a_file_that_somebody_else_changed_is_read_again_first() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one two\n")?;
    bench.call("read", json!({"path": "a.txt"})).await?;
    bench.put("a.txt", "ONE two\n")?;
    let edit = || json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    let refused = "a.txt has changed since you read it. Read it again before you change it.";
    assert_eq!(bench.said("edit", edit()).await, refused);
    assert_eq!(bench.said("write", json!({"path": "a.txt", "content": "x"})).await, refused);
    bench.call("read", json!({"path": "a.txt"})).await?;
    assert_eq!(bench.said("edit", edit()).await, "Edited a.txt (+1 -1 lines).");
    assert_eq!(bench.text("a.txt")?, "ONE 2\n");
    Ok(())
}

#[tokio::test]
async fn an_edit_replaces_the_one_place_that_is_meant() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.rs", "let a = 1;\nlet b = 1;\n")?;
    let said = bench.said("edit", json!({"path": "a.rs", "old_string": " = 1", "new_string": " = 2"})).await;
    assert!(said.starts_with("a.rs was not changed: `old_string` occurs 2 times, at lines 1, 2."), "{said}");
    let edit = json!({"path": "a.rs", "old_string": "b = 1", "new_string": "b = 2"});
    let output = bench.call("edit", edit).await?;
    assert_eq!(
        structured(&output),
        json!({
            "path": "a.rs", "added": 1, "removed": 1,
            "diff": "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 1;\n+let b = 2;\n",
            "content": null,
        })
    );
    let all = json!({"path": "a.rs", "old_string": "let ", "new_string": "", "replace_all": true});
    assert_eq!(bench.said("edit", all).await, "Replaced 2 occurrences in a.rs (+2 -2 lines).");
    assert_eq!(bench.text("a.rs")?, "a = 1;\nb = 2;\n");
    Ok(())
}

#[tokio::test]
async fn line_ends_marks_and_modes_are_kept() -> Tested {
    let bench = Bench::new()?;
    bench.put("run.bat", "\u{feff}one\r\ntwo\r\n")?;
    std::fs::set_permissions(bench.at("run.bat"), std::fs::Permissions::from_mode(0o751))?;
    bench.call("edit", json!({"path": "run.bat", "old_string": "one\ntwo", "new_string": "1\n2"})).await?;
    assert_eq!(bench.text("run.bat")?, "\u{feff}1\r\n2\r\n");
    bench.call("write", json!({"path": "run.bat", "content": "a\nb\n"})).await?;
    assert_eq!(bench.text("run.bat")?, "a\r\nb\r\n");
    assert_eq!(bench.at("run.bat").metadata()?.mode() & 0o7777, 0o751);
    bench.call("write", json!({"path": "new.txt", "content": ""})).await?;
    std::fs::write(bench.at("usual.txt"), "")?;
    assert_eq!(bench.at("new.txt").metadata()?.mode(), bench.at("usual.txt").metadata()?.mode());
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_changed_file_keeps_its_owner_its_mode_and_what_users_attached_to_it() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one\n")?;
    let file = std::fs::File::open(bench.at("a.txt"))?;
    // Only root can give a file away; anybody can give it to a group of theirs.
    let given = std::os::unix::fs::chown(bench.at("a.txt"), Some(1234), Some(4321)).is_ok();
    let mode = if given { 0o4750 } else { 0o750 };
    std::fs::set_permissions(bench.at("a.txt"), std::fs::Permissions::from_mode(mode))?;
    let flags = rustix::fs::XattrFlags::empty();
    let attached = rustix::fs::fsetxattr(&file, "user.note", b"mine", flags).is_ok();
    let before = bench.at("a.txt").metadata()?;
    let said = bench.said("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "two"})).await;
    assert_eq!(said, "Edited a.txt (+1 -1 lines).");
    let after = bench.at("a.txt").metadata()?;
    assert_ne!(before.ino(), after.ino(), "another file stands in its place");
    assert_eq!((after.uid(), after.gid(), after.mode()), (before.uid(), before.gid(), before.mode()));
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(bench.at("a.txt"), "user.note", &mut value[..]).unwrap_or(0);
    assert_eq!(&value[..length], if attached { b"mine".as_slice() } else { b"" });
    Ok(())
}

#[test]
fn what_the_system_does_not_let_be_kept_is_said() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one\n")?;
    let place = Workplace::at(bench.at(""), bench.at(""));
    let output = change::tool_output(
        &place,
        SessionId::from_parts(0, 1),
        &bench.at("a.txt"),
        "Edited",
        (Some("one\n"), "two\n"),
        &vec!["its owner", "its group"],
    );
    let expected = "Edited a.txt (+1 -1 lines). The system did not let it keep its owner and its group.";
    assert_eq!(output.text.as_deref(), Some(expected));
    Ok(())
}

#[tokio::test]
async fn a_link_stays_and_what_it_points_to_is_changed() -> Tested {
    let bench = Bench::new()?;
    bench.put("real.txt", "one\n")?;
    symlink("real.txt", bench.at("link.txt"))?;
    symlink("made.txt", bench.at("dangling.txt"))?;
    bench.call("edit", json!({"path": "link.txt", "old_string": "one", "new_string": "two"})).await?;
    bench.call("write", json!({"path": "dangling.txt", "content": "new"})).await?;
    assert!(bench.at("link.txt").symlink_metadata()?.is_symlink());
    assert_eq!((bench.text("real.txt")?, bench.text("made.txt")?), ("two\n".into(), "new".into()));
    Ok(())
}

#[tokio::test]
async fn what_is_no_file_is_not_written() -> Tested {
    let bench = Bench::new()?;
    pipe(&bench.at("pipe"))?;
    bench.put("file", "x")?;
    bench.put("latin", b"caf\xe9")?;
    std::fs::create_dir(bench.at("dir"))?;
    let write = |path: &str| json!({"path": path, "content": "x"});
    assert_eq!(bench.said("write", write("pipe")).await, "pipe is a named pipe, not a file.");
    assert_eq!(bench.said("write", write("dir")).await, "dir is a directory. List it with `ls`.");
    assert_eq!(bench.said("write", write("/dev/null")).await, "/dev/null is a device, not a file.");
    assert!(bench.said("write", write("file/below")).await.starts_with("file/below: "));
    let edit = |path: &str| json!({"path": path, "old_string": "x", "new_string": "y"});
    assert_eq!(bench.said("edit", edit("latin")).await, "latin is not UTF-8; it cannot be edited as text.");
    assert_eq!(bench.said("edit", edit("fil")).await, "There is no file fil. Did you mean file?");
    let same = json!({"path": "file", "old_string": "x", "new_string": "x"});
    assert_eq!(bench.said("edit", same).await, "Invalid tool input: `old_string` and `new_string` are the same");
    Ok(())
}

#[tokio::test]
async fn a_difference_too_long_to_record_is_only_counted() -> Tested {
    let bench = Bench::new()?;
    let output = bench.call("write", json!({"path": "a.txt", "content": "0123456789\n".repeat(10_000)})).await?;
    let value = structured(&output);
    assert_eq!((&value["added"], &value["diff"]), (&json!(10_000), &json!(null)), "{value}");
    Ok(())
}

#[tokio::test]
async fn names_of_other_agents_tools_are_understood() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one")?;
    let edit = json!({"filePath": "a.txt", "oldString": "one", "newString": "two", "replaceAll": false});
    assert_eq!(bench.said("edit", edit).await, "Edited a.txt (+1 -1 lines).");
    let wrong = bench.said("write", json!({"path": "a.txt", "content": "", "mode": 1})).await;
    assert!(wrong.starts_with("Invalid tool input: unknown field `mode`"), "{wrong}");
    Ok(())
}

#[tokio::test]
async fn changes_that_are_made_at_once_are_all_kept() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", (10..40).map(|n| format!("{n}\n")).collect::<String>())?;
    let edits = (10..40).map(|n| {
        bench.said("edit", json!({"path": "a.txt", "old_string": format!("{n}\n"), "new_string": format!("<{n}>\n")}))
    });
    for said in futures_util::future::join_all(edits).await {
        assert_eq!(said, "Edited a.txt (+1 -1 lines).");
    }
    assert_eq!(bench.text("a.txt")?, (10..40).map(|n| format!("<{n}>\n")).collect::<String>());
    Ok(())
}

#[tokio::test]
async fn a_file_that_nobody_may_write_to_stays() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "one")?;
    std::fs::set_permissions(bench.at("a.txt"), std::fs::Permissions::from_mode(0o444))?;
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "two"});
    assert_eq!(bench.said("edit", edit).await, "a.txt is read-only.");
    assert_eq!(bench.text("a.txt")?, "one");
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_kept_for_secrets_has_no_hash_in_the_log() -> Tested {
    let bench = Bench::new()?;
    let output = bench.call("write", json!({"path": ".env", "content": "A=1\n"})).await?;
    assert_eq!(structured(&output)["content"], json!(null));
    let read = bench.call("read", json!({"path": ".env"})).await?;
    assert_eq!(structured(&read).get("content"), None);
    Ok(())
}
