//! Annals.
