//! Which instance serves which partitions, as the group tells its members.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::wire::messages::streams_group_heartbeat::{EndpointToPartitions, TopicPartition};

/// Where an instance can be reached by others (`application.server`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Endpoint {
    /// Host name or address.
    pub(crate) host: String,
    /// Port.
    pub(crate) port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "application.server={text:?} is not host:port (an IPv6 address goes in brackets)"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(host) => host,
            None if host.contains([':', '[', ']', '/']) => return Err(wrong()),
            None => host,
        };
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

/// Topic and partition by name.
type Partitions = BTreeSet<(String, i32)>;

/// What one instance serves: source and repartition partitions of its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) active: Partitions,
    /// Warm-up tasks are among these.
    pub(crate) standby: Partitions,
}

/// All instances that have an endpoint.
pub(crate) type EndpointMap = BTreeMap<Endpoint, Served>;

/// The map of an answer. Members of one instance have an entry each: these are joined.
pub(super) fn from_wire(entries: Vec<EndpointToPartitions>) -> EndpointMap {
    let mut map = EndpointMap::new();
    for entry in entries {
        let endpoint = Endpoint { host: entry.user_endpoint.host, port: entry.user_endpoint.port };
        let served = map.entry(endpoint).or_default();
        served.active.extend(flat(entry.active_partitions));
        served.standby.extend(flat(entry.standby_partitions));
    }
    map
}

fn flat(topics: Vec<TopicPartition>) -> impl Iterator<Item = (String, i32)> {
    topics.into_iter().flat_map(|topic| {
        let name = topic.topic;
        topic.partitions.into_iter().map(move |partition| (name.clone(), partition))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages::streams_group_heartbeat::ResponseEndpoint;

    #[test]
    fn an_endpoint_is_read_and_written_as_host_and_port() {
        for text in ["a:1", "10.0.0.1:7070", "[::1]:80"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        for text in ["", "a", "a:", "a:0", ":1", "::1:80", "http://a:1", "a:70000"] {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(error.contains("application.server"), "{error}");
        }
    }

    #[test]
    fn members_with_one_endpoint_are_one_instance() {
        let entry = |host: &str, partition| EndpointToPartitions {
            user_endpoint: ResponseEndpoint { host: host.into(), port: 1 },
            active_partitions: vec![TopicPartition {
                topic: "in".into(),
                partitions: vec![partition],
            }],
            standby_partitions: vec![],
        };
        let map = from_wire(vec![entry("a", 0), entry("b", 1), entry("a", 2)]);
        assert_eq!(map.len(), 2);
        let a = &map[&"a:1".parse().unwrap()];
        assert_eq!(a.active, [("in".to_owned(), 0), ("in".to_owned(), 2)].into());
    }
}
