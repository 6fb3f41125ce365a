//! Crashes, damage and garbage: nothing acknowledged is lost, nothing damaged is read unreported.

mod calls;
mod erasing;
mod flips;
mod fuzz;
mod kill;
mod power;
mod sessions;
