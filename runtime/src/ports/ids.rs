//! Where ids, file names and chance come from (`docs/reference/inbox.md#ids`).

use annals_core::{InputId, PermissionId, RequestId, SessionId, SessionKey, Time};
use std::sync::{Mutex, PoisonError};

/// Chooses ids. They order nothing; that later ones sort after earlier ones only helps the eye.
pub trait Ids: Send + Sync {
    /// A Session's.
    fn session(&self, now: Time) -> SessionId;
    /// A request's, attempts included.
    fn request(&self, now: Time) -> RequestId;
    /// Of an input that its caller did not name.
    fn input(&self, now: Time) -> InputId;
    /// Of a permission question.
    fn permission(&self, now: Time) -> PermissionId;
    /// The name of a Managed Tool Output File: `tool_` and a ULID.
    fn output_file(&self, now: Time) -> String;
    /// A number in `[0, 1)` that spreads retries.
    fn jitter(&self) -> f64;
    /// The key of a new session: 32 unpredictable bytes.
    fn session_key(&self) -> SessionKey;
}

/// Monotonic ULIDs from a seed: within a millisecond each is the one before plus one; each millisecond draws again.
///
/// With entropy for a seed they are unique in the world; with a chosen one a run is reproducible to the byte.
///
/// ```
/// use annals_core::Time;
/// use annals_runtime::ports::{Ids, SeededIds};
/// let (one, other) = (SeededIds::scripted(7), SeededIds::scripted(7));
/// assert_eq!(one.session(Time(0)), other.session(Time(0)));
/// assert!(one.session(Time(0)) < one.session(Time(0)));
/// ```
#[derive(Debug)]
pub struct SeededIds {
    seed: [u8; 32],
    spread: bool,
    state: Mutex<IdState>,
}

#[derive(Debug, Default)]
struct IdState {
    millis: u64,
    random: u128,
    drawn: u64,
    /// How many keys were drawn: they are counted apart, so that they change no id.
    keys: u64,
}

/// The system gave no entropy, so no id would be unique.
#[derive(Debug, thiserror::Error)]
#[error("the system gave no entropy for ids: {0}")]
pub struct NoEntropy(getrandom::Error);

impl SeededIds {
    /// For a real run.
    ///
    /// # Errors
    /// When the system gives no entropy.
    pub fn from_entropy() -> Result<Self, NoEntropy> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(NoEntropy)?;
        Ok(Self { seed, spread: true, state: Mutex::default() })
    }

    /// For a scripted run: the same seed and the same calls give the same ids, and the jitter is 0.
    pub fn scripted(seed: u64) -> Self {
        let seed = *blake3::hash(&seed.to_le_bytes()).as_bytes();
        Self { seed, spread: false, state: Mutex::default() }
    }

    /// The time part and the other 80 bits of the next ULID.
    fn next(&self, now: Time) -> (u64, u128) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if now.millis() > state.millis {
            state.millis = now.millis();
            let drawn = self.draw(&mut state);
            // The top bit stays free, so that a millisecond never runs out of successors.
            state.random = drawn >> 49;
        } else {
            // The same millisecond, or a clock that was set back.
            state.random += 1;
        }
        (state.millis, state.random)
    }

    fn draw(&self, state: &mut IdState) -> u128 {
        state.drawn += 1;
        let hash = blake3::keyed_hash(&self.seed, &state.drawn.to_le_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        u128::from_le_bytes(half)
    }

    fn text(&self, prefix: &str, now: Time) -> String {
        let (millis, random) = self.next(now);
        format!("{prefix}_{}", ulid::Ulid::from_parts(millis, random))
    }
}

impl Ids for SeededIds {
    fn session(&self, now: Time) -> SessionId {
        let (millis, random) = self.next(now);
        SessionId::from_parts(millis, random)
    }

    fn request(&self, now: Time) -> RequestId {
        let (millis, random) = self.next(now);
        RequestId::from_parts(millis, random)
    }

    fn input(&self, now: Time) -> InputId {
        InputId(self.text("input", now))
    }

    fn permission(&self, now: Time) -> PermissionId {
        PermissionId(self.text("permission", now))
    }

    fn output_file(&self, now: Time) -> String {
        self.text("tool", now)
    }

    fn jitter(&self) -> f64 {
        if !self.spread {
            return 0.0;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // 53 bits: every double in [0, 1) of that grain.
        (self.draw(&mut state) >> 75) as f64 / (1_u64 << 53) as f64
    }

    fn session_key(&self) -> SessionKey {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.keys += 1;
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher.update(b"session key").update(&state.keys.to_le_bytes());
        SessionKey(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn one_seed_gives_one_run() {
        let run = |seed| {
            let ids = SeededIds::scripted(seed);
            (ids.session(Time(5)), ids.request(Time(5)), ids.output_file(Time(6)), ids.input(Time(6)))
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert!(run(1).2.starts_with("tool_"));
        assert_eq!(SeededIds::scripted(1).jitter(), 0.0);
    }

    #[test]
    fn each_session_has_a_key_of_its_own_and_drawing_one_changes_no_id() {
        let (ids, others) = (SeededIds::scripted(1), SeededIds::scripted(1));
        let keys = [ids.session_key(), ids.session_key(), SeededIds::scripted(2).session_key()];
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
        assert_eq!(keys[0], others.session_key());
        assert_eq!(ids.session(Time(5)), others.session(Time(5)));
    }

    #[test]
    fn ids_ascend_within_a_millisecond_and_when_the_clock_goes_back() {
        let ids = SeededIds::scripted(1);
        let drawn: Vec<_> = [9, 9, 9, 3, 10, 10].map(|ms| ids.session(Time(ms))).to_vec();
        assert!(drawn.is_sorted());
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), drawn.len());
        assert_eq!(drawn.iter().map(|id| id.millis()).collect::<Vec<_>>(), [9, 9, 9, 9, 10, 10]);
    }

    #[test]
    fn real_ids_differ_between_runs_and_jitter_stays_below_one() -> Result<(), NoEntropy> {
        let ids = SeededIds::from_entropy()?;
        assert_ne!(ids.session(Time(5)), SeededIds::from_entropy()?.session(Time(5)));
        let jitters: Vec<f64> = (0..100).map(|_| ids.jitter()).collect();
        assert!(jitters.iter().all(|u| (0.0..1.0).contains(u)) && jitters.iter().any(|u| *u != jitters[0]));
        Ok(())
    }
}
