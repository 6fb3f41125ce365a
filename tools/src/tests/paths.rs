//! Where paths lead, and what is asked for before they are followed.

use super::bench::{Bench, Tested, put};
use annals_runtime::tools::CallError;
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn paths_in_the_project_are_judged_relative_to_it() -> Tested {
    let bench = Bench::new()?;
    bench.put("src/a.rs", "")?;
    let absolute = bench.at("src/a.rs");
    for path in ["src/a.rs", "./src/../src/a.rs", absolute.to_str().ok_or("no text")?] {
        assert_eq!(bench.demands("read", json!({"path": path})), ["read src/a.rs"]);
        assert_eq!(
            bench.demands("edit", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ["edit src/a.rs"]
        );
    }
    assert_eq!(bench.demands("write", json!({"path": "new/x", "content": ""})), ["edit new/x"]);
    assert_eq!(bench.demands("grep", json!({"pattern": "x"})), ["grep ."]);
    assert_eq!(bench.demands("ls", json!({"path": "src"})), ["ls src"]);
    assert_eq!(bench.demands("glob", json!({"pattern": "*", "path": "src/"})), ["glob src"]);
    assert_eq!(bench.demands("bash", json!({"command": "git log && ls", "workdir": "src"})), ["bash git log | ls"]);
    Ok(())
}

#[test]
fn paths_outside_ask_for_their_directory_first() -> Tested {
    let bench = Bench::new()?;
    put(&bench.outside("other/b.txt"), "")?;
    let folder = bench.outside("other").canonicalize()?.display().to_string();
    let expected = |tool: &str| [format!("external_directory {folder}"), format!("{tool} {folder}/b.txt")];
    symlink(bench.outside("other"), bench.at("link"))?;
    symlink(bench.outside("other/b.txt"), bench.at("b.txt"))?;
    symlink(bench.outside("other/new.txt"), bench.at("dangling"))?;
    for path in
        ["../other/b.txt", "b.txt", "link/b.txt", "link/../other/b.txt", "x/../../other/b.txt", "x/../link/./b.txt"]
    {
        assert_eq!(bench.demands("read", json!({"path": path})), expected("read"), "{path}");
        assert_eq!(bench.demands("write", json!({"path": path, "content": ""})), expected("edit"), "{path}");
    }
    for path in ["dangling", "link/new.txt"] {
        let asked = bench.demands("write", json!({"path": path, "content": ""}));
        assert_eq!(asked, [format!("external_directory {folder}"), format!("edit {folder}/new.txt")], "{path}");
    }
    for (tool, input) in [
        ("ls", json!({"path": "link"})),
        ("grep", json!({"path": "../other", "pattern": "x"})),
        ("glob", json!({"path": "link", "pattern": "x"})),
    ] {
        assert_eq!(bench.demands(tool, input), [format!("external_directory {folder}"), format!("{tool} {folder}")]);
    }
    let asked = bench.demands("bash", json!({"command": "ls", "workdir": "link"}));
    assert_eq!(asked, [format!("external_directory {folder}"), "bash ls".into()]);
    Ok(())
}

#[test]
fn a_readable_folder_outside_is_read_without_asking_and_changed_with() -> Tested {
    let kept = tempfile::tempdir()?;
    let bench = Bench::with(|place| place.readable(kept.path()))?;
    let folder = kept.path().canonicalize()?.display().to_string();
    let path = kept.path().join("tool_1").display().to_string();
    assert_eq!(bench.demands("read", json!({"path": path})), [format!("read {folder}/tool_1")]);
    assert_eq!(
        bench.demands("grep", json!({"path": path, "pattern": "x"})),
        [format!("read {folder}/tool_1"), format!("grep {folder}/tool_1")]
    );
    assert_eq!(
        bench.demands("write", json!({"path": path, "content": ""})),
        [format!("external_directory {folder}"), format!("edit {folder}/tool_1"),]
    );
    Ok(())
}

#[test]
fn no_name_of_a_file_is_judged_as_everything() -> Tested {
    let bench = Bench::new()?;
    assert_eq!(bench.demands("write", json!({"path": "*", "content": ""})), ["edit ./*"]);
    Ok(())
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_after_the_question_is_refused() -> Tested {
    let bench = Bench::new()?;
    bench.put("inside/a.txt", "inside")?;
    put(&bench.outside("other/a.txt"), "outside")?;
    symlink(bench.at("inside"), bench.at("link"))?;
    let input = json!({"path": "link/a.txt", "content": "changed"});
    let authorised = bench.judged("write", input.clone())?;
    std::fs::remove_file(bench.at("link"))?;
    symlink(bench.outside("other"), bench.at("link"))?;
    let refused = bench.call_with("write", input, authorised).await;
    assert!(
        matches!(refused, Err(CallError::Declared(text)) if text.starts_with("A path of this call leads elsewhere"))
    );
    assert_eq!(std::fs::read_to_string(bench.outside("other/a.txt"))?, "outside");
    Ok(())
}

#[tokio::test]
async fn what_is_no_path_is_refused_before_anybody_is_asked() -> Tested {
    let bench = Bench::new()?;
    for path in ["", "a\0b"] {
        let refused = bench.judged("read", json!({"path": path}));
        assert!(matches!(refused, Err(CallError::InvalidInput(_))), "{path:?}");
    }
    symlink("round", bench.at("round"))?;
    assert!(bench.demands("read", json!({"path": "round"}))[0].starts_with("external_directory "));
    assert!(bench.said("read", json!({"path": "round"})).await.starts_with("round: "));
    let long = "x".repeat(5_000);
    assert!(bench.said("read", json!({"path": long})).await.contains("too long"));
    Ok(())
}

#[tokio::test]
async fn a_command_that_leaves_the_project_is_asked_for_where_it_leads() -> Tested {
    let bench = Bench::new()?;
    std::fs::create_dir_all(bench.outside("other/deep"))?;
    std::fs::create_dir_all(bench.at("sub"))?;
    symlink(bench.outside("other"), bench.at("link"))?;
    symlink(bench.at("sub"), bench.at("inner"))?;
    let other = bench.outside("other").canonicalize()?.display().to_string();
    let asked = |command: &str| {
        let demands = bench.demands("bash", json!({ "command": command }));
        demands.into_iter().filter(|demand| demand.starts_with("external_directory")).collect::<Vec<_>>()
    };
    for command in
        ["cd link && make", "cd sub; cd ../link; make", "pushd \"link\" && make", "if cd link; then make; fi"]
    {
        assert_eq!(asked(command), [format!("external_directory {other}")], "{command}");
    }
    assert_eq!(asked("cd link/deep && make"), [format!("external_directory {other}/deep")]);
    assert_eq!(asked("cd $DIR && make"), ["external_directory $DIR"]);
    assert_eq!(asked("cd && make"), ["external_directory ~"]);
    for command in
        ["cd sub && make", "cd inner && make", "cd sub && cd .. && make", "cd new && make", "echo cd link", "cd -"]
    {
        assert_eq!(asked(command), Vec::<String>::new(), "{command}");
    }
    Ok(())
}

/// What a command is asked for because it leaves the project.
fn leaves(bench: &Bench, command: &str) -> Vec<String> {
    let demands = bench.demands("bash", json!({ "command": command }));
    demands.into_iter().filter_map(|demand| demand.strip_prefix("external_directory ").map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_directory_is_judged_by_its_names_and_by_where_its_links_lead() -> Tested {
    let bench = Bench::new()?;
    for folder in ["sub/deep", "other"] {
        std::fs::create_dir_all(bench.at(folder))?;
    }
    std::fs::create_dir_all(bench.outside("out/deep"))?;
    std::fs::create_dir_all(bench.outside("elsewhere"))?;
    // By names `away/..` is the project, and by links the folder above it.
    symlink(bench.outside("out/deep"), bench.at("away"))?;
    symlink(bench.at("sub/deep"), bench.at("inner"))?;
    // By names `sub/up/../x` is `sub/x`, which leads out; by links it is `x` of the project.
    symlink(bench.outside("elsewhere"), bench.at("sub/x"))?;
    symlink(bench.at("other"), bench.at("sub/up"))?;
    std::fs::create_dir_all(bench.at("x"))?;
    let elsewhere = bench.outside("elsewhere").canonicalize()?.display().to_string();
    for command in [
        "cd sub/up/../x && make",
        "cd sub && cd up && cd ../x && make",
        "pushd sub/up/../x",
        "command cd sub/up/../x",
        "\\cd 'sub/up/../x'",
        "\"cd\" sub/up/../x",
        "CDPATH=sub cd x",
        "export CDPATH=.:sub; cd x",
    ] {
        assert_eq!(leaves(&bench, command), std::slice::from_ref(&elsewhere), "{command}");
    }
    assert_eq!(leaves(&bench, "cd -P sub/up/../x && make"), Vec::<String>::new());
    assert_eq!(
        leaves(&bench, "cd away/../sub && make"),
        [bench.outside("out/sub").parent().unwrap().canonicalize()?.display().to_string()]
    );
    assert_eq!(leaves(&bench, "OLDPWD=/etc; cd -"), ["/etc"]);
    for command in ["read CDPATH < f; cd x", "shopt -s cdable_vars; x=/etc; cd x", "cd ~+/..", "cd $(pwd)/.."] {
        assert_ne!(leaves(&bench, command), Vec::<String>::new(), "{command}");
    }
    for command in ["cd inner/.. && make", "cd sub && cd - && make", "pushd sub; popd; make", "cd inner; cd ..; make"] {
        assert_eq!(leaves(&bench, command), Vec::<String>::new(), "{command}");
    }
    Ok(())
}

#[tokio::test]
async fn a_change_of_directory_that_may_not_have_happened_counts_both_ways() -> Tested {
    let bench = Bench::new()?;
    std::fs::create_dir_all(bench.at("sub/deep"))?;
    let above = bench.at("..").canonicalize()?.display().to_string();
    for command in [
        "cd ..",
        "cd sub/../..",
        "(cd sub); cd ..",
        "cd sub | cat; cd ..",
        "echo | cd sub && cd ..",
        "cd sub & cd ..",
        "cd sub && make & cd ..",
        "false && cd sub; cd ..",
        "true || cd sub; cd ..",
        "if false; then cd sub; fi; cd ..",
        "cd missing; cd ..",
        "cd sub && cd .. && cd ..",
        "{ cd sub; } | cat; cd ..",
    ] {
        assert_eq!(leaves(&bench, command), std::slice::from_ref(&above), "{command}");
    }
    for command in ["cd sub/deep; for i in 1 2 3; do cd ..; done", "cd sub/deep; f() { cd ..; }; f; f; f"] {
        assert!(leaves(&bench, command).contains(&"..".to_owned()), "{command}");
    }
    for command in [
        "cd sub && make && cd ..",
        "cd sub; make; cd ..",
        "cd sub && make; cd ..",
        "cd sub || exit 1\nmake\ncd ..",
        "cd sub &&\n make\ncd ..",
        "(cd sub && make) && (cd sub/deep && make)",
    ] {
        assert_eq!(leaves(&bench, command), Vec::<String>::new(), "{command}");
    }
    Ok(())
}

#[tokio::test]
async fn files_named_to_programs_for_files_are_judged_by_where_links_lead() -> Tested {
    let bench = Bench::new()?;
    std::fs::create_dir_all(bench.at("sub"))?;
    std::fs::create_dir_all(bench.outside("out/deep"))?;
    std::fs::write(bench.outside("out/secret"), "s")?;
    symlink(bench.outside("out/deep"), bench.at("away"))?;
    let out = bench.outside("out").canonicalize()?.display().to_string();
    let secret = format!("{out}/secret");
    for command in [
        "cat away/../secret".to_owned(),
        format!("cat {secret}"),
        format!("cat '{secret}' | head"),
        format!("cp {secret} here"),
        format!("cp -t{out} here"),
        format!("cp --target-directory={out} here"),
        format!("dd if=x of={secret}"),
        format!("echo x > {secret}"),
        format!("make 2>>{secret}"),
        format!("/bin/rm -- {secret}"),
        format!("cd sub && rm {secret}"),
        format!("cat {out}/*"),
        // Other programs, too: by arguments that look like paths.
        format!("grep x {secret}"),
        format!("rg x {out}"),
        format!("wc -l {secret}"),
        "wc -l away/../secret".to_owned(),
        format!("jq --rawfile a {secret} . x"),
        format!("tar xf a.tar -C {out}"),
        format!("tar xf a.tar -C{out}"),
        format!("tar xf a.tar --directory={out}"),
        format!("git commit -F {secret}"),
        format!("git commit --file={secret}"),
        format!("git diff --no-index x {secret}"),
        format!("diff x {secret}"),
        format!("sort {secret}"),
        format!("tree -o {out}/new"),
        format!("python3 {secret}"),
        format!("curl -o {out}/new https://example.org"),
        format!("no-such-program --input={secret}"),
        format!("no-such-program KEY={secret}"),
        format!("find {out} -name x"),
        format!("ls {out}"),
        format!("sh -c x {secret}"),
    ] {
        assert_eq!(leaves(&bench, &command), std::slice::from_ref(&out), "{command}");
    }
    for command in [
        "cat ~/.ssh/id_rsa",
        "cat $HOME/.netrc",
        "rm -r {a,../b}",
        "cat .*/x",
        "rg . ~/.ssh/id_rsa",
        "grep -r x $HOME",
        "wc -l ~root/x",
        "jq -n --slurpfile a \"$HOME/.x\" .",
        "git commit -F ~/x",
        "less -f~/x",
        "ls {..,x}/..",
    ] {
        assert_eq!(leaves(&bench, command).len(), 1, "{command}");
    }
    for command in [
        "cat README.md sub/*.rs",
        "cat away2 2>&1 >/dev/null",
        "echo /etc/passwd",
        "cat $FILE",
        "head -n 5 {a,b}.txt",
        "chmod 755 sub",
        "make > out.log 2>&1",
        "rm -rf sub/../sub",
        "grep -rn '/no/such/route' sub",
        "awk '/no-such-start/,/end/ {print $1}' x",
        "sed -n '/a/,/b/p' x",
        "cut -d / -f 2 x",
        "sort -t/ -k 2 x",
        "tr / _",
        "rg 'a/../b' sub",
        "git log main..HEAD",
        "git commit -m 'See /etc/passwd and ../x, or not'",
        "cargo test ../no/such",
        "go test ./...",
        "jq .name package.json",
        "echo ~ $HOME /etc",
    ] {
        assert_eq!(leaves(&bench, command), Vec::<String>::new(), "{command}");
    }
    Ok(())
}
