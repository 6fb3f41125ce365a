//! Bodies, answers and refusals of the three protocols.

mod answers;
mod bodies;
mod garbage;
mod laws;
mod refusals;
mod rich;
mod servers;
