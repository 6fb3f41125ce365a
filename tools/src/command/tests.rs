//! What is plain, and what is judged whole.

use annals_core::event::{Effect, Rule};
use annals_core::permission::authorise;

fn resources(command: &str) -> Vec<String> {
    super::resources(command, false)
}

fn judged(allowed: &str, command: &str) -> Effect {
    let rule = Rule { action: "bash".into(), resource: allowed.into(), effect: Effect::Allow };
    let resources = resources(command);
    authorise(&[rule], &[], "bash", &resources.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_simple_command_is_judged_as_it_stands() {
    for command in [
        "git",
        "git log --oneline -5",
        "git commit -m 'a; b && c | d > e $(f)'",
        "git commit -m \"it's; fine & <dandy>\"",
        "git log -- \\*.rs",
        "git log $RANGE ${RANGE}",
        "git log 2>&1",
        "git log >/dev/null 2> /dev/null",
        "git log &> /dev/null",
        "git apply < patch",
        "git apply <patches/one-2.diff 2>/dev/null",
        "git log </dev/null",
        "git log --grep 'a[$(b)]' -n 3",
        "git commit -C HEAD",
        "git stash show -p",
        "git log *.rs {a,b} ~ !x",
    ] {
        assert_eq!((resources(command), judged("git *", command)), (vec![command.into()], Effect::Allow));
    }
}

#[test]
fn each_part_of_a_compound_command_must_be_allowed() {
    assert_eq!(
        resources("git log && git status | git x; git log\ngit y &"),
        ["git log", "git status", "git x", "git y"]
    );
    assert_eq!(judged("git *", "git log && git status"), Effect::Allow);
    for command in [
        "git log; rm -r .",
        "git log\nrm -r .",
        "git log & rm -r .",
        "git log || rm -r .",
        "git log | sh",
        "git log |& sh",
        "rm -r . ; git log",
    ] {
        assert_eq!(judged("git *", command), Effect::Ask, "{command}");
    }
}

#[test]
fn what_its_parts_do_not_tell_is_never_allowed_by_a_rule_for_one_command() {
    for command in [
        "git log $(rm -r .)",
        "git log `rm -r .`",
        "git log \"$(rm -r .)\"",
        "git log \"`rm -r .`\"",
        "git log $[x[$(rm)]]",
        "git log ${x:-$(rm -r .)}",
        "git log \"${x@P}\"",
        "git log <(rm -r .)",
        "git log < /dev/tcp/example.com/80",
        "git log </dev/udp/example.com/53",
        "git log < \"/dev/tcp/example.com/80\"",
        "git log < '/dev/tcp/example.com/80'",
        "git log < /dev/t''cp/example.com/80",
        "git log < \\/dev/tcp/example.com/80",
        "git log < $FILE",
        "git log < ~/.ssh/id_ed25519",
        "git log < /etc/passwd",
        "git log < ../secret",
        "git log < a/../../secret",
        "git log < /d*/tcp/example.com/80",
        "git log 0< /etc/passwd",
        "git log <",
        "git log <&3",
        "git log > ~/.bashrc",
        "git log >> x",
        "git log >| x",
        "git log >& x",
        "git log >&1\u{a0}x",
        "git log >&1\rx",
        "git log 2> x",
        "git log &> x",
        "git log <> x",
        "git log > /dev/null/../x",
        "git log << END\nit's\nEND\nrm -r .",
        "git log # it's\nrm -r . # it's",
        "git log $'\\'; rm -r . #'",
        "git log 'open",
        "git log \"open",
        "git log \\",
        "git lo\\\ng; rm",
        "gi\\t log",
        "\u{a0}git log",
        "git() { rm -r .; }; git log",
        "(git log)",
        "GIT_PAGER=rm git log",
        "{ git log; }",
        "if git log; then git log; fi",
        "",
        ";",
    ] {
        assert_eq!(judged("git *", command), Effect::Ask, "{command}");
        assert_eq!(judged("*", command), Effect::Allow, "{command}");
    }
}

#[test]
fn a_denied_command_is_found_within_others() {
    let rules = [("*", Effect::Allow), ("rm *", Effect::Deny)].map(|(resource, effect)| Rule {
        action: "bash".into(),
        resource: resource.into(),
        effect,
    });
    for command in [
        "ls; rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "if true; then rm x; fi",
        "A=1 rm x",
        "! rm x",
        "(rm x)",
        "env A=1 rm x",
        "sudo rm x",
        "nohup rm x",
    ] {
        let resources = resources(command);
        let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
        assert_eq!(authorise(&rules, &[], "bash", &resources), Effect::Deny, "{command}");
    }
}

#[test]
fn no_command_is_judged_as_everything() {
    assert_eq!(resources("*"), ["(*)"]);
    assert_eq!(resources("ls; *"), ["ls", "(ls; *)"]);
}

#[test]
fn a_command_that_is_told_to_run_another_is_judged_whole() {
    for (allowed, command) in [
        ("git *", "git -c core.pager=rm log"),
        ("git *", "git -ccore.pager=rm log"),
        ("git *", "git --config-env=core.pager=X log"),
        ("git *", "git --exec-path=/tmp/x log"),
        ("git *", "git -C /elsewhere status"),
        ("git *", "git --git-dir=/elsewhere status"),
        ("git *", "git diff --output=/home/me/.bashrc"),
        ("git *", "git diff --ext-diff"),
        ("git *", "git grep -Orm x"),
        ("git *", "git grep --open-files-in-pager=rm x"),
        ("git *", "git fetch --upload-pack 'rm -r .' x"),
        ("git *", "git rebase -x 'rm -r .' main"),
        ("git *", "git rebase --exec='rm -r .' main"),
        ("git *", "git bisect run rm -r ."),
        ("git *", "git submodule foreach 'rm -r .'"),
        ("git *", "git '-c' core.pager=rm log"),
        ("git *", "git diff --out''put=x"),
        ("git *", "git clone ext::rm x"),
        ("/usr/bin/git *", "/usr/bin/git -c core.pager=rm log"),
        ("find *", "find . -name x -exec rm {} +"),
        ("find *", "find . -execdir rm {} +"),
        ("find *", "find . -ok rm {} +"),
        ("find *", "find . -delete"),
        ("find *", "find . -fprintf /home/me/.bashrc x"),
        ("find *", "find . '-exec' rm {} +"),
        ("find *", "find . -ex\\ec rm {} +"),
        ("fd *", "fd x -X rm"),
        ("fd *", "fd x --exec=rm"),
        ("rg *", "rg --pre rm x"),
        ("rg *", "rg --pre=rm x"),
        ("rg *", "rg --hostname-bin=rm x"),
        ("sort *", "sort --compress-program=rm x"),
        ("sort *", "sort -o .bashrc x"),
        ("tar *", "tar xf x --to-command=rm"),
        ("tar *", "tar cf x . --checkpoint-action=exec=rm"),
        ("printf *", "printf -v 'a[$(rm -r .)]' x"),
        ("test *", "test -v 'a[`rm -r .`]'"),
        ("[ *", "[ -v 'a[$(rm -r .)]' ]"),
        ("printf *", "printf -v 'a[$''(rm -r .)]' x"),
        ("printf *", "printf -v a[\\$\\(rm\\)] x"),
        ("test *", "test -v 'a[$''(rm)]'"),
        ("git *", "git config alias.x '!rm -r .' list"),
        ("git *", "git config --comment list alias.x '!rm -r .'"),
        ("git *", "git --bare x"),
        ("git *", "git bisect view submodule foreach rm"),
        ("tar *", "tar xIf 'rm -r .' x"),
        ("tree *", "tree -o x"),
        ("less *", "less -O x y"),
        ("xxd *", "xxd -r a b"),
        ("shuf *", "shuf --output=x y"),
        ("export *", "export GIT_DIR=sub"),
        ("export *", "export 'GIT_CONFIG_COUNT=0'"),
        ("unset *", "unset GIT_CONFIG_COUNT"),
        ("declare *", "declare -x GIT_DIR=sub"),
        ("read *", "read -r GIT_DIR"),
        ("printf *", "printf -v GIT_DIR sub"),
        ("export *", "export LD_PRELOAD=./x.so"),
        ("export *", "export PATH=.:$PATH"),
        ("cargo *", "cargo --config x test"),
        ("cargo *", "cargo test --config=build.rustc='x'"),
        ("cargo *", "cargo test --manifest-path x/Cargo.toml"),
        ("go *", "go test -exec ./x ./..."),
        ("go *", "go build -toolexec=./x"),
        ("go *", "go vet -vettool=./x"),
        ("env *", "env rm -r ."),
        ("sudo *", "sudo rm -r ."),
        ("command *", "command rm -r ."),
        ("xargs *", "xargs rm"),
    ] {
        assert_eq!(judged(allowed, command), Effect::Ask, "{command}");
    }
    for (allowed, command) in [
        ("find *", "find . -name '*.rs' -newer x"),
        ("rg *", "rg --pretty -n 'fn main'"),
        ("sort *", "sort -n -u x"),
        ("printf *", "printf '%s' x"),
        ("git *", "git commit -m 'use -c and --exec'"),
        ("git *", "git log --oneline --exec-path"),
        ("git *", "git diff $BASE...HEAD feature-{a,b} src/*-x.rs"),
        ("git *", "git config --get user.name"),
        ("git *", "git config --global --list"),
        ("find *", "find . -name *.rs"),
        ("tar *", "tar xzf x.tar.gz"),
        ("export *", "export NAME=x"),
        ("cargo *", "cargo test --lib a -- --exact"),
        ("go *", "go test -run X ./..."),
    ] {
        assert_eq!(judged(allowed, command), Effect::Allow, "{command}");
    }
}

#[test]
fn what_a_shell_makes_an_option_of_is_judged_whole() {
    for (allowed, command) in [
        ("find *", "find . -ex${Z}ec rm {} +"),
        ("find *", "find . $Z-exec rm {} +"),
        ("find *", "find . \"$Z-exec\" rm {} +"),
        ("find *", "find . -exe? rm {} +"),
        ("find *", "find . {-exec,rm} {} +"),
        ("find *", "find . $_ rm {} +"),
        ("git *", "git -${Z}c core.pager=rm log"),
        ("git *", "git $Z bisect run rm -r ."),
        ("git *", "git conf${Z}ig alias.x '!rm -r .'"),
        ("git *", "git bisec[t] run rm -r ."),
        ("git *", "git bisect $Z run rm -r ."),
        ("git *", "git submodule fore${Z}ach rm"),
        // A file of the project may be called `--pre=sh`, and every other one is then run.
        ("rg *", "rg x *"),
        ("rg *", "rg x [-]*"),
        ("rg *", "rg x $Z*"),
        ("tar *", "tar cf x.tar *"),
        ("find *", "find *"),
    ] {
        assert_eq!(judged(allowed, command), Effect::Ask, "{command}");
    }
    for (allowed, command) in [
        ("rg *", "rg x ./* src/*.rs 'a*-b'"),
        ("rg *", "rg \"$WORD\" src"),
        ("find *", "find . -name '*-x'"),
        ("git *", "git log '*-x' \\*-y"),
    ] {
        assert_eq!(judged(allowed, command), Effect::Allow, "{command}");
    }
}

#[test]
fn programs_in_arguments_and_files_written_elsewhere_are_judged_whole() {
    for command in [
        "sed 'w F' x",
        "sed '1e touch F' x",
        "sed 's/.*/touch F/e' x",
        "sed -i s/a/b/ x",
        "sed -n -e p -e 'r F' x",
        "sed -f script x",
        "awk 'BEGIN{system(\"touch F\")}'",
        "awk '{print > \"F\"}' x",
        "awk -f program x",
        "gawk '@load \"filefuncs\"'",
        "uniq a F",
        "git init ../F",
        "git worktree add ../wt",
        "git bundle create F HEAD",
        "git format-patch --output-directory=F",
        "git checkout-index --prefix=F/ -a",
        "git clone ../x",
        "make --eval 'x:; touch F'",
        "make SHELL=./evil",
        "make -f other.mk",
        "tar cf F x",
        "tar --create --file=F x",
    ] {
        assert_eq!(resources(command).last(), Some(&format!("({command})")), "{command}");
    }
    for command in [
        "sed -n '1,20p' x",
        "sed 's/a/b/g; /x/d' x",
        "sed -n -e '/a/,/b/p' x",
        "sed s,a,b, x",
        "awk '{print $1}' x",
        "uniq -c x",
        "git worktree list",
        "git init",
        "make test",
        "make -j4 all",
        "tar tf a.tar",
    ] {
        assert_eq!(resources(command), [command], "{command}");
    }
}
