//! The tools `grep`, `glob` and `ls`.

use super::bench::{Bench, Tested, pipe, put, rule, structured};
use annals_core::event::Effect;
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

fn project() -> std::io::Result<Bench> {
    let bench = Bench::new()?;
    bench.put(".gitignore", "ignored/\n*.log\n")?;
    bench.put(".git/config", "needle")?;
    bench.put(".hidden/a.rs", "needle hidden\n")?;
    bench.put("ignored/a.rs", "needle ignored\n")?;
    bench.put("src/b.rs", "first\nneedle one\r\nNeedle two\nneedle three\n")?;
    bench.put("src/a.log", "needle\n")?;
    bench.put("src/sp ace ü.txt", "a needle\n")?;
    bench.put("src/binary", b"needle\0\n")?;
    put(&bench.outside("other/out.rs"), "needle outside\n")?;
    symlink(bench.outside("other"), bench.at("src/out"))?;
    symlink("/dev/zero", bench.at("src/zero"))?;
    pipe(&bench.at("src/pipe"))?;
    Ok(bench)
}

#[tokio::test]
async fn grep_shows_lines_by_file_in_the_order_of_paths() -> Tested {
    let bench = project()?;
    let output = bench.call("grep", json!({"pattern": "needle"})).await?;
    let expected = ".hidden/a.rs\n     1\tneedle hidden\n\nsrc/b.rs\n     2\tneedle one\n     4\tneedle three\n\n\
                    src/sp ace ü.txt\n     1\ta needle\n";
    assert_eq!(output.text.as_deref(), Some(expected));
    assert_eq!(structured(&output), json!({"matches": 4, "shown": 4, "files": 3, "complete": true, "withheld": 0}));
    let said = bench.said("grep", json!({"pattern": "(?i)NEEDLE T", "include": "*.rs"})).await;
    assert_eq!(said, "src/b.rs\n     3\tNeedle two\n     4\tneedle three\n");
    assert_eq!(bench.said("grep", json!({"pattern": "absent"})).await, "No matches.");
    let one = bench.said("grep", json!({"pattern": "needle", "path": "src/b.rs", "limit": 1})).await;
    assert_eq!(one, "src/b.rs\n     2\tneedle one\n\n(1 of 2 matches shown; 1 more. Narrow the search.)");
    let ignored = bench.said("grep", json!({"pattern": "needle", "path": "ignored"})).await;
    assert_eq!(ignored, "ignored/a.rs\n     1\tneedle ignored\n", "what is named is searched");
    Ok(())
}

#[tokio::test]
async fn a_search_shows_no_file_that_reading_would_ask_for() -> Tested {
    let mut bench = Bench::new()?;
    for name in [".env", "a.txt", "deep/.env.local", "deep/secret", "deep/b.txt"] {
        bench.put(name, "needle\n")?;
    }
    bench.rules.extend([
        rule("read", "*.env", Effect::Ask),
        rule("read", "*.env.*", Effect::Deny),
        rule("grep", "deep/secret", Effect::Ask),
    ]);
    let output = bench.call("grep", json!({"pattern": "needle"})).await?;
    let withheld =
        "\n(Not searched without permission: .env, deep/.env.local, deep/secret. Name one as `path` to ask for it.)";
    let expected = format!("a.txt\n     1\tneedle\n\ndeep/b.txt\n     1\tneedle\n{withheld}");
    assert_eq!(output.text, Some(expected));
    assert_eq!(structured(&output)["withheld"], json!(3));
    let none = bench.said("grep", json!({"pattern": "needle", "include": ".env"})).await;
    assert_eq!(none, "No matches.\n(Not searched without permission: .env. Name one as `path` to ask for it.)");
    // One that is named is asked for, as a read of it would be.
    assert_eq!(bench.demands("grep", json!({"pattern": "x", "path": ".env"})), ["read .env", "grep .env"]);
    assert_eq!(bench.demands("grep", json!({"pattern": "x", "path": "deep"})), ["grep deep"]);
    let named = bench.said("grep", json!({"pattern": "needle", "path": ".env"})).await;
    assert_eq!(named, ".env\n     1\tneedle\n");
    // Who is asked about a directory and allows it to be searched has answered for what lies in it, but for what is denied.
    bench.rules.extend([rule("grep", "*", Effect::Ask), rule("grep", "deep/secret", Effect::Deny)]);
    let asked = bench.said("grep", json!({"pattern": "needle", "path": "deep"})).await;
    let withheld =
        "\n(Not searched without permission: deep/.env.local, deep/secret. Name one as `path` to ask for it.)";
    assert_eq!(asked, format!("deep/b.txt\n     1\tneedle\n{withheld}"));
    // Without rules nothing is allowed.
    bench.rules.clear();
    let said = bench.said("grep", json!({"pattern": "needle", "path": "deep", "include": "b.txt"})).await;
    assert!(said.starts_with("No matches.\n(Not searched without permission: deep/b.txt."), "{said}");
    Ok(())
}

