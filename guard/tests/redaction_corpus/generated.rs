//! Secrets and look-alikes that are drawn from a seed: names in every style, values of every kind, in the settings of many languages
//! and files. Nothing of a seed is in the repository, so no rule can have been made for one of its samples.

mod look_alikes;
mod more_settings;
mod settings;
mod values;

pub use look_alikes::look_alikes;
pub use settings::secrets;
pub use values::styled;

/// A secret where a program writes it.
pub struct Drawn {
    /// The form.
    pub form: &'static str,
    pub before: String,
    pub secret: String,
    pub after: String,
}

/// Numbers from a seed (`splitmix64`), the same on every machine.
pub struct Seeded(pub u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below a number.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// One of some.
    pub fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }

    /// Characters of an alphabet.
    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len())]).collect()
    }
}
