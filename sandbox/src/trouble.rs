//! Why a restriction is not in force.

/// A restriction could not be put in force.
#[derive(Debug, thiserror::Error)]
pub enum EnforceError {
    /// Landlock refused the rules.
    #[error("Landlock refused the rules: {0}")]
    Landlock(String),
    /// Privileges could not be given up.
    #[error("privileges could not be given up: {0}")]
    Privileges(#[source] std::io::Error),
    /// The filter of system calls was refused.
    #[error("the filter of system calls was refused: {0}")]
    Seccomp(String),
}