#[tokio::test]
async fn grep_says_why_it_cannot_search() -> Tested {
    let bench = project()?;
    let said = bench.said("grep", json!({"pattern": "(open"})).await;
    assert!(said.starts_with("The pattern cannot be searched for: "), "{said}");
    assert!(bench.said("grep", json!({"pattern": "a\nb"})).await.starts_with("The pattern cannot be searched for: "));
    let said = bench.said("grep", json!({"pattern": "x", "include": "{a"})).await;
    assert!(said.starts_with("\"{a\" is not a glob pattern: "), "{said}");
    assert_eq!(
        bench.said("grep", json!({"pattern": "x", "path": "scr"})).await,
        "There is no file scr. Did you mean src?"
    );
    assert_eq!(
        bench.said("grep", json!({"pattern": "x", "path": "src/pipe"})).await,
        "src/pipe is a named pipe, not a file."
    );
    assert!(bench.said("grep", json!({"pattern": "x", "limit": 0})).await.starts_with("Invalid tool input"));
    Ok(())
}

#[tokio::test]
async fn long_lines_are_cut_and_one_huge_file_does_not_end_a_search() -> Tested {
    let bench = Bench::new()?;
    bench.put("long.txt", format!("{}needle{}\n", "é".repeat(400), "x".repeat(500)))?;
    bench.put("zz.txt", "needle\n")?;
    File::create(bench.at("sparse"))?.set_len(1 << 40)?;
    let said = bench.said("grep", json!({"pattern": "needle"})).await;
    assert_eq!(said, format!("long.txt\n     1\t{}...\n\nzz.txt\n     1\tneedle\n", "é".repeat(300)));
    Ok(())
}

#[tokio::test]
async fn a_search_says_what_it_left_out() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", [b"needle\n".to_vec(), vec![b'x'; 40_000_000]].concat())?;
    bench.put("b.txt", "needle\n")?;
    let said = bench.said("grep", json!({"pattern": "needle"})).await;
    let left = "\n(Files that could not be searched to their end: 1.)";
    assert_eq!(said, format!("a.txt\n     1\tneedle\n\nb.txt\n     1\tneedle\n{left}"));
    Ok(())
}

#[tokio::test]
async fn glob_finds_files_the_newest_first() -> Tested {
    let bench = project()?;
    let age = |path: &str, seconds: u64| -> std::io::Result<()> {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        File::options().append(true).open(bench.at(path))?.set_modified(then)
    };
    age(".hidden/a.rs", 2)?;
    age("src/b.rs", 3)?;
    age(".gitignore", 1)?;
    assert_eq!(bench.said("glob", json!({"pattern": "*.rs"})).await, "src/b.rs\n.hidden/a.rs\n");
    assert_eq!(bench.said("glob", json!({"pattern": "src/*.{rs,md}"})).await, "src/b.rs\n");
    assert_eq!(bench.said("glob", json!({"pattern": "*.rs", "path": "src"})).await, "src/b.rs\n");
    let absolute = bench.at("src").canonicalize()?.join("**/*.rs").display().to_string();
    assert_eq!(bench.said("glob", json!({"pattern": absolute, "path": "src"})).await, "src/b.rs\n");
    let some = bench.call("glob", json!({"pattern": "**/.*", "limit": 1})).await?;
    assert_eq!(structured(&some), json!({"files": 1, "shown": 1, "complete": true}));
    assert_eq!(bench.said("glob", json!({"pattern": "*.py"})).await, "No files.");
    let limited = bench.said("glob", json!({"pattern": "{.gitignore,*.rs}", "limit": 2})).await;
    assert_eq!(limited, "src/b.rs\n.hidden/a.rs\n\n(2 of 3 files shown; 1 more. Narrow the search.)");
    Ok(())
}

#[tokio::test]
async fn ls_lists_by_name_and_shows_what_is_what() -> Tested {
    let bench = project()?;
    bench.put("odd\nname", "")?;
    assert_eq!(bench.said("ls", json!({})).await, "./\n  .gitignore\n  .hidden/\n  odd\\nname\n  src/\n");
    let outside = bench.outside("other").display().to_string();
    let deep = bench.said("ls", json!({"depth": 2, "limit": 5})).await;
    let expected = "./\n  .gitignore\n  .hidden/\n    a.rs\n  odd\\nname\n  src/\n\n\
                    (5 of 11 entries shown; 6 more. Narrow the search.)";
    assert_eq!(deep, expected);
    let src = bench.said("ls", json!({"path": "src"})).await;
    assert_eq!(
        src,
        format!("src/\n  b.rs\n  binary\n  out -> {outside}\n  pipe\n  sp ace ü.txt\n  zero -> /dev/zero\n")
    );
    assert_eq!(
        bench.said("ls", json!({"path": "src/b.rs"})).await,
        "src/b.rs is not a directory. Read a file with `read`."
    );
    std::fs::create_dir(bench.at("empty"))?;
    assert_eq!(bench.said("ls", json!({"path": "empty"})).await, "empty/\n(nothing, or only what is ignored)");
    Ok(())
}
