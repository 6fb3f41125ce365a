//! The log on NATS JetStream against real servers.

mod amid_erasures;
pub mod cluster;
mod conforming;
mod cut_client;
mod erasing;
mod faults;
mod lagging;
mod leases;
mod links;
mod logins;
mod lost_packets;
mod membership;
mod partitions;
mod refusals;
mod strays;
