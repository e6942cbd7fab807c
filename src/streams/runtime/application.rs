//! A topology as the runtime's [`Application`]: its topics, its tasks, and where their stores lie.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::error::StreamsError;
use super::seam::{Application, ChangelogTopic, Inputs, Source, StreamTask};
use super::task::TopologyTask;
use crate::streams::membership::TaskId;
use crate::streams::store::{CacheBudget, DiskEngine, DiskOptions, DiskPlace, StateDirectory};
use crate::streams::task::TaskConfig;
use crate::streams::topology::{BuiltTopology, InternalTopics, Subtopology, Topology};
use crate::wire::messages::streams_group_heartbeat as wire;

/// Where stores are kept, and with how much memory.
#[derive(Debug, Clone)]
pub(super) struct StoreSettings {
    /// `state.dir`.
    pub(super) state_dir: PathBuf,
    pub(super) disk: DiskOptions,
    /// `allow.os.group.write.access`.
    pub(super) group_write: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            state_dir: std::env::temp_dir().join("kafka-streams"),
            disk: DiskOptions::default(),
            group_write: false,
        }
    }
}

/// The directories of an instance's tasks.
#[derive(Clone)]
pub(super) struct Disk {
    pub(super) engine: Arc<DiskEngine>,
    pub(super) directory: Arc<StateDirectory>,
}

impl Disk {
    /// Takes a task's directory.
    pub(super) fn place(&self, task: TaskId) -> Result<DiskPlace, StreamsError> {
        let directory = self.directory.task_directory(&task.to_string());
        let directory = directory.map_err(|error| StreamsError::of_store(task, error))?;
        Ok(DiskPlace { engine: self.engine.clone(), directory })
    }
}

/// A topology that is to be run.
pub(super) struct TopologyApplication {
    built: Arc<BuiltTopology>,
    config: Arc<TaskConfig>,
    internal: InternalTopics,
    /// `None` without persistent stores, and after the end.
    disk: Mutex<Option<Disk>>,
}

impl TopologyApplication {
    /// Builds the topology and takes the state directory, if a store needs it.
    ///
    /// # Errors
    /// If the topology is none, or needs what the runtime does not do, or the directory cannot be
    /// had.
    pub(super) fn new(
        topology: &Topology,
        config: TaskConfig,
        stores: &StoreSettings,
        internal: InternalTopics,
    ) -> Result<Self, StreamsError> {
        if let Some((node, pattern)) = topology.patterns().next() {
            return Err(StreamsError::Config(format!(
                "source {node} reads the topics that match {pattern:?}: the runtime does not look \
                 topics up yet; name them"
            )));
        }
        let built = topology.build(&config.application_id)?;
        if let Some(global) = built.globals().first() {
            let store = global.sub.stores.first().map_or("", |store| &*store.spec.name);
            return Err(StreamsError::Config(format!(
                "store {store} is a global one: the runtime does not fill global stores yet; only \
                 the test driver does"
            )));
        }
        let all = || built.subtopologies().iter().flat_map(|sub| &sub.stores);
        if let Some(store) = all().find(|store| !store.spec.logging && store.changelog.is_some()) {
            return Err(StreamsError::Config(format!(
                "store {} is restored from a source topic: the runtime does not do that yet; give \
                 it a changelog",
                store.spec.name
            )));
        }
        let disk = if all().any(|store| store.spec.is_persistent()) {
            let id = &config.application_id;
            let engine = DiskEngine::new(stores.disk.clone())?;
            let directory = StateDirectory::open(&stores.state_dir, id, stores.group_write)?;
            Some(Disk { engine, directory })
        } else {
            None
        };
        let (built, config) = (Arc::new(built), Arc::new(config));
        Ok(Self { built, config, internal, disk: Mutex::new(disk) })
    }

    /// The id that the state directory keeps for this instance.
    pub(super) fn process_id(&self) -> Option<String> {
        self.disk.lock().as_ref().map(|disk| disk.directory.process_id().to_owned())
    }

    fn sub(&self, number: i32) -> Option<&Arc<Subtopology>> {
        self.built.subtopology(number)
    }
}

impl Application for TopologyApplication {
    fn topology(&self) -> wire::Topology {
        self.built.to_wire(&self.internal)
    }

    fn inputs(&self, subtopology: i32) -> Option<Inputs> {
        let sub = self.sub(subtopology)?;
        let sources = sub.inputs.iter().map(|input| Source {
            topic: input.topic.clone(),
            repartition: input.repartition,
            reset: input.reset,
        });
        let changelogs = sub.stores.iter().filter_map(|store| {
            let topic = store.changelog.clone()?;
            Some(ChangelogTopic { topic, store: store.spec.name.clone() })
        });
        Some(Inputs { sources: sources.collect(), changelogs: changelogs.collect() })
    }

    fn task(&self, id: TaskId, cache: &Arc<CacheBudget>) -> Box<dyn StreamTask> {
        let (built, config) = (self.built.clone(), self.config.clone());
        Box::new(TopologyTask::new(built, id, config, self.disk.lock().clone(), cache.clone()))
    }

    fn ended(&self) {
        *self.disk.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::serde::DefaultSerde;
    use crate::streams::store::{StoreBuilder, Stores};
    use crate::streams::{
        BoxError, Consumed, Processor, ProcessorContext, Record, StoreDef, Topics,
    };

    struct Last;

    impl Processor for Last {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = ();
        type ValueOut = ();

        fn process(
            &mut self,
            _: &mut ProcessorContext<'_, (), ()>,
            _: Record<String, String>,
        ) -> Result<(), BoxError> {
            Ok(())
        }
    }

    fn store() -> StoreBuilder<String, String> {
        let supplier = Stores::in_memory_key_value("names");
        Stores::key_value_builder(supplier, String::default_serde(), String::default_serde())
    }

    fn refused(topology: &Topology) -> String {
        let stores = StoreSettings { state_dir: "unused".into(), ..StoreSettings::default() };
        let config = TaskConfig::new("app");
        let app = TopologyApplication::new(topology, config, &stores, InternalTopics::default());
        let error = app.err().expect("an error");
        assert!(matches!(error, StreamsError::Config(_)), "{error:?}");
        error.to_string()
    }

    #[test]
    fn what_the_runtime_does_not_do_is_refused_by_name() {
        let consumed = Consumed::<String, String>::new;
        let mut pattern = Topology::new();
        let topics = Topics::Pattern("orders-.*".to_owned());
        pattern.add_source("orders", topics, consumed()).unwrap();
        let error = refused(&pattern);
        assert!(error.contains("orders-.*") && error.contains("name them"), "{error}");

        let mut global = Topology::new();
        let logless = StoreDef::from(store().logging(false));
        global.add_global_store(logless, "src", "topic", consumed(), "fill", || Last).unwrap();
        let error = refused(&global);
        assert!(error.contains("names") && error.contains("global"), "{error}");

        let mut table = Topology::new();
        let source = table.add_source("src", "topic", consumed()).unwrap();
        table.add_processor("fill", || Last, &source).unwrap();
        table.add_state_store(store()).unwrap();
        table.connect_processor_stores("fill", ["names"]).unwrap();
        table.reuse_source_topic("names", "topic").unwrap();
        let error = refused(&table);
        assert!(error.contains("names") && error.contains("source topic"), "{error}");
    }
}
