//! Which parts of a body are those that are known, and what became of the others.

use super::part::{ConversationPart, PartKind};
use std::collections::{HashMap, VecDeque};

/// The most pairs of parts that are compared for the longest common order; beyond, the first that fits is taken.
const COMPARED_MAX: usize = 4_000_000;

/// The known part that a part of a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Its place among the known ones.
    pub at: usize,
    /// Whether the text is the same; otherwise it was replaced.
    pub is_same: bool,
}

/// What the parts of a body are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// The known part of each part of the body; `None` for what is new.
    pub of_new: Vec<Option<Pairing>>,
    /// Whether each known part is in the body.
    pub kept: Vec<bool>,
    /// How many known parts the body begins with; contexts, reasoning and media are left out.
    pub same: usize,
    /// The first known prompt that was taken back with everything after it.
    pub undone: Option<usize>,
}

impl Alignment {
    /// Answers count as sent: the provider has those that the body names.
    pub fn keep_answers(&mut self, old: &[ConversationPart]) {
        old.iter().zip(&mut self.kept).for_each(|(part, kept)| *kept |= part.is_answer());
    }

    /// How many parts of the body no known part is, and how many known parts the body does not have. Empty texts do not count.
    pub fn differences(&self, old: &[ConversationPart], new: &[ConversationPart]) -> (u64, u64) {
        let paired = new.iter().zip(&self.of_new).filter(|(part, _)| !part.is_empty());
        let unexplained = paired.filter(|(_, pairing)| pairing.is_none_or(|pairing| !pairing.is_same)).count();
        let kept = old.iter().zip(&self.kept).filter(|(part, _)| !part.is_empty());
        (unexplained as u64, kept.filter(|(_, kept)| !**kept).count() as u64)
    }
}

/// Whether agents add and leave out parts of a kind from request to request.
fn is_beside(part: &ConversationPart) -> bool {
    matches!(part.kind, PartKind::Context | PartKind::Reasoning | PartKind::Unknown | PartKind::Hosted)
}

/// Whether the order of parts of a kind says which is which. Media are known behind the text of their message, and sent before it.
pub fn is_ordered(part: &ConversationPart) -> bool {
    !is_beside(part) && part.kind != PartKind::Media
}

/// Compares the parts of a body with those that are known. A part is found by the id of its call, else by its text in the longest
/// common order; a text between two that are found in the place of one that is not was replaced.
pub fn align(old: &[ConversationPart], new: &[ConversationPart]) -> Alignment {
    let (of_new, taken, moved) = (vec![None; new.len()], vec![false; old.len()], vec![false; new.len()]);
    let mut found = PartSearch { old, new, of_new, taken, moved };
    found.in_order();
    found.by_id();
    found.repeated();
    found.inserted();
    found.moved();
    found.renamed();
    let undone = found.replaced();
    Alignment { same: found.same(), of_new: found.of_new, kept: found.taken, undone }
}

struct PartSearch<'p> {
    old: &'p [ConversationPart],
    new: &'p [ConversationPart],
    of_new: Vec<Option<Pairing>>,
    taken: Vec<bool>,
    /// Whether each part of the body is elsewhere in what is known.
    moved: Vec<bool>,
}

