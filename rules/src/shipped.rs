//! The rules of the program: `rules/library/*.rule`.

macro_rules! library {
    ($($id:literal)*) => {
        [$( ($id, include_str!(concat!("../library/", $id, ".rule"))), )*]
    };
}

/// The rules of the program: their names, and their files.
pub const SHIPPED: [(&str, &str); 10] = library! {
    "bypassed-denial"
    "command-outside-rules"
    "destructive-command"
    "edit-after-pruned-read"
    "own-instructions"
    "repeated-failure"
    "secret-sent"
    "unkept-promise"
    "unverified-claim"
    "write-outside-project"
};
