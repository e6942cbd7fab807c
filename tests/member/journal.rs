//! What handlers did, in the order in which they did it: a file that any
//! number of processes append to, a line per event. A line is there when the
//! handler's call that wrote it has returned, whatever kills the process
//! afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::support::{Committed, unique, wait_until};

/// What happened to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Started,
    Done,
    Failed,
    Panicked,
    /// The dead-letter handler took it.
    Lettered,
    /// The dead-letter handler refused it.
    Refused,
}

impl Kind {
    const ALL: [(Kind, &'static str); 6] = [
        (Kind::Started, "S"),
        (Kind::Done, "D"),
        (Kind::Failed, "F"),
        (Kind::Panicked, "P"),
        (Kind::Lettered, "L"),
        (Kind::Refused, "R"),
    ];

    /// Whether the record is done with.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Kind::Done | Kind::Lettered)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) who: String,
    pub(crate) kind: Kind,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) attempt: u32,
    /// `-` for a record without one.
    pub(crate) key: String,
}

/// A partition and an offset.
pub(crate) type Place = (i32, i64);

impl Line {
    pub(crate) fn place(&self) -> Place {
        (self.partition, self.offset)
    }

    fn parse(text: &str) -> Option<Line> {
        let mut words = text.splitn(6, ' ');
        let who = words.next()?.to_owned();
        let letter = words.next()?;
        let kind = Kind::ALL.iter().find(|(_, l)| *l == letter)?.0;
        let partition = words.next()?.parse().ok()?;
        let offset = words.next()?.parse().ok()?;
        let attempt = words.next()?.parse().ok()?;
        Some(Line { who, kind, partition, offset, attempt, key: words.next()?.to_owned() })
    }
}

/// The writing end.
pub(crate) struct Pen {
    who: String,
    file: File,
}

impl Pen {
    pub(crate) fn new(path: &str, who: &str) -> Pen {
        let file = OpenOptions::new().append(true).open(path);
        let file = file.unwrap_or_else(|e| panic!("the journal {path}: {e}"));
        Pen { who: who.to_owned(), file }
    }

    /// One system call: lines of several processes do not mix.
    pub(crate) fn note(&self, kind: Kind, place: Place, attempt: u32, key: &str) {
        let letter = Kind::ALL[kind as usize].1;
        let line = format!("{} {letter} {} {} {attempt} {key}\n", self.who, place.0, place.1);
        (&self.file).write_all(line.as_bytes()).expect("the journal's disk has room");
    }
}

#[derive(Default)]
struct Read_ {
    at: u64,
    rest: String,
    lines: Vec<Line>,
    ended: BTreeSet<Place>,
}

/// The reading end, which owns the file.
pub(crate) struct Journal {
    path: PathBuf,
    read: Mutex<Read_>,
}

