//! The log on NATS JetStream against real servers.

mod cluster;
mod conforming;
mod cut_client;
mod faults;
mod leases;
mod refusals;
