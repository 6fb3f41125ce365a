//! Models of the threads and of ownership, and what a reader starts.

mod ownership_model;
mod reading_alone;
mod thread_model;
