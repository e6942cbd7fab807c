//! The application's directory on disk: one process, one owner per task, and the cleaner.
//!
//! ```text
//! <state.dir>/<application.id>/        mode rwxr-x---
//!   .lock                              held by the process while it runs
//!   kafka-streams-process-metadata     {"processId":"<uuid>"}: the same after a restart
//!   <subtopology>_<partition>/fjall/   database of one task
//!   global/fjall/                      database of the global stores
//! ```

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::error::StoreError;

const LOCK: &str = ".lock";
const METADATA: &str = "kafka-streams-process-metadata";
const GLOBAL: &str = "global";
/// A database without it counts as never completed, so removing it first makes a removal that
/// is cut short harmless.
const READY: &str = "fjall/ready";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProcessMetadata {
    process_id: String,
}

/// The state directory of one application in one process.
pub(crate) struct StateDirectory {
    path: PathBuf,
    process_id: String,
    /// Tasks whose directory is in use.
    held: Mutex<HashSet<Arc<str>>>,
    mode: u32,
    // Released by the system with the file, also after kill -9.
    _lock: File,
}

/// The directory of one task, held by one stream thread until this is dropped.
pub(crate) struct TaskDirectory {
    owner: Arc<StateDirectory>,
    task: Arc<str>,
    path: PathBuf,
    /// Whether letting go counts as use, from which the cleaner counts.
    used: bool,
}

/// A new process id, for applications without persistent stores.
pub(crate) fn random_process_id() -> Result<String, StoreError> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        StoreError::Config("the system gives no random numbers for a process id".to_owned())
    })?;
    bytes[6] = bytes[6] & 0x0f | 0x40; // version 4
    bytes[8] = bytes[8] & 0x3f | 0x80; // the variant of RFC 9562
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    Ok(format!("{a}-{b}-{c}-{d}-{e}"))
}