impl PartSearch<'_> {
    fn pair(&mut self, at: usize, of: usize) {
        let (Some(old), Some(new)) = (self.old.get(of), self.new.get(at)) else { return };
        if let (Some(place), Some(taken)) = (self.of_new.get_mut(at), self.taken.get_mut(of)) {
            *place = Some(Pairing { at: of, is_same: old.text == new.text });
            *taken = true;
        }
    }

    fn is_open(&self, at: usize) -> bool {
        self.of_new.get(at).is_some_and(Option::is_none)
    }

    fn is_free(&self, of: usize) -> bool {
        self.taken.get(of) == Some(&false)
    }

    /// The longest common order of equal parts.
    fn in_order(&mut self) {
        let alike = |(one, other): &(&ConversationPart, &ConversationPart)| one.is(other) && one.id == other.id;
        let first = self.old.iter().zip(self.new).take_while(alike).count();
        let room = self.old.len().min(self.new.len()) - first;
        let last = self.old.iter().rev().zip(self.new.iter().rev()).take(room).take_while(alike).count();
        let (old_end, new_end) = (self.old.len() - last, self.new.len() - last);
        (0..first).for_each(|at| self.pair(at, at));
        (0..last).for_each(|at| self.pair(new_end + at, old_end + at));
        // What was said decides on its order: agents add the rest again behind a summary, before or after what stays.
        for beside in [false, true] {
            let is_one =
                |list: &[ConversationPart], at: &usize| list.get(*at).is_some_and(|part| is_beside(part) == beside);
            let old: Vec<usize> = (first..old_end).filter(|of| is_one(self.old, of)).collect();
            let new: Vec<usize> = (first..new_end).filter(|at| is_one(self.new, at)).collect();
            let (old, new) = (text_first(self.old, &old), text_first(self.new, &new));
            for (at, of) in common(self.old, &old, self.new, &new) {
                self.pair(at, of);
            }
        }
    }

    /// Calls and results, wherever they are.
    fn by_id(&mut self) {
        let mut free: HashMap<(PartKind, &str), VecDeque<usize>> = HashMap::new();
        let (old, new) = (self.old, self.new);
        for (of, part) in old.iter().enumerate().filter(|(of, _)| self.is_free(*of)) {
            if let Some(id) = part.id.as_deref().filter(|id| !id.is_empty()) {
                free.entry((part.kind, id)).or_default().push_back(of);
            }
        }
        for (at, part) in new.iter().enumerate() {
            let Some(id) = part.id.as_deref().filter(|_| self.is_open(at)) else { continue };
            let Some(places) = free.get_mut(&(part.kind, id)) else { continue };
            let same = places.iter().position(|of| old.get(*of).is_some_and(|known| known.text == part.text));
            if let Some(of) = places.remove(same.unwrap_or_default()) {
                self.pair(at, of);
            }
        }
    }

    /// Results that are in the body twice: agents repeat those of a session that they continue.
    fn repeated(&mut self) {
        for at in 0..self.new.len() {
            let Some(part) = self.new.get(at).filter(|part| part.kind == PartKind::Result && self.is_open(at)) else {
                continue;
            };
            if let Some(of) = self.old.iter().position(|known| known.is(part)) {
                self.pair_same(at, of);
            }
        }
    }

    /// Messages that the agent inserted before others, and summaries that it sends behind what stays: they are known elsewhere. Behind
    /// everything that is known a prompt is another one.
    fn inserted(&mut self) {
        let (old, new) = (self.old, self.new);
        let is_said =
            |part: &ConversationPart| matches!(part.kind, PartKind::Prompt | PartKind::Text | PartKind::Summary);
        let mut free: HashMap<[u8; 32], VecDeque<usize>> = HashMap::new();
        for (of, part) in old.iter().enumerate().filter(|(of, part)| self.is_free(*of) && is_said(part)) {
            free.entry(part.text.0).or_default().push_back(of);
        }
        for kind in [PartKind::Text, PartKind::Prompt] {
            let last = self.of_new.iter().rposition(Option::is_some).unwrap_or_default();
            for (at, part) in new.iter().enumerate().filter(|(_, part)| part.kind == kind) {
                let may_move = kind == PartKind::Text || at < last;
                let fits = |known: &ConversationPart| known.is(part) && (may_move || known.kind == PartKind::Summary);
                let places = free.get_mut(&part.text.0).filter(|_| self.is_open(at));
                let found = places.and_then(|places| {
                    let found = places.iter().position(|of| old.get(*of).is_some_and(fits))?;
                    places.remove(found)
                });
                if let (Some(of), Some(moved)) = (found, self.moved.get_mut(at)) {
                    *moved = true;
                    self.pair(at, of);
                }
            }
        }
    }

    /// What agents add to other messages than before.
    fn moved(&mut self) {
        let mut free: HashMap<(PartKind, [u8; 32]), VecDeque<usize>> = HashMap::new();
        let (old, new) = (self.old, self.new);
        let moves = |part: &ConversationPart| is_beside(part) || part.kind == PartKind::Media;
        for (of, part) in old.iter().enumerate().filter(|(of, part)| self.is_free(*of) && moves(part)) {
            free.entry((part.kind, part.text.0)).or_default().push_back(of);
        }
        for (at, part) in new.iter().enumerate().filter(|(_, part)| moves(part)) {
            if self.is_open(at)
                && let Some(of) = free.get_mut(&(part.kind, part.text.0)).and_then(VecDeque::pop_front)
            {
                self.pair(at, of);
            }
        }
        // What was in no place where it could be known is known as a part of its own.
        let unknown: Vec<usize> = (0..old.len()).filter(|of| self.is(old, *of, PartKind::Unknown)).collect();
        for (at, part) in new.iter().enumerate() {
            let is_it = |of: &&usize| self.is_free(**of) && old.get(**of).is_some_and(|known| part.is_unknown(known));
            if let Some(of) = unknown.iter().find(is_it).copied().filter(|_| self.is_open(at)) {
                self.pair_same(at, of);
            }
        }
    }

    fn pair_same(&mut self, at: usize, of: usize) {
        self.pair(at, of);
        if let Some(Some(pairing)) = self.of_new.get_mut(at) {
            pairing.is_same = true;
        }
    }

    /// Calls that the agent gave another id.
    fn renamed(&mut self) {
        for (at, part) in self.new.iter().enumerate().filter(|(_, part)| part.kind == PartKind::Call) {
            if !self.is_open(at) {
                continue;
            }
            let is_it = |of: &usize| self.old.get(*of).is_some_and(|old| self.is_free(*of) && old.is(part));
            if let Some(of) = (0..self.old.len()).find(is_it) {
                self.pair(at, of);
            }
        }
    }

    /// Pairs what is left in the same place; gives the first prompt that was taken back.
    fn replaced(&mut self) -> Option<usize> {
        let anchors: Vec<(usize, usize)> = self.anchors();
        let mut from = (0, 0);
        for (at, of) in anchors {
            self.pair_gap(from.0..at, from.1..of);
            from = (at + 1, of + 1);
        }
        // Behind the last part that is known, a prompt in the place of one that was answered is another turn.
        let (at, of) = (from.0..self.new.len(), from.1..self.old.len());
        let prompt = of.clone().find(|of| self.is_free(*of) && self.is_prompt(*of));
        let answered = prompt
            .is_some_and(|prompt| (prompt..of.end).any(|of| self.old.get(of).is_some_and(ConversationPart::is_answer)));
        let speaks = at.clone().any(|at| self.is_open(at) && self.new.get(at).is_some_and(ConversationPart::is_answer));
        if answered && !speaks {
            return prompt;
        }
        self.pair_gap(at, of);
        None
    }

    /// The pairs whose order is that of both lists.
    fn anchors(&self) -> Vec<(usize, usize)> {
        let pairs = self.of_new.iter().enumerate().filter_map(|(at, pairing)| Some((at, pairing.as_ref()?.at)));
        let mut anchors: Vec<(usize, usize)> = Vec::new();
        let stays = |at: usize| self.moved.get(at) == Some(&false);
        for (at, of) in pairs.filter(|(at, _)| stays(*at) && self.new.get(*at).is_some_and(is_ordered)) {
            if anchors.last().is_none_or(|(_, last)| *last < of) {
                anchors.push((at, of));
            }
        }
        anchors
    }

    fn is(&self, list: &[ConversationPart], at: usize, kind: PartKind) -> bool {
        list.get(at).is_some_and(|part| part.kind == kind)
    }

    /// A prompt, or a summary in the place of one.
    fn is_prompt(&self, of: usize) -> bool {
        self.is(self.old, of, PartKind::Prompt) || self.is(self.old, of, PartKind::Summary)
    }

    fn pair_gap(&mut self, at: std::ops::Range<usize>, of: std::ops::Range<usize>) {
        for kind in [PartKind::Prompt, PartKind::Text, PartKind::Reasoning, PartKind::Call] {
            let is_kind = |of: &usize| match kind {
                PartKind::Prompt => self.is_prompt(*of),
                kind => self.is(self.old, *of, kind),
            };
            let open: Vec<usize> = at.clone().filter(|at| self.is_open(*at) && self.is(self.new, *at, kind)).collect();
            let free: Vec<usize> = of.clone().filter(|of| self.is_free(*of) && is_kind(of)).collect();
            // Calls are other calls where there are more or fewer of them; their ids show.
            if kind == PartKind::Call && open.len() != free.len() {
                continue;
            }
            open.into_iter().zip(free).for_each(|(at, of)| self.pair(at, of));
        }
    }

    fn same(&self) -> usize {
        let old = (0..self.old.len()).filter(|of| self.old.get(*of).is_some_and(is_ordered));
        let new = (0..self.new.len()).filter(|at| self.new.get(*at).is_some_and(is_ordered));
        let alike = |(at, of): &(usize, usize)| {
            self.of_new.get(*at).copied().flatten().is_some_and(|pairing| pairing.at == *of && pairing.is_same)
        };
        new.zip(old).take_while(alike).count()
    }
}

