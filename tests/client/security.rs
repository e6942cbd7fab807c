use llingr_kafka::client::{Admin, Error};

use crate::common::{block_on, config, reach};
use crate::support::{Cluster, Listener, Login, Mechanism, PASSWORD, shared_secure_broker};

#[test]
fn every_listener_and_mechanism_logs_in() {
    let broker = shared_secure_broker();
    block_on(async {
        for listener in Listener::ALL {
            for mechanism in Mechanism::ALL {
                let conn = broker.conn(listener, &Login::new(mechanism));
                let client = reach(config(&conn)).await.unwrap_or_else(|error| {
                    panic!("{} {}: {error}", listener.name(), mechanism.name())
                });
                client.close().await;
            }
        }
    });
}

#[test]
fn a_wrong_password_is_refused_at_once_naming_broker_and_mechanism() {
    let broker = shared_secure_broker();
    block_on(async {
        for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
            let login = Login::new(mechanism).password("wrong-password-5521");
            let conn = broker.conn(Listener::SaslPlaintext, &login);
            let error = reach(config(&conn)).await.err().expect("a refusal");
            assert!(matches!(error, Error::Authentication { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(mechanism.name()), "{text}");
            assert!(text.contains(&conn.bootstrap), "{text}");
            for secret in ["wrong-password-5521", PASSWORD] {
                assert!(!format!("{text} {error:?}").contains(secret), "{text}");
            }
        }
    });
}

#[test]
fn a_token_that_is_none_is_refused_with_the_brokers_reason() {
    let broker = shared_secure_broker();
    block_on(async {
        let mut conn = broker.conn(Listener::SaslPlaintext, &Login::new(Mechanism::OAuthBearer));
        conn.sasl.as_mut().expect("a login").token = "not.a.token".into();
        let error = reach(config(&conn)).await.err().expect("a refusal");
        assert!(matches!(error, Error::Authentication { .. }), "{error}");
        assert!(error.to_string().contains("OAUTHBEARER"), "{error}");
        assert!(!error.to_string().contains("not.a.token"), "{error}");
    });
}

#[test]
fn a_foreign_authority_a_missing_certificate_and_a_wrong_protocol_say_what_to_do() {
    let broker = shared_secure_broker();
    let login = Login::new(Mechanism::Plain);
    let foreign = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a CA");
    block_on(async {
        let mut conn = broker.conn(Listener::SaslSsl, &login);
        conn.tls.as_mut().expect("TLS").ca = foreign.cert.pem();
        let error = reach(config(&conn)).await.err().expect("a refusal");
        assert!(matches!(error, Error::Tls { .. }), "{error}");
        assert!(error.to_string().contains("ssl.ca"), "{error}");

        let mut conn = broker.conn(Listener::Ssl, &login);
        let tls = conn.tls.as_mut().expect("TLS");
        tls.cert.clear();
        tls.key.clear();
        let mut settings = config(&conn);
        settings.api_timeout = std::time::Duration::from_secs(3);
        let client = llingr_kafka::client::Client::new(settings).expect("a client");
        let limit = tokio::time::Instant::now() + std::time::Duration::from_secs(3);
        let error = client.ready(limit).await.expect_err("a refusal");
        assert!(error.to_string().contains("ssl.certificate"), "{error}");

        // TLS spoken to a plaintext listener.
        let mut conn = broker.conn(Listener::Ssl, &login);
        conn.bootstrap = broker.bootstrap().to_owned();
        let client = llingr_kafka::client::Client::new(config(&conn)).expect("a client");
        let limit = tokio::time::Instant::now() + std::time::Duration::from_secs(15);
        let error = client.ready(limit).await.expect_err("a refusal");
        assert!(error.to_string().contains("SSL or SASL_SSL listener"), "{error}");
    });
}

#[test]
fn logins_are_renewed_for_as_long_as_the_client_lives() {
    // Shorter than the test: without renewal the broker would close the connections.
    let cluster = Cluster::builder().secure().property("connections.max.reauth.ms", "2000").start();
    block_on(async {
        for mechanism in Mechanism::ALL {
            let conn = cluster.conn(Listener::SaslPlaintext, &Login::new(mechanism));
            let client = reach(config(&conn)).await.expect("a login");
            let admin = Admin::new(client.clone());
            let generation = client.general_generation().await;
            let until = tokio::time::Instant::now() + std::time::Duration::from_secs(5);
            while tokio::time::Instant::now() < until {
                admin.describe_cluster().await.expect("an answer at all times");
            }
            assert_eq!(
                client.general_generation().await,
                generation,
                "{}: the connection was replaced",
                mechanism.name()
            );
        }
    });
}
