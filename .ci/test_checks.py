"""Tests of the checks: each reports its problem, and nothing that only looks like it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import commits
import dependencies
import modules
import pages
import releases
import sources
import wording
import workspace


class Releases(unittest.TestCase):
    CHANGELOG = """## Unreleased

### Views that differ

- `history` and `requests` of 0.1.0: a summary is a message of its own.
- `usage` of 0.2.0-1234abcd, which was never released: costs are rounded.

### Other

- `epochs` of 0.1.0: not in the section.

## 0.1.0
"""

    def test_the_changelog_names_views_of_versions_in_its_section_alone(self):
        found = releases.named_differences(self.CHANGELOG)
        self.assertEqual(found, {("0.1.0", "history"), ("0.1.0", "requests"), ("0.2.0-1234abcd", "usage")})

    def test_a_difference_that_is_not_named_is_a_problem(self):
        named = releases.named_differences(self.CHANGELOG)
        differ = lambda *whats: [{"what": what, "file": f"{what}.jsonl"} for what in whats]
        self.assertEqual(releases.unnamed(differ("history", "request 3", "turns"), "0.1.0-ffff0000", named), {})
        self.assertEqual(releases.unnamed(differ("usage"), "0.1.0", named), {"usage": ["usage.jsonl"]})
        self.assertEqual(releases.unnamed(differ("usage"), "0.2.0-1234abcd", named), {})
        self.assertEqual(releases.unnamed(differ("turns"), "0.3.0", named), {"turns": ["turns.jsonl"]})

    def test_an_archive_that_reads_differently_is_excused_by_nothing(self):
        named = {("0.1.0", "head"), ("0.1.0", "history")}
        self.assertEqual(list(releases.unnamed([{"what": "head", "file": "a"}], "0.1.0", named)), ["head"])


class Sources(unittest.TestCase):
    def test_comments_and_strings_are_no_code(self):
        text = "a(); // unsafe {\nb(\"unsafe { }\"); /* std::fs\n */ c('\"'); d(r#\"\" // \"#); e::<'x>();"
        self.assertEqual(workspace.code(text), 'a(); \nb(""); \n c(""); d(""); e::<\'x>();')

    def test_items_of_tests_are_left_out_and_lines_keep_their_numbers(self):
        text = "#[cfg(test)]\nmod tests { use crate::{a, b}; }\nuse crate::c;\n#[cfg(test)]\nuse crate::{d, e};\nf();"
        self.assertEqual(workspace.without_tests(text), "\n\nuse crate::c;\n\n\nf();")

    def test_references_to_other_documents_are_found_in_comments(self):
        for comment in ("// as told (spec 7.2)", "/// DESIGN section 3.", "//! ruling 8", "// see issue 15", "// TEXTS"):
            self.assertTrue(sources.REFERENCES.search(comment), comment)
        for comment in ("// a special case", "// fixtures/scenarios/TEXTS.md", "// issued once", "// seeded"):
            self.assertFalse(sources.REFERENCES.search(comment), comment)

    def test_types_are_found_outside_of_tests(self):
        text = """
            pub struct A<T>(T);
            impl Iterator for A { type Item = (); }
            #[cfg(test)]
            mod tests { struct B; }
            // struct C;
            fn f() {
                enum D { E }
                let s = "trait F";
            }
            """
        text = "pub(crate) type G = u8;\n" + text
        self.assertEqual(list(sources.types(text)), ["G", "A", "D"])

    def test_a_type_name_with_two_meanings_is_found_unless_it_is_a_convention(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {
                "a": "struct Same;\nstruct Args;",
                "b": "enum Same {}\nstruct Args;\nstruct Other;",
                "tests": "struct Other;",
            }
            for name, text in files.items():
                path = pathlib.Path(folder, "src", f"{name}.rs")
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            found = list(sources.homonyms([workspace.Crate("core", pathlib.Path(folder), {})]))
        self.assertEqual(len(found), 1)
        self.assertIn("Same: 2 types", found[0])

    def test_words_are_searched_in_help_and_error_messages_alone(self):
        text = '''
/// It stands nowhere, but this is no help.
struct Other;
#[error("it {stands} here")]
#[error(transparent)]
#[error(
    "nobody is told"
)]
/// Print what it tells.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON.
    json: bool, // beside
}
'''
        found = dict(wording.messages(text))
        words = [wording.WORDS.findall(found[line]) for line in sorted(found)]
        self.assertEqual(words, [[], ["nobody", "told"], ["tells"], []])

    def test_constructions_are_found_in_paragraphs(self):
        found = lambda text: [words for _, words in wording.prose(enumerate(text.splitlines(), 1))]
        for text in ("Bytes that are no\nframe.", "Texts for who reads.", "What it came to.", "# T\n\nWhat it is.", "# What it is\n\nA", "- a\n- b that is\n  no c", "| a | is no b |", "Ends. After how long.", "He was told."):
            self.assertEqual(len(found(text)), 1, text)
        for text in ("There is no store.", "It is no longer there.", "The `is no x` form.", "An answer came to an end.", "What it is not.", "- is\n- no end"):
            self.assertEqual(found(text), [], text)
        self.assertEqual(list(wording.paragraphs([(1, "a"), (2, "b"), (4, "c"), (5, ""), (6, "- d"), (7, "e")])), [(1, "a b"), (4, "c"), (6, "d e")])

    def test_strings_of_the_length_of_a_sentence_are_searched_outside_of_tests(self):
        text = '''f("one two three");
g("it stands {told} here `is no x`");
#[cfg(test)]
mod tests { const T: &str = "it stands here as well"; }
const NAMES: &str = "ONE TWO THREE FOUR";
'''
        self.assertEqual(list(wording.sentences(text)), [(2, '"it stands {} here ``"')])

    def test_identifiers_are_nouns_and_verbs(self):
        for line in ("let told = 1;", "fn told() {}", "(self.tell)(x)", "fn said() {}", "let untold = a;", "told: bool,"):
            self.assertTrue(wording.IDENTIFIER.search(line), line)
        for line in ("let text = 1;", "fn show_told_apart() {}", "let said = 1;", "untoldable();"):
            self.assertFalse(wording.IDENTIFIER.search(line), line)

    def test_an_arrow_that_goes_back_is_found(self):
        def crate(name, *needs):
            needed = [{"name": one, "kind": kind} for one, kind in needs]
            return workspace.Crate(name, pathlib.Path(name), {"dependencies": needed})

        names = [*sources.ARROWS, *sources.TOP]
        self.assertEqual(list(sources.arrows(crate("store", ("annals-projections", None)), names)), [])
        self.assertEqual(list(sources.arrows(crate("tools", ("annals-store", "dev")), names)), [])
        self.assertEqual(len(list(sources.arrows(crate("tools", ("annals-store", None)), names))), 1)
        self.assertEqual(len(list(sources.arrows(crate("core", ("annals-store", "dev")), names))), 1)
        self.assertEqual(len(list(sources.arrows(crate("runtime", ("sled", None)), names))), 1)
        self.assertEqual(len(list(sources.arrows(crate("cellar"), names))), 1)


class Commits(unittest.TestCase):
    def count(self, message):
        return len(list(commits.problems(message)))

    def test_a_good_message_passes(self):
        body = "\n\nA batch of 600 bytes took 141 \u00b5s."
        for subject in ("Add a hook", "Pass texts by value", "Bring back the index", "Process one at a time", "Speed up verify", "x".upper() + "a" * 71):
            self.assertEqual(self.count(subject + body), 0, subject)

    def test_each_rule_is_checked(self):
        body = "\n\nBecause it failed.\n"
        for subject in ("Add a hook.", "Added a hook", "Adding a hook", "Adds a hook", "add a hook", "Store: add a hook", "The hook", "Add wip", "A" + "a" * 72):
            self.assertEqual(self.count(subject + body), 1, subject)
        for message in ("Add a hook", "Add a hook\n", "Add a hook\n\nSigned-off-by: A <a@b.c>", "Add a hook\nBecause."):
            self.assertEqual(self.count(message), 1, message)

    def test_comments_and_the_diff_below_the_scissors_are_no_body(self):
        text = "Add a hook\n\n# Please enter\n# ------------------------ >8 ------------------------\ndiff --git"
        self.assertEqual(commits.uncommented(text).strip(), "Add a hook")

    def test_commits_are_checked_after_the_rule_and_without_those_of_main(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)

            def git(*arguments, where=path / "a"):
                run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.hooksPath=none", "-c", "commit.gpgSign=false", *arguments]
                subprocess.run(run, cwd=where, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def check(where, **environment):
                done = subprocess.run([sys.executable, ".ci/commits.py"], cwd=where, env={**os.environ, **environment}, capture_output=True, text=True)
                return done.returncode, done.stdout + done.stderr

            (path / "a/.ci").mkdir(parents=True)
            git("init", "-b", "main", ".")
            git("commit", "--allow-empty", "-m", "bad: before the rule")
            shutil.copy(commits.__file__, path / "a/.ci/commits.py")
            git("add", ".")
            git("commit", "-m", "bad: with the rule")
            self.assertEqual(check(path / "a"), (0, "commits checked: 0, fine\n"))
            git("commit", "--allow-empty", "-m", "Add one", "-m", "It was missing.")
            self.assertEqual(check(path / "a"), (0, "commits checked: 1, fine\n"))
            git("commit", "--allow-empty", "-m", "bad: on main")
            self.assertEqual(check(path / "a")[0], 1)
            self.assertEqual(check(path / "a", COMMITS_SINCE="HEAD")[0], 0)
            self.assertIn("COMMITS_SINCE", check(path / "a", COMMITS_SINCE="nowhere")[1])
            git("clone", "a", "b", where=path)
            self.assertEqual(check(path / "b")[0], 1)
            git("commit", "--allow-empty", "-m", "Add two", "-m", "It was missing.", where=path / "b")
            self.assertEqual(check(path / "b"), (0, "commits checked: 1, fine\n"))
            git("clone", "--depth", "1", "file://" + str(path / "a"), "c", where=path)
            self.assertEqual(check(path / "c"), (0, "commits checked: 0, fine\n"))
            shutil.rmtree(path / "c/.git")
            self.assertEqual(check(path / "c"), (0, "commits checked: 0, fine\n"))


class Pages(unittest.TestCase):
    PAGE = """# A page

