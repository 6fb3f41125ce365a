//! Where the value of a name is, by what holds both.

use super::context::{
    begins_line, is_in_list, is_indented, is_item, is_label, is_last_word, is_setter, is_spoken, line_before, sets,
};
use super::cursor::Cursor;
use super::name::Class;
use super::sentence::is_given;
use super::value::ValuePlace;
use super::{NAME, VALUE};
use crate::redaction::words::has_word;
use std::ops::Range;

/// Marks of emphasis around a name.
const EMPHASIS: [&str; 2] = ["**", "*"];

/// What links a name to its value.
#[derive(Clone, Copy, PartialEq)]
enum ValueLink {
    /// A sign, a quote, a type, a field.
    Sign,
    /// A comma between arguments or the items of a list.
    Item,
    /// An option of a command behind the one with the name.
    Option,
    /// A verb, or a colon behind words of a sentence.
    Verb,
    /// White space or a bar between columns.
    Column,
}

/// What follows a name.
#[derive(Clone, Copy)]
struct NameGap {
    /// How many spaces, and the first byte behind them.
    spaces: usize,
    first: Option<u8>,
    /// Whether the name is compared, not assigned.
    compared: bool,
    /// Whether the name is an option, or a command precedes it that sets variables.
    flag: bool,
}

/// A name in a text, and where it is read on.
pub(super) struct Named<'t> {
    pub(super) text: &'t str,
    pub(super) before: &'t str,
    pub(super) named: &'t str,
    pub(super) class: Class,
    pub(super) at: Cursor<'t>,
    /// Whether a quote follows the name, and whether it is a backquote.
    closed: bool,
    code: bool,
}

impl<'t> Named<'t> {
    /// The name in a range of a text.
    pub(super) fn of(text: &'t str, name: &Range<usize>, named: &'t str, class: Class) -> Option<Self> {
        let before = text.get(..name.start)?;
        let at = Cursor { bytes: text.as_bytes(), at: name.end };
        Some(Self { text, before, named, class, at, closed: false, code: false })
    }

    /// The value of the name.
    pub(super) fn value(mut self) -> Option<(Range<usize>, ValuePlace)> {
        if let Some(value) = self.at.element(self.before) {
            return Some((value, ValuePlace::Quoted));
        }
        if let Some((value, again)) = self.at.next_element(line_before(self.before)) {
            return Some((value, if again { ValuePlace::Label } else { ValuePlace::Quoted }));
        }
        self.code = self.at.peek(0) == Some(b'`');
        self.closed = self.at.quote().is_some();
        if let Some(found) = self.enclosed() {
            return Some(found);
        }
        let _ = !self.closed && self.at.peek(1) == Some(b'/') && self.at.tags();
        let emphasis = EMPHASIS.into_iter().find(|mark| line_before(self.before).contains(mark));
        let emphasis = emphasis.filter(|mark| !self.at.takes(mark.as_bytes()));
        // `std::string password{"..."}`, `$config{password} = "..."`.
        let at = &mut self.at;
        let brace = at.peek(0) == Some(b'{') && matches!(at.peek(1), Some(b'"' | b'\'')) && at.takes(b"{");
        let _ = self.before.ends_with('$') && at.takes(b"$");
        let _ = at.takes(b"[]") || at.takes(b"]") || line_before(self.before).contains('{') && at.takes(b"}");
        // `${NAME:-value}` and `${NAME:value}`: what is taken where the variable is not set.
        let signs = [b":-".as_slice(), b":=", b"-", b"=", b":"];
        if self.before.ends_with("${") && signs.into_iter().any(|sign| at.takes(sign)) {
            return Some((at.until(|byte| matches!(byte, b'}' | b'$' | b'"' | b'\n'), VALUE), ValuePlace::Data));
        }
        if at.value_of_block(self.closed) {
            let gap = NameGap { spaces: 1, first: Some(b':'), compared: false, flag: false };
            return self.read(ValueLink::Option, gap);
        }
        if !self.closed {
            at.accessors();
        }
        let spaces = at.spaces();
        let dashed = at.bytes.get(self.before.len()) == Some(&b'-') && !self.closed;
        let gap = NameGap {
            spaces,
            first: at.peek(0),
            compared: matches!(at.bytes.get(at.at..at.at + 2), Some(b"==" | b"!=")),
            flag: dashed || spaces > 0 && sets(self.before),
        };
        let link = if brace { Some(ValueLink::Sign) } else { self.link(gap) };
        let Some(link) = link else {
            // The value of an attribute, and a variable.
            if ["=\"", "='", "$", "${"].iter().any(|end| self.before.ends_with(end)) {
                return None;
            }
            let quoted = gap.spaces > 0 && self.at.is_at_mark();
            let (value, direct) = self.at.near(gap.spaces).filter(|_| is_spoken(self.class))?;
            let next = self.at.bytes.get(value.end + 1);
            let ends = self.at.ends_line(value.end + 1) || matches!(next, Some(b')' | b',' | b']' | b'}' | b';'));
            let place = if direct && !quoted || quoted && ends { ValuePlace::Label } else { ValuePlace::Near };
            return Some((value, place));
        };
        if let Some(mark) = emphasis {
            self.at.takes(mark.as_bytes());
        }
        self.read(link, gap)
    }

