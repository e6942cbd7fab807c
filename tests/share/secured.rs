//! Logins, TLS, rights, and a login that ends while records are held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use llingr_kafka::share::{AckType, ShareError};
use llingr_kafka::{OAuthToken, Options};

use crate::common::{
    SOON, accept_count, block_on, builder, explicit, from_earliest, lag, poll_count, produce,
};
use crate::support::{
    Acl, Cluster, Conn, Listener, Login, Mechanism, OTHER_USER, PASSWORD, USER, one_at_a_time,
    shared_secure_broker, unique,
};

/// The options that a program would set for this way to connect.
fn options(conn: &Conn) -> Options {
    let mut options = explicit();
    if let Some(tls) = &conn.tls {
        options = options.tls().tls_ca_pem(&tls.ca);
        if !tls.cert.is_empty() {
            options = options.tls_client_certificate_pem(&tls.cert, &tls.key);
        }
    }
    match &conn.sasl {
        None => options,
        Some(sasl) => match sasl.mechanism {
            "PLAIN" => options.sasl_plain(&sasl.user, &sasl.password),
            "SCRAM-SHA-256" => options.sasl_scram_sha256(&sasl.user, &sasl.password),
            "SCRAM-SHA-512" => options.sasl_scram_sha512(&sasl.user, &sasl.password),
            _ => {
                let token = sasl.token.clone();
                options.sasl_oauthbearer_callback(move || Ok(OAuthToken::new(token.as_str())))
            }
        },
    }
}

/// Every way in: TLS with a client certificate, and each mechanism with and without TLS.
fn ways() -> Vec<(Listener, Mechanism)> {
    let sasl = [Listener::SaslPlaintext, Listener::SaslSsl];
    let mut ways = vec![(Listener::Ssl, Mechanism::Plain)];
    ways.extend(sasl.iter().flat_map(|listener| Mechanism::ALL.map(|m| (*listener, m))));
    ways
}

#[test]
fn every_login_and_listener_consumes_and_acknowledges() {
    let broker = shared_secure_broker();
    let tool = broker.tool();
    let topic = unique("share");
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..3);
    block_on(async {
        let mut all = tokio::task::JoinSet::new();
        for (listener, mechanism) in ways() {
            let topic = topic.clone();
            all.spawn(async move {
                let way = format!("{} {}", listener.name(), mechanism.name());
                let group = unique("group");
                from_earliest(broker.bootstrap(), &group, None).await;
                let conn = broker.conn(listener, &Login::new(mechanism));
                let built =
                    builder(&conn.bootstrap, &group, &topic).options(options(&conn)).build();
                let consumer = built.await.unwrap_or_else(|error| panic!("{way}: {error}"));
                assert_eq!(accept_count(&consumer, 3).await.len(), 3, "{way}");
                let report = consumer.close(SOON).await.unwrap();
                assert!(report.is_ok() && report.acknowledged() == 3, "{way}: {report:?}");
                assert_eq!(lag(broker.bootstrap(), &group).await, [0], "{way}");
            });
        }
        let mut done = 0;
        while let Some(ended) = all.join_next().await {
            ended.expect("no panic");
            done += 1;
        }
        assert_eq!(done, 9);
    });
}

