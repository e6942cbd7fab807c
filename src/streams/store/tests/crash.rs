//! Processes that are killed, disks that are full, files that are damaged.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

const CHILD_DIR: &str = "LLINGR_TEST_STORE_DIR";
const CHILD_MODE: &str = "LLINGR_TEST_STORE_MODE";
const CHILD_TEST: &str = "streams::store::tests::crash::a_process_of_its_own";
const KEYS: i64 = 97;
const RESTORED_KEYS: i64 = 5003;

/// What the store holds after the writes of offsets 0 to `last`.
fn expected(last: i64, keys: i64) -> Model {
    (0..=last).map(|offset| write_of(offset, keys)).fold(Model::new(), |mut model, (key, value)| {
        match value {
            Some(value) => model.insert(key, value),
            None => model.remove(&key),
        };
        model
    })
}

/// The write that belongs to an offset: the offset itself, or a deletion now and then.
fn write_of(offset: i64, keys: i64) -> RestoreEntry {
    let key = Bytes::copy_from_slice(&(offset % keys).to_be_bytes());
    (key, (offset % 11 != 3).then(|| Bytes::copy_from_slice(&offset.to_be_bytes())))
}

fn reopened(directory: &Path) -> (Option<i64>, Model) {
    let fixture = Fixture::new(directory);
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap();
    (store.checkpoint_offset(), contents(store, Order::Ascending).into_iter().collect())
}

fn assert_agreement(directory: &Path, keys: i64) -> i64 {
    let (offset, data) = reopened(directory);
    let offset = offset.expect("something was committed");
    assert_eq!(data, expected(offset, keys), "data and checkpoint disagree at {offset}");
    offset
}

