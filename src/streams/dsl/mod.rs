//! The DSL: streams and tables in place of processors.
//!
//! | File | Holds |
//! |---|---|
//! | `builder` | [`StreamsBuilder`]: sources, stores, building |
//! | `graph` | what was asked for, as a graph: names, order, sources that are one |
//! | `stream` | [`KStream`] and its stateless operators |
//! | `branch` | [`BranchedKStream`]: splitting a stream |
//! | `repartition` | repartition topics, asked for or needed |
//! | `stateless` | the processors behind the operators |
//!
//! # How it works
//! An operator adds a node to the graph and returns a handle of it. Nothing is a topology yet:
//! [`StreamsBuilder::build`] makes sources of the same topics one, may optimize, and has every
//! node write itself into a [`Topology`](super::Topology), in the order in which Kafka Streams
//! would. Names come from one counter, and every operator burns as many numbers as its
//! counterpart in Java, so that generated names of nodes, stores and topics are equal.
//!
//! A mistake, such as a name that is taken, is kept and comes out of `build`, so that operators
//! can be chained.
//!
//! # Room for the rest
//! Tables go into `table/`, grouping and aggregation into `aggregate/`, joins into `join/`,
//! windows into `window/` (definitions, windowed aggregation, sessions), suppression into
//! `suppress/`, joins by foreign key into `foreign_key/`, and optimizations of the graph into
//! `optimize`. Each adds nodes with [`graph::Graph::add`] and repartitions with
//! `repartition::insert`.

mod branch;
mod builder;
mod graph;
mod repartition;
mod stateless;
mod stream;

pub use branch::{Branched, BranchedKStream};
pub use builder::StreamsBuilder;
pub use repartition::Repartitioned;
pub use stream::KStream;

#[cfg(test)]
mod tests;