    /// A value whose place its container determines: an attribute, the part of a form, a cell.
    fn enclosed(&mut self) -> Option<(Range<usize>, ValuePlace)> {
        let (before, at) = (self.before, &mut self.at);
        if self.closed
            && let Some(value) =
                at.part_of_form(before).or_else(|| at.other_attribute(before)).or_else(|| at.behind_attribute(before))
        {
            return Some((value, ValuePlace::Quoted));
        }
        let mut cell = Cursor { bytes: at.bytes, at: at.at };
        // The words of the cell before the name.
        let (_, words) = line_before(before).rsplit_once(['|', '\t'])?;
        let is_cell = words.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '`' | '*' | '_' | '.'));
        if is_cell
            && words.contains(' ')
            && let Some(value) = cell.cell()
        {
            return Some((value, ValuePlace::Label));
        }
        // Names and values in turn: `user|bob|password|...`.
        let between = *before.as_bytes().get(before.len() - words.len() - 1).filter(|_| is_cell && !self.closed)?;
        let is_list = between == b'|' && line_before(before).contains('(');
        let is_list = is_list || words.ends_with(' ') && between == b'|';
        (!is_list && at.takes(&[between])).then(|| {
            let ends = |byte: u8| byte == between || byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
            (at.until(ends, VALUE), ValuePlace::Near)
        })
    }

    /// Skips what is between the name and its value behind the spaces that follow it.
    fn link(&mut self, NameGap { spaces, first, flag, .. }: NameGap) -> Option<ValueLink> {
        let end = self.at.at - spaces;
        let (before, closed, class, named) = (self.before, self.closed, self.class, self.named);
        let at = &mut self.at;
        // `arn:...:secret:name`
        if first == Some(b':') && !closed && before.ends_with(':') && !matches!(at.peek(1), Some(b' ' | b'\n' | b'\r'))
        {
            return None;
        }
        if !closed && at.remark() {
            at.separator();
            return Some(ValueLink::Verb);
        }
        let next_is_quote = matches!(first, Some(b'\'' | b'"'));
        // `PASSWORD 'x'`, `:password "x"`, `set(PASSWORD "x")`, `token "x"` in a line of its own.
        let juxtaposed = spaces > 0
            && next_is_quote
            && !closed
            && (class == Class::Password
                || ["{:", " :", ",:", "(:", "set(", "set ", "set $", "setq "].iter().any(|end| before.ends_with(end)));
        if spaces > 0 && before.rsplit(char::is_whitespace).take(2).any(|word| word == "--name") && at.value_option() {
            return Some(ValueLink::Option);
        }
        let is_key = named.to_ascii_lowercase().ends_with(" key");
        if !closed
            && at.skip_to_statement(
                if named.to_lowercase().starts_with("has") { named } else { line_before(before) },
                spaces,
                is_spoken(class),
            )
            || is_key && at.separator()
        {
            return Some(ValueLink::Verb);
        }
        // `with password ...`: a sentence or a statement; `password ...`: a line of settings.
        let line = line_before(before);
        let begins = at.peek(0).is_some_and(|byte| byte.is_ascii_alphanumeric());
        let alone = || line.trim().is_empty() && self.text.get(at.at..).is_some_and(is_last_word);
        if spaces > 0 && begins && !closed && is_spoken(class) && (is_given(line) || alone()) {
            return Some(ValueLink::Verb);
        }
        // A key of YAML in a line of its own, and a name, a dash and a value in a line.
        if (before.ends_with("? ") || is_label(line)) && at.takes(b"\n: ") {
            return Some(ValueLink::Option);
        }
        if spaces > 0
            && is_spoken(class)
            && first == Some(b'-')
            && is_label(line)
            && self.text.get(at.at + 2..).is_some_and(is_last_word)
            && at.takes(b"- ")
        {
            return Some(ValueLink::Verb);
        }
        // `password ....: x` in a list of settings, `"password" to "x"` in a map, a value below a heading.
        let leader = spaces > 0 && at.takes(b"..");
        at.at = if leader { at.until(|byte| byte != b'.' && byte != b' ', super::cursor::SPACE).end } else { at.at };
        if leader && at.separator() || at.odd_sign(closed) {
            return Some(ValueLink::Sign);
        }
        if line.starts_with('#') && is_label(line) && at.takes(b"\n") {
            let _ = at.takes(b"\n");
            return self.text.get(at.at..).is_some_and(is_last_word).then_some(ValueLink::Verb);
        }
        let takes_one = closed || is_setter(named, before) || before.ends_with('{');
        let dotted = spaces > 0 && before.ends_with('(') && at.takes(b". ");
        let found = dotted
            || juxtaposed
            || spaces > 0 && at.type_before_value()
            || !closed && at.type_after_colons()
            || at.pair()
            || at.separator()
            || spaces > 0 && flag;
        if found {
            return Some(ValueLink::Sign);
        }
        if (takes_one || first != Some(b',')) && at.argument(takes_one) {
            return Some(if first == Some(b',') { ValueLink::Item } else { ValueLink::Sign });
        }
        let column = spaces >= 2
            || spaces == 0
                && !closed
                && begins_line(before)
                && at.peek(1).is_some_and(|next| !next.is_ascii_whitespace())
                && at.takes(b",")
            || spaces > 0 && at.takes(b"|") && at.spaces() > 0
            || self.text.get(end..at.at).is_some_and(|gap| gap.contains('\t'));
        (column && (begins_line(before) || is_label(line))).then_some(ValueLink::Column)
    }

    /// Reads the value behind the link.
    fn read(mut self, link: ValueLink, gap: NameGap) -> Option<(Range<usize>, ValuePlace)> {
        let (before, text, class, named, closed) = (self.before, self.text, self.class, self.named, self.closed);
        let code = self.code;
        let at = &mut self.at;
        if gap.flag {
            at.option();
        }
        let spaces = gap.spaces + at.spaces();
        let (colon, equal) = (gap.first == Some(b':'), matches!(gap.first, Some(b'=' | b'%')));
        let plain = equal && spaces == 0 && !closed;
        if (colon || equal) && at.block() {
            return Some((at.until(|byte| byte.is_ascii_whitespace(), VALUE), ValuePlace::Data));
        }
        if colon {
            at.skip_type();
            at.tag();
            if line_before(before).contains('<') && !closed && !at.is_at_mark() {
                at.tags();
                let value = at.until(|byte| byte.is_ascii_whitespace() || byte == b'<', VALUE);
                if at.bytes.get(value.end) == Some(&b'<') {
                    return Some((value, ValuePlace::Label));
                }
            }
            if let Some(value) = at.next_line(is_label(line_before(before))) {
                let indented = text.get(..value.start).is_some_and(|text| text.ends_with([' ', '\t']));
                return Some((value, if indented { ValuePlace::Code { ends_line: true } } else { ValuePlace::Label }));
            }
            if at.tags() {
                return Some((
                    at.until(|byte| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'}'), VALUE),
                    ValuePlace::Label,
                ));
            }
        }
        // `${NAME:...}`: what is taken where the variable is not set.
        if (colon || equal) && at.takes(b"${") {
            at.at = at.until(|byte| !(byte.is_ascii_alphanumeric() || b"_.".contains(&byte)), NAME).end;
            let _ = at.takes(b":-") || at.takes(b":") || at.takes(b"-");
            return Some((at.until(|byte| matches!(byte, b'}' | b'$' | b'"' | b'\n'), VALUE), ValuePlace::Label));
        }
        // `NAME={...};` of ODBC.
        if plain && line_before(before).contains(';') && at.takes(b"{") {
            return Some((at.until(|byte| matches!(byte, b'}' | b'\n' | b'"'), VALUE), ValuePlace::Data));
        }
        if link == ValueLink::Verb {
            at.tags();
        }
        let _ = colon && at.takes(b"[/b]") && at.spaces() > 0;
        at.wrapper();
        if (colon || equal)
            && !at.is_at_mark()
            && let Some(value) = at.fallback()
        {
            return Some((value, ValuePlace::Label));
        }
        // Between backquotes there is code, too.
        let is_code = at.peek(0) == Some(b'`') && (link == ValueLink::Verb || code);
        if let Some(mut value) = at.in_marks() {
            let scheme = ["Bearer ", "Basic ", "Token ", "bearer "]
                .iter()
                .find(|scheme| text.get(value.clone()).is_some_and(|value| value.starts_with(**scheme)));
            value.start += scheme.map_or(0, |scheme| scheme.len());
            if link == ValueLink::Item
                && text
                    .get(value.clone())
                    .is_some_and(|item| is_item(item) || is_in_list(before, item, text.get(value.end..)))
            {
                return None;
            }
            return Some((value, if is_code { ValuePlace::Label } else { ValuePlace::Quoted }));
        }
        let (line, sign) = (begins_line(before), colon || equal);
        // In quotes that begin before the name the value ends with them: `-H 'X-Token: ...'`, `Environment="PASSWORD=..."`.
        let quote = before.bytes().next_back().filter(|byte| sign && !closed && matches!(byte, b'"' | b'\''));
        let fields = line_before(before).ends_with(' ')
            && line_before(before)
                .split(' ')
                .rev()
                .nth(1)
                .is_some_and(|word| word.contains('=') && !word.contains([',', '(']));
        let arrow = gap.first == Some(b'-') && link == ValueLink::Sign && !gap.flag;
        let before_name = line_before(before);
        // `user: bob, password: ...`
        let clause = before_name.rsplit([':', ';', ',']).next().unwrap_or_default();
        let clause = !before_name.contains(['(', '{', '[', '<', '"', '\'', '=']) && clause.len() < before_name.len();
        let label = (sign || arrow) && spaces > 0 && (is_label(before_name) || colon && clause && !line);
        let mut value = at.bare(
            line && sign
                || quote.is_some()
                || gap.flag
                || matches!(link, ValueLink::Verb | ValueLink::Column)
                || plain && fields,
        );
        // A quote of HTML ends a value, too.
        let inner = text.get(value.clone()).unwrap_or_default();
        value.end = inner.find("&quot;").map_or(value.end, |at| value.start + at);
        if link == ValueLink::Verb
            && text.get(value.clone()).is_some_and(|value| value.ends_with(')') && !value.contains('('))
        {
            value.end -= 1;
        }
        if label && !line {
            let whole = at.bare(true);
            let closes = clause && text.get(whole.clone()).is_some_and(|whole| whole.contains([')', '>', '}', ']']));
            let whole = if closes { value.clone() } else { whole };
            value = if at.ends_line(whole.end) || colon { whole } else { value };
        }
        let ends_line = at.ends_line(value.end);
        let next = at.bytes.get(value.end).copied();
        let rest = text.get(value.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        // An arrow between terms.
        if gap.first == Some(b'-') && link == ValueLink::Sign && !gap.flag && !ends_line {
            return None;
        }
        // A call, an index, or a type that a value follows.
        if next == Some(b'>') && text.get(..value.end).is_some_and(|text| text.ends_with('-')) {
            return None;
        }
        if matches!(next, Some(b'(' | b'[' | b'{' | b'<' | b'`')) || colon && rest.starts_with('=') || gap.compared {
            return None;
        }
        // A number of JSON: without quotes a placeholder would be none.
        if closed && text.get(value.clone()).is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_digit())) {
            return None;
        }
        // In an address there is no code.
        if plain && class == Class::Password && before.ends_with(['?', '&']) {
            return Some((value, ValuePlace::Quoted));
        }
        if gap.flag && text.get(value.clone()).is_some_and(|value| value.starts_with("--") || value.starts_with('[')) {
            return None;
        }
        match link {
            ValueLink::Verb if !is_spoken(class) => return Some((value, ValuePlace::Code { ends_line })),
            ValueLink::Verb | ValueLink::Column => return Some((value, ValuePlace::Sentence)),
            ValueLink::Sign | ValueLink::Option | ValueLink::Item => {}
        }
        let variable = !named.chars().any(char::is_lowercase);
        if quote.is_some() && next == quote {
            return Some((value, if variable { ValuePlace::Data } else { ValuePlace::Label }));
        }
        if label && ends_line && !line && is_spoken(class) {
            return Some((value, ValuePlace::Label));
        }
        let configured = named.contains('-')
            || named.contains('.') && !has_word("self this cls ctx cfg config", named.split('.').next()?);
        let cookie = next == Some(b';') && line_before(before).contains("ookie: ");
        let terminated =
            matches!(next, Some(b',' | b')' | b';' | b']' | b'}')) && !before.ends_with(';') && !variable && !cookie;
        let data = gap.flag
            || link == ValueLink::Option
            || colon && before.ends_with(" /")
            || plain && (!terminated || before.ends_with(['?', '&', ';']))
            || sign && ends_line && line && (colon || configured || variable || !is_indented(before));
        Some((value, if data { ValuePlace::Data } else { ValuePlace::Code { ends_line } }))
    }
}
