//! From values to OpenMetrics text: families, samples, histogram buckets.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::Named;
use crate::LOG_TARGET;

/// One family: authored once, for rendering and for the documentation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Without the `_total` that a counter's samples get.
    pub(crate) name: &'static str,
    /// One sentence with its unit.
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    /// Names of the labels, in the order of a sample's values.
    pub(crate) labels: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram(DurationBuckets),
}

/// Upper bounds that double from bucket to bucket, and one bucket for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurationBuckets {
    /// Bound of the first bucket.
    pub(crate) first_nanos: u64,
    /// Number of bounds; there is one bucket more.
    pub(crate) bounds: usize,
}

impl DurationBuckets {
    /// Index of the bucket that a duration belongs to, without a search: bound `i` is
    /// `first << i`, and a bound belongs to its own bucket.
    pub(crate) fn index(self, nanos: u64) -> usize {
        let firsts = nanos.div_ceil(self.first_nanos);
        let index = match firsts {
            0 | 1 => 0,
            n => (u64::BITS - (n - 1).leading_zeros()) as usize,
        };
        index.min(self.bounds)
    }

    /// Number of buckets.
    #[cfg(test)]
    pub(crate) fn len(self) -> usize {
        self.bounds + 1
    }

    fn seconds(self) -> impl Iterator<Item = f64> {
        (0..self.bounds).map(move |i| (self.first_nanos << i) as f64 / 1e9)
    }
}

/// Counts of the buckets of a [`DurationBuckets`], each for itself (not cumulated), and the sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HistogramReading {
    pub(crate) counts: Vec<u64>,
    pub(crate) sum_nanos: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Counter(u64),
    Gauge(f64),
    Whole(i64),
    Histogram(HistogramReading),
}

type Labels = Vec<(&'static str, Arc<str>)>;

#[derive(Debug)]
struct Family {
    definition: &'static Definition,
    samples: Vec<(Labels, Value)>,
}

/// What the sources add to during a scrape; families are sorted by name.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    families: BTreeMap<&'static str, Family>,
}

impl Samples {
    /// Adds one sample. `labels` are the values in the order of the definition.
    pub(crate) fn add(
        &mut self,
        definition: &'static Definition,
        labels: &[Arc<str>],
        value: Value,
    ) {
        debug_assert_eq!(definition.labels.len(), labels.len(), "{}", definition.name);
        let labels = definition.labels.iter().copied().zip(labels.iter().cloned()).collect();
        self.families
            .entry(definition.name)
            .or_insert_with(|| Family { definition, samples: Vec::new() })
            .samples
            .push((labels, value));
    }
}

/// Reads the sources and renders everything.
pub(super) fn render(sources: &[Named]) -> String {
    let mut samples = Samples::default();
    for (name, source) in sources {
        // A source that panics must cost its own values only, not the others' or the server. What
        // it added before stays: samples are added whole.
        let result = catch_unwind(AssertUnwindSafe(|| source.collect(&mut samples)));
        if let Err(payload) = result {
            // Dropping a payload can panic again.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            log::error!(target: LOG_TARGET, "metrics: source {name} panicked");
        }
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(samples));
    let mut text = String::new();
    match text::encode(&mut text, &registry) {
        Ok(()) => text,
        Err(_) => {
            // Only a faulty Collector can get here, as a String takes everything.
            log::error!(target: LOG_TARGET, "metrics: rendering failed");
            "# EOF\n".to_owned()
        }
    }
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        for family in self.families.values() {
            let Definition { name, help, kind, .. } = family.definition;
            let metric_type = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram(_) => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(name, help, None, metric_type)?;
            for (labels, value) in &family.samples {
                encode_value(metric.encode_family(labels)?, *kind, value)?;
            }
        }
        Ok(())
    }
}

fn encode_value(
    mut encoder: MetricEncoder<'_>,
    kind: Kind,
    value: &Value,
) -> Result<(), std::fmt::Error> {
    match (kind, value) {
        (Kind::Counter, Value::Counter(count)) => {
            encoder.encode_counter(count, None::<&Exemplar<NoLabelSet, u64>>)
        }
        (Kind::Gauge, Value::Gauge(value)) => encoder.encode_gauge(value),
        (Kind::Gauge, Value::Whole(value)) => encoder.encode_gauge(value),
        (Kind::Histogram(buckets), Value::Histogram(reading)) => {
            let bounds: Vec<(f64, u64)> = buckets
                .seconds()
                .chain([f64::INFINITY])
                .zip(reading.counts.iter().copied().chain(std::iter::repeat(0)))
                .collect();
            let count = bounds.iter().map(|(_, count)| count).sum();
            let sum = reading.sum_nanos as f64 / 1e9;
            encoder.encode_histogram::<NoLabelSet>(sum, count, &bounds, None)
        }
        (kind, value) => {
            debug_assert!(false, "{value:?} is no {kind:?}");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let buckets = DurationBuckets { first_nanos: 1_000_000, bounds: 15 };
        assert_eq!(buckets.len(), 16);
        assert_eq!(buckets.index(0), 0);
        assert_eq!(buckets.index(1_000_000), 0);
        assert_eq!(buckets.index(1_000_001), 1);
        assert_eq!(buckets.index(2_000_000), 1);
        assert_eq!(buckets.index(2_000_001), 2);
        assert_eq!(buckets.index(16_384_000_000), 14);
        assert_eq!(buckets.index(16_384_000_001), 15);
        assert_eq!(buckets.index(u64::MAX), 15);
    }

    #[test]
    fn the_index_agrees_with_a_search_through_the_bounds() {
        let buckets = DurationBuckets { first_nanos: 100_000, bounds: 18 };
        let bounds: Vec<u64> = (0..18).map(|i| 100_000 << i).collect();
        for base in bounds.iter().copied().chain([1, 50_000]) {
            for nanos in [base - 1, base, base + 1, base + base / 2] {
                let expected = bounds.iter().position(|bound| nanos <= *bound).unwrap_or(18);
                assert_eq!(buckets.index(nanos), expected, "{nanos}");
            }
        }
    }
}