impl StateDirectory {
    /// Creates the directory where it is missing, takes its lock and reads the process id, or
    /// makes one. `group_write` is `allow.os.group.write.access`.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be created, read or written.
    pub(crate) fn open(
        state_dir: &Path,
        application: &str,
        group_write: bool,
    ) -> Result<Arc<Self>, StoreError> {
        if application.is_empty()
            || application.starts_with('.')
            || application.contains(['/', '\\', '\0'])
        {
            return Err(StoreError::Config(format!(
                "application.id {application:?} cannot name a directory; use letters, digits, '.', '_' and '-'"
            )));
        }
        let mode = if group_write { 0o770 } else { 0o750 };
        let state_dir = &std::path::absolute(state_dir)
            .map_err(|error| StoreError::io(application, state_dir, "finding state.dir", &error))?;
        let path = state_dir.join(application);
        create(state_dir, mode).and_then(|()| create(&path, mode)).map_err(|error| {
            StoreError::io(application, &path, "creating the state directory", &error)
        })?;
        let lock = lock(&path)?;
        let process_id = process_id(&path)?;
        Ok(Arc::new(Self { path, process_id, held: Mutex::default(), mode, _lock: lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Id of this instance, the same after a restart on the same disk.
    pub(crate) fn process_id(&self) -> &str {
        &self.process_id
    }

    /// Takes a task's directory, creating it if needed. `task` is `<subtopology>_<partition>`.
    ///
    /// # Errors
    /// [`StoreError::TaskLocked`] while another thread, or the cleaner, has it.
    pub(crate) fn task_directory(
        self: &Arc<Self>,
        task: &str,
    ) -> Result<TaskDirectory, StoreError> {
        let mut directory = self.hold(task)?;
        create(&directory.path, self.mode).map_err(|error| {
            StoreError::io("of the task", &directory.path, "creating the directory", &error)
        })?;
        directory.used = true;
        Ok(directory)
    }

    /// Takes the directory of the global stores.
    ///
    /// # Errors
    /// As [`task_directory`](Self::task_directory).
    pub(crate) fn global_directory(self: &Arc<Self>) -> Result<TaskDirectory, StoreError> {
        self.task_directory(GLOBAL)
    }

    fn hold(self: &Arc<Self>, task: &str) -> Result<TaskDirectory, StoreError> {
        let (task, path): (Arc<str>, _) = (task.into(), self.path.join(task));
        if !self.held.lock().insert(task.clone()) {
            return Err(StoreError::TaskLocked { task, path });
        }
        Ok(TaskDirectory { owner: self.clone(), task, path, used: false })
    }

    /// Ids of the tasks that have a directory here, held or not, sorted: their stores may be
    /// used again, and their offsets count when tasks are assigned.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn tasks(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> io::Result<Vec<String>> {
            let mut tasks = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if is_task(&name) && entry.file_type()?.is_dir() {
                    tasks.push(name);
                }
            }
            tasks.sort();
            Ok(tasks)
        };
        read().map_err(|error| StoreError::io("of all tasks", &self.path, "listing", &error))
    }

    /// Removes directories of tasks that nobody holds and that were left at least `delay`
    /// before `now`; returns their ids. `state.cleanup.delay.ms`.
    ///
    /// # Errors
    /// The first directory that cannot be removed; the others are done.
    pub(crate) fn clean(
        self: &Arc<Self>,
        delay: Duration,
        now: SystemTime,
    ) -> Result<Vec<String>, StoreError> {
        let mut removed = Vec::new();
        let mut failed = None;
        for task in self.tasks()? {
            // Held from here on, so that no thread opens what is being removed.
            let Ok(directory) = self.hold(&task) else { continue };
            let left = fs::metadata(&directory.path).and_then(|found| found.modified());
            let age = left.map(|left| now.duration_since(left).unwrap_or_default());
            if age.is_ok_and(|age| age >= delay) {
                match directory.remove() {
                    Ok(()) => removed.push(task),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        failed.map_or(Ok(removed), Err)
    }

    /// Removes every task's directory and the global one; for an application that is not
    /// running.
    ///
    /// # Errors
    /// When one is in use or cannot be removed.
    pub(crate) fn remove_all(self: &Arc<Self>) -> Result<(), StoreError> {
        for task in self.tasks()?.iter().map(String::as_str).chain([GLOBAL]) {
            self.hold(task)?.remove()?;
        }
        Ok(())
    }
}

impl TaskDirectory {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Id of the task.
    pub(crate) fn task(&self) -> &Arc<str> {
        &self.task
    }

    /// Removes what is in it, to begin from nothing; it stays held.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn wipe(&self) -> Result<(), StoreError> {
        self.delete()?;
        create(&self.path, self.owner.mode).map_err(|error| {
            StoreError::io("of the task", &self.path, "creating the directory", &error)
        })
    }

    /// Removes the directory and lets go of it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn remove(self) -> Result<(), StoreError> {
        self.delete()
    }

    fn delete(&self) -> Result<(), StoreError> {
        let absent_is_fine = |result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        absent_is_fine(fs::remove_file(self.path.join(READY)))
            .and_then(|()| absent_is_fine(fs::remove_dir_all(&self.path)))
            .map_err(|error| {
                StoreError::io("of the task", &self.path, "removing the directory", &error)
            })
    }
}

impl Drop for TaskDirectory {
    fn drop(&mut self) {
        // The cleaner counts from now. A directory that is gone or read-only needs no mark.
        if self.used
            && let Ok(directory) = File::open(&self.path)
        {
            let _ = directory.set_modified(SystemTime::now());
        }
        self.owner.held.lock().remove(&self.task);
    }
}

fn is_task(name: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('_')
        .is_some_and(|(subtopology, partition)| digits(subtopology) && digits(partition))
}

#[cfg(unix)]
fn create(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // Whatever the umask is.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn create(path: &Path, _mode: u32) -> io::Result<()> {
    fs::create_dir_all(path)
}

fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join(LOCK);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| StoreError::io(LOCK, &path, "opening", &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::DirectoryInUse { path: directory.to_owned() })
        }
        Err(TryLockError::Error(error)) => Err(StoreError::io(LOCK, &path, "locking", &error)),
    }
}

