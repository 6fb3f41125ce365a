//! The tool `read`.

use super::bench::{Bench, Tested, pipe, structured};
use annals_core::bound::Limits;
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[tokio::test]
async fn text_comes_with_line_numbers_and_in_pages() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.txt", "\u{feff}one\r\ntwo\r\n\r\nfour")?;
    assert_eq!(
        bench.said("read", json!({"path": "a.txt"})).await,
        "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n"
    );
    let page = bench.call("read", json!({"path": "a.txt", "offset": 2, "limit": 2})).await?;
    assert_eq!(page.text.as_deref(), Some("     2\ttwo\n     3\t\n\n(Lines 2 to 3 of 4. Continue with offset 4.)"));
    let value = json!({"path": "a.txt", "first": 2, "shown": 2, "lines": 4});
    assert_eq!(structured(&page), value);
    let beyond = bench.said("read", json!({"path": "a.txt", "offset": 5})).await;
    assert_eq!(beyond, "a.txt has 4 lines; there is no line 5.");
    bench.put("empty", "")?;
    assert_eq!(bench.said("read", json!({"path": "empty"})).await, "(The file is empty.)");
    assert!(bench.said("read", json!({"path": "a.txt", "offset": 0})).await.starts_with("Invalid tool input"));
    Ok(())
}

#[tokio::test]
async fn a_page_stays_within_the_bounds_of_an_output() -> Tested {
    let bench = Bench::new()?;
    let long: String = (0..5_000).map(|n| format!("line {n} {}\n", "x".repeat(n % 90))).collect();
    bench.put("long.txt", &long)?;
    bench.put("wide.txt", format!("{}\n{}", "é".repeat(50_000), "y".repeat(1_999)))?;
    let page = bench.said("read", json!({"path": "long.txt"})).await;
    assert!(Limits::default().hold(&page));
    assert!(page.contains(" of 5000. Continue with offset "));
    let wide = bench.said("read", json!({"path": "wide.txt"})).await;
    let cut = format!("     1\t{}... (cut: the line has 100000 bytes)\n     2\tyyy", "é".repeat(2_000));
    assert!(wide.starts_with(&cut) && Limits::default().hold(&wide));
    Ok(())
}

#[tokio::test]
async fn pages_together_are_the_file() -> Tested {
    let bench = Bench::with(|place| place.limits(Limits { lines: 40, bytes: 2_000 }))?;
    let lines: Vec<String> = (1..=200).map(|n| format!("{n} {}", "word ".repeat(n % 40))).collect();
    bench.put("a.txt", lines.join("\n"))?;
    let (mut offset, mut read) = (1, Vec::new());
    while offset <= 200 {
        let page = bench.call("read", json!({"path": "a.txt", "offset": offset})).await?;
        let text = page.text.clone().unwrap_or_default();
        read.extend(text.lines().filter_map(|line| Some(line.split_once('\t')?.1.to_string())));
        offset += structured(&page)["shown"].as_u64().filter(|shown| *shown > 0).ok_or("an empty page")?;
    }
    assert_eq!(read, lines);
    Ok(())
}

#[tokio::test]
async fn a_huge_file_is_paged_through_without_being_held() -> Tested {
    let bench = Bench::new()?;
    let file = std::fs::File::create(bench.at("huge"))?;
    bench.put("huge", "first\n".repeat(20_000))?;
    file.set_len(1 << 40)?;
    let page = bench.said("read", json!({"path": "huge", "offset": 19_999, "limit": 1})).await;
    assert_eq!(page, " 19999\tfirst\n\n(Lines 19999 to 19999 of a very long file. Continue with offset 20000.)");
    let refused = bench.said("edit", json!({"path": "huge", "old_string": "first", "new_string": "x"})).await;
    assert!(refused.starts_with("huge is too long to edit"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn what_is_no_text_is_refused_or_shown_as_such() -> Tested {
    let bench = Bench::new()?;
    bench.put("binary", b"a\0b")?;
    bench.put("latin", b"caf\xe9\n")?;
    bench.put("dir/x", "")?;
    pipe(&bench.at("pipe"))?;
    std::os::unix::fs::symlink("/dev/zero", bench.at("zero"))?;
    assert_eq!(
        bench.said("read", json!({"path": "binary"})).await,
        "binary is a binary file; it cannot be read as text."
    );
    let latin = bench.said("read", json!({"path": "latin"})).await;
    assert!(latin.starts_with("     1\tcaf\u{fffd}\n") && latin.contains("not UTF-8"), "{latin}");
    assert_eq!(bench.said("read", json!({"path": "dir"})).await, "dir is a directory. List it with `ls`.");
    assert_eq!(bench.said("read", json!({"path": "pipe"})).await, "pipe is a named pipe, not a file.");
    assert_eq!(bench.said("read", json!({"path": "zero"})).await, "/dev/zero is a device, not a file.");
    Ok(())
}

#[tokio::test]
async fn an_image_is_attached() -> Tested {
    let bench = Bench::new()?;
    bench.put("a.dat", b"\x89PNG\r\n\x1a\nrest")?;
    let output = bench.call("read", json!({"path": "a.dat"})).await?;
    assert_eq!(output.text.as_deref(), Some("a.dat is attached (image/png, 12 bytes)."));
    let [image] = output.attachments.as_slice() else { return Err("expected one attachment".into()) };
    assert_eq!((image.mime.as_str(), image.name.as_deref()), ("image/png", Some("a.dat")));
    assert_eq!(image.uri.inline(), Some("data:image/png;base64,iVBORw0KGgpyZXN0"));
    bench.put("big.png", [b"\x89PNG\r\n\x1a\n".to_vec(), vec![1; 4_000_000]].concat())?;
    assert!(bench.said("read", json!({"path": "big.png"})).await.contains("too long to be shown"));
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_nearly_right_is_suggested() -> Tested {
    let bench = Bench::new()?;
    bench.put("src/runtime.rs", "")?;
    bench.put("src/zebra.rs", "")?;
    let said = bench.said("read", json!({"path": "src/Runtmie.rs"})).await;
    assert_eq!(said, "There is no file src/Runtmie.rs. Did you mean src/runtime.rs?");
    assert_eq!(bench.said("read", json!({"path": "no/where"})).await, "There is no file no/where.");
    Ok(())
}

#[tokio::test]
async fn what_was_read_is_told_so_that_instructions_near_it_are_found() -> Tested {
    let bench = Bench::new()?;
    bench.put("sub/a b ü.txt", "x")?;
    let output = bench.call("read", json!({"path": "sub/./a b ü.txt"})).await?;
    assert_eq!(output.read, [bench.at("sub/a b ü.txt").canonicalize()?.display().to_string()]);
    Ok(())
}

#[tokio::test]
async fn a_file_of_the_system_that_claims_no_length_is_read() -> Tested {
    let bench = Bench::new()?;
    if std::path::Path::new("/proc/self/status").exists() {
        assert!(bench.said("read", json!({"path": "/proc/self/status"})).await.contains("\tName:"));
    }
    Ok(())
}

#[tokio::test]
async fn a_name_beside_it_that_is_no_text_is_no_trouble() -> Tested {
    let bench = Bench::new()?;
    std::fs::write(bench.at("").join(OsStr::from_bytes(b"a\xff.txt")), "x")?;
    assert_eq!(bench.said("read", json!({"path": "a.txt"})).await, "There is no file a.txt.");
    assert_eq!(bench.said("ls", json!({})).await, "./\n  a\u{fffd}.txt\n");
    Ok(())
}
