//! Settings of an instance, checked.

use std::time::Duration;

use super::seam::ResetPolicy;
use crate::streams::membership::Endpoint;

/// What is guaranteed about each record (`processing.guarantee`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProcessingGuarantee {
    /// Nothing is lost; after a failure some records are processed again.
    #[default]
    AtLeastOnce,
    /// Results, stores and offsets change together, in transactions.
    ExactlyOnceV2,
}

/// Everything a stream thread goes by.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) application_id: String,
    pub(super) threads: usize,
    pub(super) guarantee: ProcessingGuarantee,
    pub(super) commit_interval: Duration,
    pub(super) poll: Duration,
    pub(super) buffered_records: usize,
    pub(super) max_poll_interval: Duration,
    pub(super) purge_interval: Duration,
    pub(super) reset: ResetPolicy,
    /// `statestore.cache.max.bytes`, for all threads together.
    pub(super) cache_max_bytes: usize,
    pub(super) instance_id: Option<String>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) client_tags: Vec<(String, String)>,
    pub(super) rack: Option<String>,
}

impl Settings {
    pub(super) fn exactly_once(&self) -> bool {
        self.guarantee == ProcessingGuarantee::ExactlyOnceV2
    }
}