impl Journal {
    pub(crate) fn new() -> Journal {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("journal"));
        File::create(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Journal { path, read: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn update<R>(&self, look: impl FnOnce(&Read_) -> R) -> R {
        let mut read = self.read.lock().expect("no reader panicked");
        let mut file = File::open(&self.path).expect("the journal is there");
        file.seek(SeekFrom::Start(read.at)).expect("a file can be sought");
        let mut text = std::mem::take(&mut read.rest);
        let n = file.read_to_string(&mut text).expect("lines are text");
        read.at += n as u64;
        let whole = text.rfind('\n').map_or(0, |i| i + 1);
        read.rest = text[whole..].to_owned();
        for line in text[..whole].lines() {
            let line = Line::parse(line).unwrap_or_else(|| panic!("not a line: {line:?}"));
            if line.kind.ends() {
                read.ended.insert(line.place());
            }
            read.lines.push(line);
        }
        look(&read)
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.update(|r| r.lines.clone())
    }

    /// How many different records have ended.
    pub(crate) fn ended(&self) -> usize {
        self.update(|r| r.ended.len())
    }

    pub(crate) fn ended_places(&self) -> BTreeSet<Place> {
        self.update(|r| r.ended.clone())
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Line) -> bool) -> usize {
        self.update(|r| r.lines.iter().filter(|l| wanted(l)).count())
    }

    /// Waits until so many different records have ended.
    #[track_caller]
    pub(crate) fn wait_ended(&self, records: usize, limit: Duration) {
        let mut best = 0;
        // The limit is for standing still, not for the whole.
        while best < records {
            wait_until(&format!("more than {best} of {records} records to end"), limit, || {
                self.ended() > best
            });
            best = self.ended();
        }
    }

    /// Waits until so many lines are as wanted.
    #[track_caller]
    pub(crate) fn wait_lines(&self, n: usize, limit: Duration, wanted: impl Fn(&Line) -> bool) {
        wait_until(&format!("{n} lines of the journal"), limit, || self.count(&wanted) >= n);
    }

    /// Asserts that exactly the records below `ends` (by partition) have
    /// ended.
    #[track_caller]
    pub(crate) fn assert_complete(&self, ends: &[i64]) {
        let all: BTreeSet<Place> = ends
            .iter()
            .enumerate()
            .flat_map(|(p, end)| (0..*end).map(move |o| (p as i32, o)))
            .collect();
        let ended = self.ended_places();
        let lost: Vec<_> = all.difference(&ended).take(10).collect();
        let strange: Vec<_> = ended.difference(&all).take(10).collect();
        assert!(lost.is_empty() && strange.is_empty(), "lost {lost:?}, unknown {strange:?}");
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the journal is {}", self.path.display());
        } else {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Checks the order of a journal's lines, record by record: of one key on one
/// partition no two at once, none out of turn, none twice. `gone` members were
/// killed: what they ran may run again elsewhere.
#[derive(Default)]
pub(crate) struct Order {
    gone: BTreeSet<String>,
    last: HashMap<(i32, String), Line>,
    /// Places that ran again after a member was gone.
    pub(crate) repeated: BTreeSet<Place>,
    ended_by: BTreeMap<Place, String>,
}

impl Order {
    pub(crate) fn with_gone<'a>(gone: impl IntoIterator<Item = &'a str>) -> Order {
        Order { gone: gone.into_iter().map(str::to_owned).collect(), ..Order::default() }
    }

    #[track_caller]
    pub(crate) fn check(gone: &[&str], lines: &[Line]) -> Order {
        let mut order = Order::with_gone(gone.iter().copied());
        for (i, line) in lines.iter().enumerate() {
            if let Err(why) = order.add(line) {
                let around: Vec<&Line> = lines[..=i]
                    .iter()
                    .filter(|l| l.partition == line.partition && l.key == line.key)
                    .collect();
                let from = around.len().saturating_sub(8);
                panic!("{why}: {line:?}\nbefore it: {:#?}", &around[from..]);
            }
        }
        order
    }

    fn add(&mut self, line: &Line) -> Result<(), String> {
        let lane = (line.partition, line.key.clone());
        let last = self.last.get(&lane);
        if line.kind == Kind::Started {
            let same = last.is_some_and(|l| l.who == line.who);
            match last {
                None if line.attempt != 1 => return Err("the first run is no first".into()),
                None => {}
                Some(l) if !same && self.gone.contains(&l.who) && line.attempt != 1 => {
                    return Err("a run after another member's is no first".into());
                }
                Some(l) if !same && self.gone.contains(&l.who) => {}
                Some(l) => match l.kind {
                    Kind::Started => return Err("two at once".into()),
                    k if k.ends() && line.offset <= l.offset => {
                        return Err("out of turn or twice".into());
                    }
                    k if k.ends() && line.attempt != 1 => return Err("not a first run".into()),
                    k if k.ends() => {}
                    _ if line.offset != l.offset => return Err("overtook a failed one".into()),
                    // A partition that came back begins anew.
                    _ if line.attempt != 1 && !(same && line.attempt == l.attempt + 1) => {
                        return Err("a wrong attempt".into());
                    }
                    _ => {}
                },
            }
            if let Some(by) = self.ended_by.get(&line.place()) {
                if !self.gone.contains(by) {
                    return Err(format!("ran again after {by} had ended it"));
                }
                self.repeated.insert(line.place());
            }
        } else {
            let l = last.ok_or("ended without a start")?;
            if l.place() != line.place() || l.who != line.who {
                return Err(format!("ended while {l:?} ran"));
            }
            if line.kind.ends() {
                self.ended_by.insert(line.place(), line.who.clone());
            }
        }
        self.last.insert(lane, line.clone());
        Ok(())
    }
}

/// The stretches [from, to) of finished offsets above a commit's position that
/// its metadata tells of: `llingr1:` and base64url of the position, pairs of
/// gap and length, and a checksum.
#[track_caller]
pub(crate) fn finished_map(committed: &Committed) -> Vec<(i64, i64)> {
    if committed.metadata.is_empty() {
        return Vec::new();
    }
    let text = committed.metadata.strip_prefix("llingr1:").expect("metadata of ours");
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bits, mut have, mut bytes) = (0u32, 0, Vec::new());
    for c in text.bytes() {
        let digit = ALPHABET.iter().position(|a| *a == c).expect("base64url") as u32;
        (bits, have) = (bits << 6 | digit, have + 6);
        if have >= 8 {
            have -= 8;
            bytes.push((bits >> have) as u8);
            bits &= (1 << have) - 1;
        }
    }
    bytes.truncate(bytes.len() - 4);
    let mut rest = bytes.into_iter();
    let mut next = || {
        let (mut value, mut shift) = (0i64, 0);
        loop {
            let byte = rest.next()?;
            value |= i64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    assert_eq!(next(), Some(committed.offset), "the map belongs to another position");
    let (mut at, mut map) = (committed.offset, Vec::new());
    while let Some(gap) = next() {
        let from = at + gap;
        at = from + next().expect("a range has two numbers");
        map.push((from, at));
    }
    map
}
