//! Tests of your own projections.
//!
//! ```
//! use annals_projections::prelude::*;
//! use annals_testing::{draw, story};
//!
//! #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
//! struct Prompts(u64);
//!
//! impl Projection for Prompts {
//!     const NAME: &'static str = "prompts";
//!     const VERSION: u32 = 1;
//!
//!     fn apply(&mut self, record: &Record<'_>) {
//!         self.0 += u64::from(record.event.kind().name() == "input.promoted");
//!     }
//! }
//!
//! let session = story().prompt("Count the bolts").answer("42").prompt("Thanks").session();
//! assert_eq!(session.fold::<Prompts>().0, 2);
//! assert_eq!(session.at(3).fold::<Prompts>().0, 1);
//! annals_testing::check_laws::<Prompts>(&session);
//! assert_eq!(draw(&session.fold::<Prompts>()), "2");
//! ```
//!
//! [`session`] reads an export (`annals export`, or the `session.jsonl` of `annals fixture`), [`story`] builds one, `scenario` (a feature)
//! plays a scenario file,
//! [`assert_projection!`] keeps a view as a golden that is drawn for eyes, [`laws!`] holds a projection to its laws. `docs/projection.md`
//! is a worked page. These functions are for tests: they panic with a sentence where a test cannot continue.

mod drawing;
mod laws;
mod recorded;
mod story;

pub use drawing::draw;
pub use insta;
pub use laws::{check_laws, stories};
#[cfg(feature = "scenario")]
pub use recorded::scenario;
pub use recorded::{TestSession, session};
pub use story::{Story, story};

/// Keeps a view as a golden of insta, drawn as indented lines: `assert_projection!(view)`, or `assert_projection!("name", view)`.
/// `cargo insta review` shows what differs.
#[macro_export]
macro_rules! assert_projection {
    ($name:literal, $view:expr) => {
        $crate::insta::assert_snapshot!($name, $crate::draw(&$view))
    };
    ($view:expr) => {
        $crate::insta::assert_snapshot!($crate::draw(&$view))
    };
}

/// Holds a projection to its laws in a test: `laws!(MyView)`, or `laws!(MyView, name_of_the_test)`. See [`check_laws`].
#[macro_export]
macro_rules! laws {
    ($view:ty) => {
        $crate::laws!($view, obeys_the_laws_of_projections);
    };
    ($view:ty, $name:ident) => {
        #[test]
        fn $name() {
            for session in $crate::stories() {
                $crate::check_laws::<$view>(&session);
            }
        }
    };
}