/// The places of parts where the media of the user follow the text that they are with.
fn text_first(list: &[ConversationPart], places: &[usize]) -> Vec<usize> {
    let kind = |at: &usize| list.get(*at).map(|part| part.kind);
    let is_asked = |at: &usize| matches!(kind(at), Some(PartKind::Prompt | PartKind::Summary | PartKind::Media));
    let mut ordered = Vec::with_capacity(places.len());
    for places in places.chunk_by(|one, next| is_asked(one) == is_asked(next)) {
        for media in [false, true] {
            ordered.extend(places.iter().copied().filter(|at| (kind(at) == Some(PartKind::Media)) == media));
        }
    }
    ordered
}

/// The longest common order of equal parts of two stretches, as pairs of places.
fn common(old: &[ConversationPart], of: &[usize], new: &[ConversationPart], at: &[usize]) -> Vec<(usize, usize)> {
    let equal = |at: usize, of: usize| match (new.get(at), old.get(of)) {
        (Some(one), Some(other)) => one.is(other) && one.id == other.id,
        _ => false,
    };
    let (rows, columns) = (of.len(), at.len());
    if rows == 0 || columns == 0 {
        return Vec::new();
    }
    if rows.saturating_mul(columns) > COMPARED_MAX {
        let mut from = 0;
        let mut pairs = Vec::new();
        for at in at {
            let rest = of.get(from..).unwrap_or_default();
            if let Some(place) = rest.iter().position(|of| equal(*at, *of)) {
                pairs.extend(rest.get(place).map(|of| (*at, *of)));
                from += place + 1;
            }
        }
        return pairs;
    }
    // lengths[row][column]: of the longest common order from there on.
    let width = columns + 1;
    let mut lengths = vec![0_u32; (rows + 1) * width];
    let get =
        |lengths: &[u32], row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or_default();
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let is_equal = of.get(row).zip(at.get(column)).is_some_and(|(of, at)| equal(*at, *of));
            let length = match is_equal {
                true => get(&lengths, row + 1, column + 1) + 1,
                false => get(&lengths, row + 1, column).max(get(&lengths, row, column + 1)),
            };
            if let Some(place) = lengths.get_mut(row * width + column) {
                *place = length;
            }
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while let (Some(known), Some(place)) = (of.get(row), at.get(column)) {
        if equal(*place, *known) {
            pairs.push((*place, *known));
            (row, column) = (row + 1, column + 1);
        } else if get(&lengths, row + 1, column) >= get(&lengths, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
