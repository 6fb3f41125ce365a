//! The folds of Annals.
#![no_std]
extern crate alloc;
