//! Splitting a stream.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use super::graph::{GraphNode, WriteContext};
use super::stateless::{Predicate, Routes, Split, apply};
use super::stream::KStream;
use crate::streams::processor::ProcessorContext;
use crate::streams::record::{Data, Record};

/// What becomes of a branch.
pub struct Branched<K, V> {
    name: Option<String>,
    then: Option<Then<K, V>>,
}

type Then<K, V> = Box<dyn FnOnce(KStream<K, V>) -> Option<KStream<K, V>>>;

impl<K, V> Branched<K, V> {
    /// It is in the map that [`BranchedKStream::default_branch`] returns, by a generated name.
    pub fn new() -> Self {
        Self { name: None, then: None }
    }

    /// As [`new`](Self::new), with a name that is put behind the splitter's.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), then: None }
    }

    /// What the function makes of it is in the map; `None` leaves it out.
    #[must_use]
    pub fn function(
        mut self,
        then: impl FnOnce(KStream<K, V>) -> Option<KStream<K, V>> + 'static,
    ) -> Self {
        self.then = Some(Box::new(then));
        self
    }

    /// The function uses it, and it is not in the map.
    #[must_use]
    pub fn consumer(mut self, then: impl FnOnce(KStream<K, V>) + 'static) -> Self {
        self.then = Some(Box::new(move |branch| {
            then(branch);
            None
        }));
        self
    }
}

impl<K, V> Default for Branched<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> fmt::Debug for Branched<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branched").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A stream that is being split; see [`KStream::split`].
pub struct BranchedKStream<K, V> {
    splitter: KStream<K, V>,
    routes: Routes<K, V>,
    branches: BTreeMap<String, KStream<K, V>>,
    count: usize,
}

impl<K, V> fmt::Debug for BranchedKStream<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BranchedKStream").field("branches", &self.count).finish_non_exhaustive()
    }
}

impl<K: Data, V: Data> BranchedKStream<K, V> {
    pub(super) fn new(stream: &KStream<K, V>) -> Self {
        let routes: Routes<K, V> = Arc::default();
        let shared = routes.clone();
        let splitter = stream.operator("KSTREAM-BRANCH-", move |name| {
            GraphNode::new(name.clone(), move |cx: &mut WriteContext<'_>| {
                let parents = cx.handles::<K, V>()?;
                let routes = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let split = move || Split { routes: routes.clone() };
                cx.topology.add_processor(&name, split, &parents[..]).map(drop)
            })
        });
        Self { splitter, routes, branches: BTreeMap::new(), count: 0 }
    }

    /// Takes the records that meet the condition and none of an earlier branch.
    #[must_use]
    pub fn branch(
        mut self,
        predicate: impl Fn(Option<&K>, Option<&V>) -> bool + Send + Sync + 'static,
        branched: Branched<K, V>,
    ) -> Self {
        self.count += 1;
        let suffix = self.count.to_string();
        self.add(Some(Arc::new(predicate)), suffix, branched);
        self
    }

    /// Takes all other records. Returns the branches by the names of their nodes.
    pub fn default_branch(mut self, branched: Branched<K, V>) -> BTreeMap<String, KStream<K, V>> {
        self.add(None, "0".to_owned(), branched);
        self.branches
    }

    /// Drops all other records. Returns the branches by the names of their nodes.
    pub fn no_default_branch(self) -> BTreeMap<String, KStream<K, V>> {
        self.branches
    }

    fn add(
        &mut self,
        predicate: Option<Predicate<K, V>>,
        suffix: String,
        branched: Branched<K, V>,
    ) {
        let suffix = branched.name.unwrap_or(suffix);
        let name = format!("{}{suffix}", self.splitter.node_name());
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).push((predicate, name.clone()));
        let child = self.splitter.clone().named(&*name).operator("KSTREAM-BRANCH-", |name| {
            let pass = apply(|cx: &mut ProcessorContext<'_, K, V>, record: Record<K, V>| {
                Ok(cx.forward(record)?)
            });
            GraphNode::new(name.clone(), move |cx: &mut WriteContext<'_>| {
                let parents = cx.handles::<K, V>()?;
                cx.topology.add_processor(&name, pass.clone(), &parents[..]).map(drop)
            })
        });
        let kept = match branched.then {
            Some(then) => then(child),
            None => Some(child),
        };
        if let Some(branch) = kept {
            self.branches.insert(name, branch);
        }
    }
}