fn child(directory: &Path, mode: &str, limits: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .arg("-c")
        .arg(format!("{limits} exec \"$0\" --exact {CHILD_TEST} --ignored --nocapture"))
        .arg(program)
        .env(CHILD_DIR, directory)
        .env(CHILD_MODE, mode)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn reports(child: &mut Child) -> impl Iterator<Item = String> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

#[test]
#[ignore = "the other half of the tests that kill or limit a process"]
fn a_process_of_its_own() {
    let directory = PathBuf::from(std::env::var_os(CHILD_DIR).expect("started by another test"));
    match std::env::var(CHILD_MODE).as_deref() {
        Ok("commit") => commit_until_killed(&directory),
        Ok("restore") => restore_until_killed(&directory),
        Ok("fill") => fill_until_refused(&directory),
        other => panic!("unknown mode {other:?}"),
    }
}

fn commit_until_killed(directory: &Path) {
    let fixture = Fixture::new(directory);
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap();
    let mut offset = store.checkpoint_offset().map_or(0, |last| last + 1);
    loop {
        fixture.at(offset, offset);
        let (key, value) = write_of(offset, KEYS);
        store.put(key, value).unwrap();
        if offset % 13 == 0 {
            drained(store);
            stores.commit(|_| Some(offset)).unwrap();
            println!("committed {offset}");
        }
        offset += 1;
    }
}

/// Reads a changelog of many keys, so that tables are written while it is read.
fn restore_until_killed(directory: &Path) {
    let fixture = Fixture::new(directory);
    let stores = fixture.open(vec![spec("persistent")], 0);
    let mut next = stores.get("counts").unwrap().checkpoint_offset().map_or(0, |last| last + 1);
    loop {
        let records: Vec<_> = (next..next + 100)
            .map(|offset| {
                let (key, value) = write_of(offset, RESTORED_KEYS);
                RestoreRecord { key: Some(key), value, timestamp: offset, position: None }
            })
            .collect();
        next += 100;
        stores.restore("counts", &records, next - 1).unwrap();
        let durable = stores.get("counts").unwrap().checkpoint_offset().unwrap_or(-1);
        println!("committed {durable}");
    }
}

fn fill_until_refused(directory: &Path) {
    let fixture = Fixture::new(directory);
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap();
    for offset in 0.. {
        store.put(Bytes::from_static(b"large"), Some(vec![offset as u8; 1 << 20].into())).unwrap();
        drained(store);
        if let Err(error) = stores.commit(|_| Some(offset)) {
            println!("refused {error}");
            store.put(bytes("k"), Some(bytes("v"))).unwrap();
            println!("then {}", stores.commit(|_| Some(offset + 1)).unwrap_err());
            return;
        }
        println!("committed {offset}");
    }
}

#[test]
fn after_kill_9_data_and_checkpoint_agree() {
    killed("commit", KEYS, &[1, 7, 60, 400, 2500]);
}

#[test]
fn after_kill_9_in_a_restore_data_and_checkpoint_agree() {
    killed("restore", RESTORED_KEYS, &[30, 200, 900]);
}

fn killed(mode: &str, keys: i64, rounds: &[usize]) {
    let dir = TempDir::new();
    let mut before = -1;
    for commits in rounds {
        let mut child = child(dir.path(), mode, "");
        let mut reported = -1;
        for line in reports(&mut child).filter(|line| line.starts_with("committed")).take(*commits)
        {
            reported = line["committed ".len()..].parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = assert_agreement(dir.path(), keys);
        assert!(found >= reported && reported > before, "{before} {reported} {found}");
        before = found;
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_refused_write_names_store_path_and_remedy_and_loses_nothing_committed() {
    let dir = TempDir::new();
    // The engine's journal file is 64 MiB from the start; the limit is just above, in blocks
    // of 512 bytes. Without the signal ignored the process would simply die of it.
    let mut child = child(dir.path(), "fill", "trap '' XFSZ; ulimit -f 133000;");
    let lines: Vec<String> = reports(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{lines:#?}");
    let refused = lines.iter().find(|line| line.starts_with("refused")).expect("an error");
    for part in ["counts", "app/0_0/fjall", "ulimit -f"] {
        assert!(refused.contains(part), "{part} is missing in: {refused}");
    }
    let then = lines.iter().find(|line| line.starts_with("then")).expect("a second error");
    assert!(then.contains("counts is closed: an earlier write failed"), "{then}");
    let last = lines.iter().rfind(|line| line.starts_with("committed")).expect("commits");
    let (offset, data) = reopened(dir.path());
    assert_eq!(offset, Some(last["committed ".len()..].parse().unwrap()));
    assert_eq!(data[&b"large"[..]][..], vec![offset.unwrap() as u8; 1 << 20]);
}

/// Commits offsets 0 to 9, one each, and leaves.
fn ten_commits(directory: &Path) {
    let fixture = Fixture::new(directory);
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap();
    for offset in 0..10 {
        let (key, value) = write_of(offset, KEYS);
        store.put(key, value).unwrap();
        stores.commit(|_| Some(offset)).unwrap();
    }
}

#[test]
fn a_torn_journal_takes_data_and_checkpoint_back_together() {
    let dir = TempDir::new();
    ten_commits(dir.path());
    let journal = dir.path().join("app/0_0/fjall/0.jnl");
    let used = fs::read(&journal).unwrap().iter().rposition(|byte| *byte != 0).unwrap();
    let mut file = OpenOptions::new().write(true).open(&journal).unwrap();
    file.seek(SeekFrom::Start(used as u64 - 6)).unwrap();
    file.write_all(&[0; 7]).unwrap();
    drop(file);
    assert_eq!(assert_agreement(dir.path(), KEYS), 8, "the last commit is gone, whole");
}

#[test]
fn a_creation_that_was_cut_short_begins_again() {
    let dir = TempDir::new();
    ten_commits(dir.path());
    fs::remove_file(dir.path().join("app/0_0/fjall/ready")).unwrap();
    assert_eq!(reopened(dir.path()), (None, Model::new()));
}

#[test]
fn damaged_files_are_an_error_with_the_directory_to_remove() {
    let dir = TempDir::new();
    ten_commits(dir.path());
    fs::write(dir.path().join("app/0_0/fjall/version"), "?").unwrap();
    let fixture = Fixture::new(dir.path());
    let specs = [Arc::new(spec("persistent"))];
    let error = TaskStores::open(&specs, fixture.env(0)).err().expect("an error");
    assert!(error.is_corruption(), "{error}");
    assert!(error.to_string().contains("app/0_0/fjall"), "{error}");
    assert!(error.to_string().contains("remove this directory"), "{error}");
    // The remedy works, and the failed opening left the task free.
    fixture.state.task_directory("0_0").unwrap().wipe().unwrap();
    fixture.open(vec![spec("persistent")], 0);
}

#[test]
fn a_flipped_bit_in_a_table_is_found() {
    let dir = TempDir::new();
    let tables = {
        let fixture = Fixture::new(dir.path());
        let stores = fixture.open(vec![spec("persistent")], 0);
        let store = stores.get("counts").unwrap();
        // Tables are written in the background, so go on until there is one.
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let found = files_below(&dir.path().join("app/0_0/fjall/keyspaces"), "tables");
            if !found.is_empty() {
                break found;
            }
            assert!(Instant::now() < deadline, "no table was written");
            for number in 0..500_u32 {
                let value = Some(Bytes::from(vec![7; 200]));
                store.put(Bytes::copy_from_slice(&number.to_be_bytes()), value).unwrap();
            }
            stores.commit(|_| Some(1)).unwrap();
        }
    };
    let survivors: Vec<_> = tables.into_iter().filter(|path| path.exists()).collect();
    let tables = if survivors.is_empty() {
        files_below(&dir.path().join("app/0_0/fjall/keyspaces"), "tables")
    } else {
        survivors
    };
    for path in tables {
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.seek(SeekFrom::Start(700)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(700)).unwrap();
        file.write_all(&[byte[0] ^ 0x10]).unwrap();
    }
    let fixture = Fixture::new(dir.path());
    let specs = [Arc::new(spec("persistent"))];
    let error = match TaskStores::open(&specs, fixture.env(0)) {
        Err(error) => error,
        Ok(stores) => {
            let store = stores.get("counts").unwrap().clone();
            let walk = store.range(&KeyRange::ALL, Order::Ascending).unwrap();
            walk.filter_map(Result::err).next().expect("the damage shows")
        }
    };
    assert!(error.is_corruption() && error.to_string().contains("app/0_0/fjall"), "{error}");
}

fn files_below(directory: &Path, folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, folder));
        } else if directory.ends_with(folder)
            && fs::metadata(&path).is_ok_and(|file| file.len() > 1000)
        {
            found.push(path);
        }
    }
    found
}