#[test]
fn a_refused_login_or_certificate_is_an_error_of_build_that_names_it_and_shows_no_secret() {
    let broker = shared_secure_broker();
    let wrong = "wr0ng-pa55word-77";
    let mut cases: Vec<(Conn, &str)> = Vec::new();
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
        for listener in [Listener::SaslPlaintext, Listener::SaslSsl] {
            let login = Login::new(mechanism).password(wrong);
            cases.push((broker.conn(listener, &login), mechanism.name()));
        }
    }
    let mut token = broker.conn(Listener::SaslSsl, &Login::new(Mechanism::OAuthBearer));
    token.sasl.as_mut().unwrap().token = format!("{wrong}.none.");
    cases.push((token, "OAUTHBEARER"));
    let certs = broker.certs();
    for listener in [Listener::Ssl, Listener::SaslSsl] {
        let mut conn = broker.conn(listener, &Login::new(Mechanism::Plain));
        conn.tls.as_mut().unwrap().ca = certs.foreign_ca.clone();
        cases.push((conn, "ssl.ca"));
    }
    let mut foreign = broker.conn(Listener::Ssl, &Login::new(Mechanism::Plain));
    let tls = foreign.tls.as_mut().unwrap();
    (tls.cert, tls.key) = (certs.foreign_client.cert.clone(), certs.foreign_client.key.clone());
    cases.push((foreign.clone(), "ssl.certificate"));
    let tls = foreign.tls.as_mut().unwrap();
    (tls.cert, tls.key) = (String::new(), String::new());
    cases.push((foreign, "ssl.certificate"));
    block_on(async {
        for (conn, named) in cases {
            let options = options(&conn).kafka_option("default.api.timeout.ms", "3000");
            let made = builder(&conn.bootstrap, "g", "t").options(options).build().await;
            let error = made.map(drop).expect_err(named);
            let text = error.to_string();
            assert!(text.contains(named), "{named} at {} is not in: {text}", conn.tls.is_some());
            assert!(text.contains(&conn.bootstrap), "{} is not in: {text}", conn.bootstrap);
            for secret in [wrong, PASSWORD, "PRIVATE KEY"] {
                assert!(!format!("{text} {error:?}").contains(secret), "{text}");
            }
        }
    });
}

/// A consumer that logs in as [`USER`].
async fn as_user(group: &str, topics: &[&str]) -> llingr_kafka::share::ShareConsumer {
    let broker = shared_secure_broker();
    let conn = broker.conn(Listener::SaslPlaintext, &Login::new(Mechanism::Plain));
    let builder = llingr_kafka::share::ShareConsumer::builder(group, topics.iter().copied());
    builder.brokers(&conn.bootstrap).options(options(&conn)).build().await.unwrap()
}

/// Polls until an error comes; nothing else may come before it.
async fn poll_error(consumer: &llingr_kafka::share::ShareConsumer) -> ShareError {
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < SOON, "no error came");
        match consumer.poll(Duration::from_secs(1)).await {
            Ok(records) => assert!(records.is_empty(), "{records:?}"),
            Err(error) => return error,
        }
    }
}

#[test]
fn share_33_a_right_that_is_taken_is_told_and_consumption_goes_on_when_it_is_given_back() {
    let broker = shared_secure_broker();
    let tool = broker.tool();
    let (topic, group) = (unique("share"), unique("group"));
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..10);
    let read = Acl::allow(USER, "READ", "TOPIC", &topic);
    // As long as the topic has an ACL, it is open to those named alone.
    tool.add_acl(&Acl::allow(OTHER_USER, "READ", "TOPIC", &topic)).unwrap();
    tool.add_acl(&read).unwrap();
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer = as_user(&group, &[&topic]).await;
        assert_eq!(accept_count(&consumer, 10).await.len(), 10);
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        tool.remove_acl(&read).unwrap();
        let error = poll_error(&consumer).await;
        produce(&tool, &topic, 1, 10..20);
        assert!(matches!(error, ShareError::Topic { .. }) && !error.is_fatal(), "{error}");
        assert!(error.to_string().contains(&topic), "{error}");
        assert!(error.to_string().contains("TOPIC_AUTHORIZATION_FAILED"), "{error}");
        tool.add_acl(&read).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        let started = Instant::now();
        while seen.len() < 10 {
            assert!(started.elapsed() < SOON, "{seen:?}");
            // What was told before the right came back may still be queued.
            let Ok(records) = consumer.poll(Duration::from_secs(1)).await else { continue };
            for record in records {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
                *seen.entry(record.offset()).or_insert(0) += 1;
            }
        }
        assert!(seen.keys().copied().eq(10..20) && seen.values().all(|n| *n == 1), "{seen:?}");
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn share_33_one_forbidden_topic_does_not_stop_the_rest_once_it_is_unsubscribed() {
    let broker = shared_secure_broker();
    let tool = broker.tool();
    let (open, closed, group) = (unique("share"), unique("share"), unique("group"));
    tool.create(&open, 1).unwrap();
    tool.create(&closed, 1).unwrap();
    tool.add_acl(&Acl::allow(OTHER_USER, "READ", "TOPIC", &closed)).unwrap();
    produce(&tool, &open, 1, 0..5);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer = as_user(&group, &[&open, &closed]).await;
        let error = poll_error(&consumer).await;
        assert!(matches!(error, ShareError::Topic { .. }) && !error.is_fatal(), "{error}");
        assert!(error.to_string().contains(&closed), "{error}");
        consumer.subscribe([open.as_str()]).unwrap();
        let mut seen = 0;
        let started = Instant::now();
        while seen < 5 {
            assert!(started.elapsed() < SOON, "{seen} records");
            let Ok(records) = consumer.poll(Duration::from_secs(1)).await else { continue };
            for record in records {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
                seen += 1;
            }
        }
        let report = consumer.close(SOON).await.unwrap();
        assert_eq!((report.is_ok(), seen), (true, 5), "{report:?}");
    });
}

