//! Inputs that are almost valid.

use crate::crash::Dice;

/// The largest input, in bytes.
pub const SIZE_MAX: usize = 64 << 10;

/// Boundary values of lengths, counts and dates.
const EDGES: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 53, i64::MAX as u64, u64::MAX];

/// Tokens with a meaning to parsers.
const PIECES: [&str; 28] = [
    "\n",
    "\r\n",
    "\r",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ":",
    "null",
    "true",
    "-1",
    "1e999",
    "9007199254740993",
    "18446744073709551616",
    "0.1",
    "data: ",
    "event: error\n",
    "''",
    "../",
];

/// Makes inputs for a target from a corpus, determined by seed and round.
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    seed: u64,
}

impl<'a> Mutator<'a> {
    /// A mutator of these inputs. `name` makes the inputs of targets with the same seed different.
    pub fn new(corpus: &'a [Vec<u8>], seed: u64, name: &str) -> Self {
        let mixed = name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
        Self { corpus, seed: mixed }
    }

    /// The input of a round. The first rounds return the corpus unchanged.
    pub fn input(&self, round: u64) -> Vec<u8> {
        let whole = usize::try_from(round).ok().and_then(|round| self.corpus.get(round));
        if let Some(whole) = whole {
            return whole.clone();
        }
        let mut dice = Dice::new(self.seed ^ round.wrapping_mul(0xd6e8_feb8_6659_fd93));
        // The first numbers of similar seeds are similar.
        for _ in 0..8 {
            let _ = dice.below(2);
        }
        let mut bytes = self.chosen(&mut dice).to_vec();
        for _ in 0..=dice.below(6) {
            self.change(&mut bytes, &mut dice);
            bytes.truncate(SIZE_MAX);
        }
        bytes
    }

    fn chosen(&self, dice: &mut Dice) -> &'a [u8] {
        let place = dice.below(self.corpus.len().max(1) as u64) as usize;
        self.corpus.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// One change.
    fn change(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        let at = place(bytes.len(), dice);
        let end = at + place((bytes.len() - at).min(64), dice);
        let kind = dice.below(10);
        match kind {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => set(bytes, at, &[dice.below(256) as u8]),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            4 => set(bytes, at, &number(dice)),
            5 => insert(bytes, at, PIECES[dice.below(PIECES.len() as u64) as usize].as_bytes()),
            6 => {
                let again = bytes[at..end].repeat(1 + dice.below(8) as usize);
                insert(bytes, at, &again);
            }
            7 => lines(bytes, dice),
            8 => digits(bytes, at, dice),
            _ => {
                // A piece of another input.
                let other = self.chosen(dice);
                let from = place(other.len(), dice);
                let to = from + place((other.len() - from).min(4 << 10), dice);
                insert(bytes, at, &other[from..to]);
            }
        }
    }
}

/// A position within so many bytes, including their end.
fn place(length: usize, dice: &mut Dice) -> usize {
    dice.below(length as u64 + 1) as usize
}

fn set(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes.iter_mut().skip(at).zip(with).for_each(|(byte, new)| *byte = *new);
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    drop(bytes.splice(at..at, piece.iter().copied()));
}

/// A boundary value, little- or big-endian, in 1 to 8 bytes.
fn number(dice: &mut Dice) -> Vec<u8> {
    let number = EDGES[dice.below(EDGES.len() as u64) as usize];
    let width = 1 << dice.below(4);
    match dice.below(2) {
        0 => number.to_le_bytes()[..width].to_vec(),
        _ => number.to_be_bytes()[8 - width..].to_vec(),
    }
}

/// Removes, repeats or exchanges whole lines.
fn lines(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let count = lines.len() as u64;
    let (a, b) = (dice.below(count) as usize, dice.below(count) as usize);
    match dice.below(3) {
        0 => drop(lines.remove(a)),
        1 => lines.insert(b, lines[a].clone()),
        _ => lines.swap(a, b),
    }
    *bytes = lines.concat();
}

/// Replaces the next digits of a text by another number.
fn digits(bytes: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let Some(from) = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|behind| at + behind) else { return };
    let length = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = EDGES[dice.below(EDGES.len() as u64) as usize].to_string();
    drop(bytes.splice(from..from + length, number.into_bytes()));
}