## It has `code`, and (signs)
## Same
## Same

[a](#it-has-code-and-signs) [b](#same-1) [c](other.md) `[d](#not-a-link)`
[e](#nowhere) [f](missing.md) [g](https://example.org/#x)
"""

    def test_links_to_missing_files_and_headings_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.md")
            path.write_text(self.PAGE)
            pathlib.Path(folder, "other.md").write_text("")
            found = [problem.split(": ", 1)[1] for problem in pages.links(path, self.PAGE)]
        self.assertEqual(found, [f"no heading #nowhere in {path}", "no file missing.md"])

    def test_names_of_files_that_do_not_exist_are_found(self):
        text = "`core/src/a.rs`, `src/b.rs`, `c/d.rs`, `src/a.rs`, `x/y`"
        found = list(pages.names(pathlib.Path("page.md"), text, ["core/src/a.rs", "core/src/b.rs"]))
        self.assertEqual(found, ["page.md:1: no file c/d.rs"])

    def test_paragraphs_and_items_are_wrapped_and_nothing_else(self):
        words = "word " * 30
        kept = f"| {words * 2}|\n\n```sh\n{words * 2}\n```\n\n    {words * 2}\n\n# {words * 2}\n[a]: {'x' * 200}\n"
        self.assertEqual(pages.wrapped(kept), kept)
        found = pages.wrapped(f"- {words}\n{words}\n  1. {words}\n\n{words[:125]}xxxx - y `a b c` z\n").split("\n")
        self.assertEqual(found[0][:6] + found[1][:6], "- word  word")
        self.assertTrue(all(len(line) <= pages.WIDTH for line in found))
        # A dash does not begin a line, and a code span is not divided.
        self.assertEqual([line for line in found if line.startswith(("-", "x"))][1:], ["xxxx - y `a b c` z"])
        again = "\n".join(found)
        self.assertEqual(pages.wrapped(again), again)

    def test_long_lines_are_found_except_tables_and_single_words(self):
        long = "word " * 40
        text = f"{long}\n| {long} |\n# {long}\n{'x' * 200}\n"
        self.assertEqual(len(list(pages.widths(pathlib.Path("page.md"), text))), 1)
        self.assertEqual(len(list(pages.widths(pathlib.Path("commands.md"), text))), 2)



class Modules(unittest.TestCase):
    def graph(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, *name.split("__")).with_suffix(".rs")
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            return {a: sorted(b) for a, b in modules.edges(pathlib.Path(folder)).items()}

    def test_paths_reach_the_root_in_every_form(self):
        graph = self.graph(
            lib="mod a; mod b; mod c; mod d; mod e;\npub use c::deep::{Other, Thing as Named};",
            a="use crate::{b::{c, d}, Named};\nfn f() { super::d::g(); }",
            a__inner="use super::super::e;\nuse super::{b, super::d};",
            b="// use crate::a;\n#[cfg(test)]\nmod tests;\n",
            b__tests="use crate::a;",
            c="",
            d="",
            e="macro_rules! m { () => { $crate::c::x() } }",
        )
        self.assertEqual(graph, {"a": ["b", "c", "d", "e"], "e": ["c"]})

    def test_a_circle_is_all_modules_that_reach_each_other(self):
        graph = {"a": {"b": []}, "b": {"c": []}, "c": {"a": [], "d": []}, "d": {}, "e": {"a": []}}
        self.assertEqual(modules.circles(graph), [["a", "b", "c"]])


class Dependencies(unittest.TestCase):
    def test_licences(self):
        for good in ("MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "ISC AND MIT",
                     "Apache-2.0 WITH LLVM-exception OR GPL-2.0"):  # fmt: skip
            self.assertTrue(dependencies.permitted(good), good)
        for bad in ("", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT WITH something", "MIT Apache-2.0"):
            self.assertFalse(dependencies.permitted(bad), bad)


if __name__ == "__main__":
    unittest.main()
