//! What a hop from node to node costs, by the way records are handed over. Run by hand:
//!
//! ```text
//! cargo test --release --lib --no-default-features --features streams dispatch_costs -- \
//!     --ignored --nocapture
//! ```
//! The same chain of work (keep, change the value, keep, change the value, count) is run through
//! the arena of tasks and through two small models of it: one that hands records on by
//! reference, one that boxes them as `Any`.

use std::any::Any;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use super::collector::{Collector, OutRecord};
use super::*;
use crate::streams::dsl::StreamsBuilder;
use crate::streams::error::BoxError;
use crate::streams::record::Record;
use crate::streams::store::{CacheBudget, StoreEnv};

const RECORDS: usize = 2_000_000;
const ROUNDS: usize = 5;

/// A value with the work that every variant does on it.
trait Work: crate::streams::serde::DefaultSerde + Clone + Send + Sync + 'static {
    fn make() -> Self;
    /// At an even hop.
    fn keep(&self) -> bool;
    /// At an odd hop.
    fn change(self) -> Self;
    fn bytes() -> bytes::Bytes;
}

/// Work that costs next to nothing: what is left are the hops and the key.
impl Work for i64 {
    fn make() -> Self {
        1
    }

    fn keep(&self) -> bool {
        *self >= 0
    }

    fn change(self) -> Self {
        self + 1
    }

    fn bytes() -> bytes::Bytes {
        1i64.to_be_bytes().to_vec().into()
    }
}

/// Text of 90 characters that is changed in place.
impl Work for String {
    fn make() -> Self {
        "v".repeat(90)
    }

    fn keep(&self) -> bool {
        !self.is_empty()
    }

    fn change(mut self) -> Self {
        self.pop();
        self
    }

    fn bytes() -> bytes::Bytes {
        Self::make().into()
    }
}

fn record<V: Work>() -> Record<String, V> {
    Record::new("a-key-of-16-byte".to_owned(), V::make(), 1)
}

fn keep<V: Work>(record: &Record<String, V>) -> bool {
    record.value.as_ref().is_some_and(V::keep)
}

/// Nanoseconds a record, the best of some rounds.
fn measure(mut run: impl FnMut(usize)) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run(RECORDS);
            start.elapsed().as_nanos() as f64 / RECORDS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

struct Nowhere;

impl Collector for Nowhere {
    fn send(&mut self, _: OutRecord<'_>) -> Result<(), BoxError> {
        Ok(())
    }

    fn partitions(&mut self, _: &Arc<str>) -> Result<i32, BoxError> {
        Ok(1)
    }
}

trait ByReference {
    fn receive(&mut self, rest: &mut [Box<dyn ByReference>], record: &dyn Any);
}

struct RefHop<V>(bool, u64, std::marker::PhantomData<fn(V)>);

impl<V: Work> ByReference for RefHop<V> {
    fn receive(&mut self, rest: &mut [Box<dyn ByReference>], record: &dyn Any) {
        let Some(record) = record.downcast_ref::<Record<String, V>>() else { return };
        let Some((next, rest)) = rest.split_first_mut() else {
            self.1 += black_box(record).timestamp as u64;
            return;
        };
        if self.0 {
            if keep(record) {
                next.receive(rest, record);
            }
        } else {
            // The receiver does not own the record: what it makes is made of copies.
            let value = record.value.clone().map(V::change);
            let changed = Record { value, ..record.clone() };
            next.receive(rest, &changed);
        }
    }
}

trait Boxed {
    fn receive(&mut self, rest: &mut [Box<dyn Boxed>], record: Box<dyn Any>);
}

struct BoxHop<V>(bool, u64, std::marker::PhantomData<fn(V)>);

impl<V: Work> Boxed for BoxHop<V> {
    fn receive(&mut self, rest: &mut [Box<dyn Boxed>], record: Box<dyn Any>) {
        let Ok(record) = record.downcast::<Record<String, V>>() else { return };
        let Some((next, rest)) = rest.split_first_mut() else {
            self.1 += black_box(&record).timestamp as u64;
            return;
        };
        let record = *record;
        if self.0 {
            if keep(&record) {
                next.receive(rest, Box::new(record));
            }
        } else {
            let changed = Record { value: record.value.map(V::change), ..record };
            next.receive(rest, Box::new(changed));
        }
    }
}

fn arena<V: Work>(stores: TaskStores) -> Task {
    let builder = StreamsBuilder::new();
    let counted = std::sync::atomic::AtomicU64::new(0);
    builder
        .stream::<String, V>("in")
        .filter(|_, value| value.is_some_and(V::keep))
        .map_values(|value| value.map(V::change))
        .filter(|_, value| value.is_some_and(V::keep))
        .map_values(|value| value.map(V::change))
        .for_each(move |key, value| {
            black_box((key, value));
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
    let built = Arc::new(builder.build().unwrap().build("bench").unwrap());
    let env = TaskEnv {
        config: Arc::new(TaskConfig::new("bench")),
        stores,
        current: Arc::default(),
        globals: HashMap::new(),
    };
    let id = TaskId { subtopology: 0, partition: 0 };
    let mut task = Task::new(&built, id, env).unwrap();
    task.init(0, &mut Nowhere).unwrap();
    task
}

fn no_stores() -> TaskStores {
    let env = StoreEnv {
        task: "0_0".into(),
        disk: None,
        cache: CacheBudget::new(0),
        current: Arc::default(),
    };
    TaskStores::open(&[], env).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn dispatch_costs() {
    println!("ns a record, five hops, {RECORDS} records, best of {ROUNDS}");
    costs_of::<i64>("number");
    costs_of::<String>("text of 90");
}

fn costs_of<V: Work>(what: &str) {
    let made = measure(|count| {
        for _ in 0..count {
            black_box(record::<V>());
        }
    });
    let kinds = [true, false, true, false, true];
    let mut task = arena::<V>(no_stores());
    let by_value = measure(|count| {
        for _ in 0..count {
            task.state.node = 0;
            crate::streams::processor::ProcessorContext::new(task.flow(&mut Nowhere))
                .forward(record::<V>())
                .unwrap();
        }
    });
    let mut nodes: Vec<Box<dyn ByReference>> =
        kinds.iter().map(|keep| Box::new(RefHop::<V>(*keep, 0, Default::default())) as _).collect();
    let by_reference = measure(|count| {
        let (first, rest) = nodes.split_first_mut().unwrap();
        for _ in 0..count {
            first.receive(rest, &record::<V>());
        }
    });
    let mut nodes: Vec<Box<dyn Boxed>> =
        kinds.iter().map(|keep| Box::new(BoxHop::<V>(*keep, 0, Default::default())) as _).collect();
    let boxed = measure(|count| {
        let (first, rest) = nodes.split_first_mut().unwrap();
        for _ in 0..count {
            first.receive(rest, Box::new(record::<V>()));
        }
    });
    let raw = |offset| RawRecord {
        offset,
        timestamp: 1,
        key: Some("a-key-of-16-byte".into()),
        value: Some(V::bytes()),
        headers: Default::default(),
    };
    let whole = measure(|count| {
        for batch in 0..count / 500 {
            task.add("in", (0..500).map(|at| raw((batch * 500 + at) as i64)));
            assert_eq!(task.process(500, 0, &|_| true, &mut Nowhere).unwrap(), 500);
        }
    });
    println!("{what}:");
    println!("  making the record            {made:7.1}");
    println!("  by value through the arena   {by_value:7.1}");
    println!("  by reference, model          {by_reference:7.1}");
    println!("  boxed Any, model             {boxed:7.1}");
    println!("  queue, serdes and arena      {whole:7.1}");
}
