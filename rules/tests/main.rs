//! Rules: asked, parsed, and those of the program.

mod asking;
mod language;
mod shipped;