fn process_id(directory: &Path) -> Result<String, StoreError> {
    let path = directory.join(METADATA);
    let failed = |operation, error: &io::Error| StoreError::io(METADATA, &path, operation, error);
    match fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice::<ProcessMetadata>(&bytes) {
            Ok(metadata) if !metadata.process_id.is_empty() => return Ok(metadata.process_id),
            // A new id costs a reassignment, no data: better than not starting.
            _ => log::warn!(
                target: crate::LOG_TARGET,
                "{}: not readable as process metadata; a new process id is made",
                path.display()
            ),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("reading", &error)),
    }
    let process_id = random_process_id()?;
    let metadata = ProcessMetadata { process_id: process_id.clone() };
    let text = serde_json::to_vec(&metadata).map_err(|error| failed("writing", &error.into()))?;
    let temporary = directory.join(format!("{METADATA}.tmp"));
    let write = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().map_err(|error| failed("writing", &error))?;
    Ok(process_id)
}

#[cfg(test)]
mod tests {
    use super::super::testing::TempDir;
    use super::*;

    fn open(dir: &TempDir) -> Arc<StateDirectory> {
        StateDirectory::open(dir.path(), "app", false).unwrap()
    }

    #[test]
    fn the_process_id_survives_a_restart_and_is_java_s_json() {
        let dir = TempDir::new();
        let first = open(&dir).process_id().to_owned();
        let text = fs::read_to_string(dir.path().join("app").join(METADATA)).unwrap();
        assert_eq!(text, format!("{{\"processId\":\"{first}\"}}"));
        assert_eq!(first.len(), 36);
        assert_eq!(open(&dir).process_id(), first);
        fs::write(dir.path().join("app").join(METADATA), "{").unwrap();
        assert_ne!(open(&dir).process_id(), first, "damaged metadata does not stop the start");
    }

    #[test]
    fn a_second_opener_is_told_whose_directory_it_is() {
        let dir = TempDir::new();
        let first = open(&dir);
        let error = StateDirectory::open(dir.path(), "app", false).err().unwrap().to_string();
        assert!(error.contains("in use by another process") && error.contains("app"), "{error}");
        drop(first);
        open(&dir);
    }

    #[test]
    fn a_task_has_one_holder_and_the_cleaner_leaves_it_alone() {
        let dir = TempDir::new();
        let state = open(&dir);
        let held = state.task_directory("0_1").unwrap();
        let again = state.task_directory("0_1").err().unwrap();
        assert!(again.is_retriable(), "{again}");
        drop(state.task_directory("1_0").unwrap());
        let far = SystemTime::now() + Duration::from_secs(3600);
        let near = SystemTime::now();
        let delay = Duration::from_secs(600);
        assert!(state.clean(delay, near).unwrap().is_empty(), "left just now");
        assert_eq!(state.clean(delay, far).unwrap(), ["1_0"]);
        assert_eq!(state.tasks().unwrap(), ["0_1"]);
        held.remove().unwrap();
        assert!(state.tasks().unwrap().is_empty());
    }

    #[test]
    fn looking_does_not_make_a_directory_young_again() {
        let dir = TempDir::new();
        let state = open(&dir);
        drop(state.task_directory("0_0").unwrap());
        let path = dir.path().join("app/0_0");
        let past = SystemTime::now() - Duration::from_secs(500);
        File::open(&path).unwrap().set_modified(past).unwrap();
        assert!(state.clean(Duration::from_secs(600), SystemTime::now()).unwrap().is_empty());
        assert!(fs::metadata(&path).unwrap().modified().unwrap() <= past + Duration::from_secs(1));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_the_directories() {
        use std::os::unix::fs::PermissionsExt;
        let dir = TempDir::new();
        let state = open(&dir);
        let task = state.task_directory("0_0").unwrap();
        for path in [state.path(), task.path()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o750);
        }
    }

    #[test]
    fn an_application_id_that_leaves_the_directory_is_refused() {
        for bad in ["", "..", "a/b", ".hidden"] {
            assert!(StateDirectory::open(Path::new("unused"), bad, false).is_err(), "{bad}");
        }
    }
}
