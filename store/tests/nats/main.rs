//! The log on NATS JetStream against real servers.

mod cluster;
mod conforming;
mod cut_client;
mod erasing;
mod faults;
mod lagging;
mod leases;
mod logins;
mod refusals;
