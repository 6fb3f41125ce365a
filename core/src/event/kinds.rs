//! A pattern of many kinds.

/// A pattern for events of some kinds: `kinds!(Session(Titled, Moved), Context, Step(Ended))`. A group without kinds has all of its
/// kinds. A fold lists with it what it leaves as it is, so that its `match` does not compile when a kind is added
/// (`docs/projection.md`).
///
/// ```
/// use annals_core::event::{SessionEvent, SessionTitled};
/// use annals_core::{Event, kinds};
///
/// fn is_about_the_session(event: &Event) -> bool {
///     matches!(event, kinds!(Session(Titled, TitleFailed), Profile))
/// }
/// assert!(is_about_the_session(&SessionTitled::given("Rename").into()));
/// ```
#[macro_export]
macro_rules! kinds {
    (@ $group:ident) => { $crate::Event::$group(_) };
    (@ Session $($kind:ident)+) => { $crate::Event::Session($( $crate::event::SessionEvent::$kind(_) )|+) };
    (@ Input $($kind:ident)+) => { $crate::Event::Input($( $crate::event::InputEvent::$kind(_) )|+) };
    (@ Context $($kind:ident)+) => { $crate::Event::Context($( $crate::event::ContextEvent::$kind(_) )|+) };
    (@ Profile $($kind:ident)+) => { $crate::Event::Profile($( $crate::event::ProfileEvent::$kind(_) )|+) };
    (@ Step $($kind:ident)+) => { $crate::Event::Step($( $crate::event::StepEvent::$kind(_) )|+) };
    (@ Tool $($kind:ident)+) => { $crate::Event::Tool($( $crate::event::ToolEvent::$kind(_) )|+) };
    (@ Permission $($kind:ident)+) => { $crate::Event::Permission($( $crate::event::PermissionEvent::$kind(_) )|+) };
    (@ Compaction $($kind:ident)+) => { $crate::Event::Compaction($( $crate::event::CompactionEvent::$kind(_) )|+) };
    (@ Message $($kind:ident)+) => { $crate::Event::Message($( $crate::event::MessageEvent::$kind(_) )|+) };
    (@ Files $($kind:ident)+) => { $crate::Event::Files($( $crate::event::FilesEvent::$kind(_) )|+) };
    (@ Child $($kind:ident)+) => { $crate::Event::Child($( $crate::event::ChildEvent::$kind(_) )|+) };
    (@ Erasure $($kind:ident)+) => { $crate::Event::Erasure($( $crate::event::ErasureEvent::$kind(_) )|+) };
    ($( $group:ident $(( $($kind:ident),+ $(,)? ))? ),+ $(,)?) => { $( $crate::kinds!(@ $group $($($kind)+)?) )|+ };
}