#[test]
fn share_33_a_forbidden_group_is_fatal_for_every_poll() {
    let broker = shared_secure_broker();
    let tool = broker.tool();
    let (topic, group) = (unique("share"), unique("group"));
    tool.create(&topic, 1).unwrap();
    tool.add_acl(&Acl::allow(OTHER_USER, "READ", "GROUP", &group)).unwrap();
    block_on(async {
        let consumer = as_user(&group, &[&topic]).await;
        for _ in 0..2 {
            let error = poll_error(&consumer).await;
            assert!(error.is_fatal() && error.to_string().contains(&group), "{error}");
            assert!(error.to_string().contains("GROUP_AUTHORIZATION_FAILED"), "{error}");
        }
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn share_40_logins_are_renewed_while_records_are_held_and_acknowledgements_wait() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().secure().property("connections.max.reauth.ms", "2000").start();
    let tool = cluster.tool();
    let (topic, group) = (unique("share"), unique("group"));
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..20);
    block_on(async {
        from_earliest(&cluster.bootstrap(), &group, None).await;
        let login = Login::new(Mechanism::OAuthBearer);
        let conn = cluster.conn(Listener::SaslPlaintext, &login);
        // A token is asked for at every login, the renewed ones included.
        let logins = Arc::new(AtomicUsize::new(0));
        let counted = logins.clone();
        let options = explicit().sasl_oauthbearer_callback(move || {
            counted.fetch_add(1, Relaxed);
            Ok(OAuthToken::new(login.token()))
        });
        let flush = Duration::from_secs(1);
        let consumer = builder(&conn.bootstrap, &group, &topic)
            .options(options)
            .flush_interval(flush)
            .build()
            .await
            .unwrap();
        let records = poll_count(&consumer, 20).await;
        assert!(records.iter().all(|record| record.delivery_count() == 1));
        for (at, record) in records.iter().enumerate() {
            // Each one is queued for a while, and its connection logs in again in between: there
            // are at most four of them (bootstrap, coordinator, broker, session).
            consumer.acknowledge(record, AckType::Accept).unwrap();
            if at % 5 == 4 {
                let before = logins.load(Relaxed);
                let started = Instant::now();
                while logins.load(Relaxed) < before + 4 {
                    assert!(started.elapsed() < SOON, "{} logins", logins.load(Relaxed));
                    assert!(consumer.poll(Duration::from_millis(50)).await.unwrap().is_empty());
                }
                let report = consumer.commit(SOON).await.unwrap();
                assert!(report.is_ok(), "{report:?}");
            }
        }
        // A connection that was closed for its old login would have lost the locks.
        assert_eq!(lag(&cluster.bootstrap(), &group).await, [0]);
        let report = consumer.close(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
    });
}
