//! Options as a whole: what is passed on, what is refused, what is shown.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn engine(options: &Options) -> BTreeMap<String, String> {
    options.validate(Part::Engine).expect("valid options")
}

fn refused(options: Options) -> OptionsError {
    options.validate(Part::Engine).expect_err("refused options")
}

fn one(key: &str, value: &str) -> Options {
    Options::new().kafka_option(key, value)
}

#[test]
fn nothing_set_gives_plaintext_and_nothing_else() {
    let all = BTreeMap::from([("security.protocol".to_owned(), "PLAINTEXT".to_owned())]);
    for part in Part::ALL {
        assert_eq!(Options::new().validate(part).expect("defaults"), all);
    }
}

#[test]
fn every_key_of_the_catalogue_has_a_setter() {
    // Those with setters of their own in `security`, and security.protocol, which is inferred.
    let security = |key: &str| {
        ["security.", "ssl.", "enable.ssl.", "sasl.", "aws.", "gcp."]
            .iter()
            .any(|prefix| key.starts_with(prefix))
    };
    let expected: BTreeSet<_> = Catalogue::get()
        .keys
        .iter()
        .filter(|key| !key.is_refused() && !security(key.name))
        .map(|key| key.name)
        .collect();
    let actual: BTreeSet<_> = SETTER_KEYS.iter().copied().collect();
    assert_eq!(actual, expected);
}

#[test]
fn setters_and_strings_arrive_the_same() {
    let typed = Options::new()
        .client_id("billing")
        .fetch_max_wait(Duration::from_micros(250_500))
        .check_crcs(false)
        .fetch_min_bytes(77)
        .isolation_level(IsolationLevel::ReadUncommitted)
        .balance_strategy(BalanceStrategy::RoundRobin)
        .auto_offset_reset(AutoOffsetReset::Earliest);
    let text = Options::new().kafka_options([
        ("client.id", "billing"),
        ("fetch.wait.max.ms", " 251 "),
        ("check.crcs", "FALSE"),
        ("fetch.min.bytes", "+77"),
        ("isolation.level", "READ_UNCOMMITTED"),
        ("partition.assignment.strategy", "RoundRobin"),
        ("auto.offset.reset", "earliest"),
    ]);
    assert_eq!(engine(&typed), engine(&text));
    assert_eq!(engine(&typed)["fetch.max.wait.ms"], "251");
    assert_eq!(engine(&typed).len(), 8);
}

#[test]
fn the_last_value_of_one_way_counts() {
    let options = Options::new()
        .client_id("a")
        .client_id("b")
        .kafka_option("fetch.min.bytes", "1")
        .kafka_option("fetch.min.bytes", "2");
    assert_eq!(engine(&options)["client.id"], "b");
    assert_eq!(engine(&options)["fetch.min.bytes"], "2");
}

#[test]
fn two_ways_must_agree() {
    let same = Options::new().fetch_min_bytes(5).kafka_option("fetch.min.bytes", "05");
    assert_eq!(engine(&same)["fetch.min.bytes"], "5");
    let error = refused(Options::new().fetch_min_bytes(5).kafka_option("fetch.min.bytes", "6"));
    assert!(matches!(error, OptionsError::GivenTwice { key: "fetch.min.bytes", .. }), "{error}");
    let aliases = Options::new()
        .kafka_option("fetch.max.wait.ms", "10")
        .kafka_option("fetch.wait.max.ms", "20");
    let error = refused(aliases).to_string();
    assert!(error.contains("fetch.max.wait.ms") && error.contains("fetch.wait.max.ms"), "{error}");
    let secret =
        Options::new().sasl_plain("u", "first-pw").kafka_option("sasl.password", "second-pw");
    let error = refused(secret).to_string();
    assert!(error.contains("sasl.password") && !error.contains("-pw"), "{error}");
}

#[test]
fn every_integer_is_checked_at_both_ends() {
    for key in Catalogue::get().keys.iter().filter(|key| !key.is_refused()) {
        if key.kind != catalogue::Kind::Int {
            continue;
        }
        let part = key.parts[0];
        let check = |value: i64| one(key.name, &value.to_string()).validate(part);
        let (low, high) = (key.ranges[0].0, key.ranges[key.ranges.len() - 1].1);
        for value in [low - 1, high + 1] {
            let error = check(value).expect_err(key.name);
            let text = error.to_string();
            assert!(matches!(error, OptionsError::Invalid { .. }), "{text}");
            for part in [key.name, &value.to_string(), &high.to_string(), key.unit] {
                assert!(text.contains(part), "{text} lacks {part}");
            }
        }
        for value in [low, high] {
            // The pairs that must keep an order are refused for that reason, not the range.
            if let Err(error) = check(value) {
                assert!(matches!(error, OptionsError::Conflict { .. }), "{error}");
            }
        }
        assert!(one(key.name, "1.5").validate(part).is_err());
        assert!(one(key.name, "").validate(part).is_err());
        assert!(one(key.name, "99999999999999999999").validate(part).is_err());
    }
}

#[test]
fn a_gap_in_a_range_is_refused() {
    let key = "llingr.poll.error.bail.after.ms";
    engine(&one(key, "0"));
    engine(&one(key, "60000"));
    let error = refused(one(key, "59999")).to_string();
    assert!(error.contains("0 or 60000..3600000 ms"), "{error}");
}

#[test]
fn wrong_words_are_refused_with_the_right_ones() {
    for (key, value, word) in [
        ("isolation.level", "committed", "read_committed"),
        ("check.crcs", "yes", "true or false"),
        ("partition.assignment.strategy", "range,", "cooperative-sticky"),
        ("partition.assignment.strategy", "range,range", "without repetition"),
        ("auto.offset.reset", "none", "earliest, latest"),
    ] {
        let error = refused(one(key, value)).to_string();
        assert!(error.contains(key) && error.contains(word), "{error}");
    }
    engine(&one("partition.assignment.strategy", "range, roundrobin"));
}

#[test]
fn an_unknown_key_names_the_nearest_and_hides_its_value() {
    let error = refused(one("sasl.pasword", "hunter2"));
    let text = error.to_string();
    assert!(text.contains("did you mean sasl.password?"), "{text}");
    assert!(text.contains("fetch.min.bytes") && !text.contains("hunter2"), "{text}");
    assert!(!text.contains("share.acquire.mode"), "lists keys of another part: {text}");
    let far = refused(one("zzz", "1")).to_string();
    assert!(far.contains("\"zzz\" is unknown; known are"), "{far}");
    assert!(refused(one(&"k".repeat(1 << 20), "1")).to_string().len() < 4096);
}

#[test]
fn a_key_of_another_part_is_refused() {
    let error = refused(one("share.acquire.mode", "record_limit")).to_string();
    assert!(error.contains("no meaning for engine") && error.contains("share"), "{error}");
    for key in ["session.timeout.ms", "auto.offset.reset", "isolation.level", "group.instance.id"] {
        let error = one(key, "x").validate(Part::Share).expect_err(key);
        assert!(matches!(error, OptionsError::WrongPart { .. }), "{error}");
    }
    let typed = Options::new().session_timeout(Duration::from_secs(10));
    assert!(matches!(typed.validate(Part::Streams), Err(OptionsError::WrongPart { .. })));
}

#[test]
fn reserved_and_foreign_keys_are_refused_with_a_remedy() {
    for key in Catalogue::get().keys.iter().filter(|key| key.is_refused()) {
        let error = refused(one(key.name, "x"));
        let text = error.to_string();
        assert!(matches!(error, OptionsError::Refused { .. }), "{text}");
        assert!(text.contains(key.name) && text.contains(key.description), "{text}");
    }
}

#[test]
fn nul_is_refused_in_key_and_value() {
    for options in
        [one("client\0.id", "x"), one("client.id", "x\0"), Options::new().client_id("\0")]
    {
        assert!(matches!(refused(options), OptionsError::Nul { .. }));
    }
    let secret = refused(Options::new().sasl_plain("u", "hid\0den")).to_string();
    assert!(secret.contains("sasl.password") && !secret.contains("den"), "{secret}");
    assert!(!secret.contains("hid"), "{secret}");
}

#[test]
fn text_lengths_and_characters_are_checked() {
    refused(Options::new().client_id(""));
    engine(&Options::new().client_id("\u{e4}".repeat(249)));
    refused(Options::new().client_id("x".repeat(250)));
    let error = refused(Options::new().group_instance_id("a b")).to_string();
    assert!(error.contains("' '"), "{error}");
    refused(Options::new().tls_ca_location(""));
    engine(&Options::new().client_rack(""));
}

#[test]
fn times_must_keep_their_order() {
    let error = refused(Options::new().heartbeat_interval(Duration::from_secs(45))).to_string();
    assert!(error.contains("heartbeat.interval.ms (45000 ms)"), "{error}");
    refused(Options::new().session_timeout(Duration::from_secs(3)));
    engine(&Options::new().session_timeout(Duration::from_millis(3001)));
    let backoff = Options::new().retry_backoff(Duration::from_secs(2));
    assert!(matches!(backoff.validate(Part::Share), Err(OptionsError::Conflict { .. })));
    let equal = backoff.retry_backoff_max(Duration::from_secs(2));
    equal.validate(Part::Share).expect("equal is allowed");
}

#[test]
fn the_consumer_protocol_refuses_what_the_broker_decides() {
    let base = || Options::new().group_protocol(GroupProtocol::Consumer);
    engine(&base());
    for options in [
        base().session_timeout(Duration::from_secs(10)),
        base().heartbeat_interval(Duration::from_secs(1)),
        base().balance_strategy(BalanceStrategy::Range),
    ] {
        assert!(refused(options).to_string().contains("group.protocol=consumer"));
    }
}

#[test]
fn debug_hides_secrets_pem_and_unknown_values() {
    let options = Options::new()
        .client_id("shown-id")
        .sasl_plain("shown-user", "hidden-1")
        .tls_client_certificate_pem("hidden-2", "hidden-3")
        .oauthbearer_extensions("key=hidden-4")
        .kafka_option("sasl.oauthbearer.token.endpoint.url", "https://me:hidden-5@host/")
        .kafka_option("sasl.jaas.config", "hidden-6")
        .kafka_option("ssl.keystore.key", "hidden-7")
        .kafka_option("sasl.oauthbearer.client.credentials.client.secret", "hidden-8")
        .kafka_option("no.such.key", "hidden-9");
    let debug = format!("{options:?}");
    assert!(!debug.contains("hidden-"), "{debug}");
    assert!(debug.contains("shown-id") && debug.contains("shown-user"), "{debug}");
    assert!(debug.contains("no.such.key"), "{debug}");
}

mod login {
    use super::*;

    fn protocol(options: &Options) -> String {
        engine(options)["security.protocol"].clone()
    }

    fn oidc(url: &str) -> Options {
        Options::new().sasl_oauthbearer_oidc(url, "id", "secret-value")
    }

    fn callback() -> Options {
        Options::new().sasl_oauthbearer_callback(|| Ok(OAuthToken::new("t")))
    }

    #[test]
    fn the_protocol_follows_from_the_setters() {
        assert_eq!(protocol(&Options::new().tls()), "SSL");
        assert_eq!(protocol(&Options::new().disable_hostname_verification()), "SSL");
        assert_eq!(protocol(&Options::new().sasl_plain("u", "p")), "SASL_PLAINTEXT");
        assert_eq!(protocol(&Options::new().sasl_scram_sha256("u", "p").tls()), "SASL_SSL");
        assert_eq!(
            protocol(&Options::new().sasl_scram_sha512("u", "p").tls_ca_pem("x")),
            "SASL_SSL"
        );
        assert_eq!(protocol(&Options::new().sasl_aws_msk_iam()), "SASL_SSL");
        assert_eq!(protocol(&Options::new().sasl_gcp_iam()), "SASL_SSL");
        assert_eq!(protocol(&oidc("https://idp/token")), "SASL_PLAINTEXT");
        assert_eq!(protocol(&callback().tls()), "SASL_SSL");
        assert_eq!(protocol(&one("security.protocol", "ssl")), "SSL");
    }

    #[test]
    fn tls_settings_contradict_a_plain_protocol() {
        for (protocol, remedy) in [("PLAINTEXT", "use SSL"), ("SASL_PLAINTEXT", "use SASL_SSL")] {
            for options in [
                Options::new().tls(),
                Options::new().tls_ca_location("ca.pem"),
                Options::new().disable_certificate_verification(),
            ] {
                let options = options.kafka_option("security.protocol", protocol);
                let options = match protocol {
                    "PLAINTEXT" => options,
                    _ => options.sasl_plain("u", "p"),
                };
                let text = refused(options).to_string();
                assert!(text.contains(protocol) && text.contains(remedy), "{text}");
            }
        }
    }

    #[test]
    fn certificate_and_key_come_together_and_once() {
        for (key, missing) in [
            ("ssl.certificate.location", "ssl.key.location"),
            ("ssl.certificate.pem", "ssl.key.pem"),
            ("ssl.key.location", "ssl.certificate.location"),
            ("ssl.key.pem", "ssl.certificate.pem"),
        ] {
            let error = refused(one(key, "x"));
            assert!(
                matches!(error, OptionsError::Missing { key, .. } if key == missing),
                "{error}"
            );
        }
        let twice = Options::new().tls_ca_location("ca.pem").tls_ca_pem("x");
        assert!(refused(twice).to_string().contains("keep one"));
        engine(&one("ssl.certificate.location", "c").kafka_option("ssl.key.pem", "k"));
    }

    #[test]
    fn a_login_must_be_complete() {
        let missing = |options: Options| match refused(options) {
            OptionsError::Missing { key, .. } => key,
            other => panic!("{other}"),
        };
        assert_eq!(missing(one("sasl.username", "u")), "sasl.mechanism");
        assert_eq!(missing(one("security.protocol", "SASL_SSL")), "sasl.mechanism");
        assert_eq!(missing(one("sasl.mechanisms", "PLAIN")), "sasl.username");
        let user = one("sasl.mechanism", "SCRAM-SHA-256").kafka_option("sasl.username", "u");
        assert_eq!(missing(user), "sasl.password");
        assert_eq!(
            missing(one("sasl.mechanism", "OAUTHBEARER")),
            "sasl.oauthbearer.token.endpoint.url"
        );
        let named = one("sasl.mechanism", "OAUTHBEARER")
            .kafka_option("sasl.oauthbearer.method", "callback");
        assert_eq!(missing(named), "sasl.oauthbearer.method");
        let session =
            Options::new().sasl_aws_msk_iam().kafka_option("aws.role.session.name", "abc");
        assert_eq!(missing(session), "aws.role.arn");
    }

    #[test]
    fn a_login_contradicts_a_protocol_without_one() {
        for (protocol, remedy) in [("PLAINTEXT", "SASL_PLAINTEXT"), ("SSL", "SASL_SSL")] {
            let options =
                Options::new().sasl_plain("u", "p").kafka_option("security.protocol", protocol);
            let text = refused(options).to_string();
            assert!(text.contains(remedy) && !text.contains("\"p\""), "{text}");
        }
    }

    #[test]
    fn cloud_logins_need_tls_and_take_no_password() {
        for login in [Options::new().sasl_aws_msk_iam(), Options::new().sasl_gcp_iam()] {
            let plain = login.clone().kafka_option("security.protocol", "SASL_PLAINTEXT");
            assert!(refused(plain).to_string().contains("over TLS only"));
            for key in ["sasl.username", "sasl.password"] {
                let both = login.clone().kafka_option(key, "static-value");
                let error = refused(both);
                assert!(matches!(error, OptionsError::Conflict { .. }), "{error}");
                assert!(!error.to_string().contains("static-value"), "{error}");
            }
        }
        let both = oidc("https://idp/").kafka_option("sasl.password", "static-value");
        assert!(matches!(refused(both), OptionsError::Conflict { .. }));
        let aws = Options::new()
            .sasl_aws_msk_iam()
            .aws_region("eu-central-1")
            .aws_assume_role("arn:aws:iam::123456789012:role/r", "session");
        assert_eq!(engine(&aws)["aws.role.session.name"], "session");
    }

    #[test]
    fn settings_of_another_login_are_refused() {
        for options in [
            Options::new().sasl_plain("u", "p").aws_region("eu"),
            Options::new().sasl_plain("u", "p").oauthbearer_scope("s"),
            Options::new().sasl_aws_msk_iam().gcp_principal("x"),
            Options::new().sasl_gcp_iam().oauthbearer_scope("s"),
            oidc("https://idp/").gcp_credentials_file("f"),
            callback().oauthbearer_scope("s"),
            callback().oauthbearer_extensions("a=b"),
        ] {
            let error = refused(options);
            assert!(matches!(error, OptionsError::Conflict { .. }), "{error}");
        }
    }

    #[test]
    fn cloud_logins_exist_in_the_engine_only() {
        let aws = Options::new().sasl_aws_msk_iam();
        let error = aws.validate(Part::Share).expect_err("refused").to_string();
        assert!(error.contains("engine only"), "{error}");
        let gcp = Options::new().sasl_gcp_iam();
        assert!(gcp.validate(Part::Streams).is_err());
        for part in [Part::Share, Part::Streams] {
            let error = oidc("https://idp/").tls().validate(part).expect_err("refused").to_string();
            assert!(error.contains("sasl.oauthbearer") && error.contains("engine"), "{error}");
            let alone = Options::new().kafka_option("sasl.mechanism", "OAUTHBEARER").tls();
            let error = alone.validate(part).expect_err("refused").to_string();
            assert!(error.contains("sasl_oauthbearer_callback"), "{error}");
        }
    }

    #[test]
    fn the_secret_is_sent_encrypted_or_stays_on_the_machine() {
        for good in [
            "https://idp.example.com/oauth2/token",
            "HTTPS://idp:8443",
            "http://127.0.0.1:8080/token",
            "http://localhost/token",
            "http://[::1]:80/token",
        ] {
            engine(&oidc(good));
        }
        for bad in [
            "http://idp.example.com/token",
            "http://localhost.example.com/",
            "ftp://localhost/",
            "idp.example.com",
            "https:///token",
            "https://host/a b",
            "https://me:pw-in-url@host/",
        ] {
            let error = refused(oidc(bad)).to_string();
            assert!(!error.contains("pw-in-url") && !error.contains("secret-value"), "{error}");
        }
    }

    #[test]
    fn extensions_are_pairs_of_letters_and_printable_text() {
        let with = |extensions: &str| oidc("https://idp/").oauthbearer_extensions(extensions);
        engine(&with("logicalCluster=lkc-1,identityPoolId=pool 2"));
        for bad in ["x", "=v", "a1=v", "auth=v", "a=1,a=2", "a=\u{1}", "a=1,"] {
            let error = refused(with(bad));
            assert!(
                matches!(error, OptionsError::Invalid { key: "sasl.oauthbearer.extensions", .. }),
                "{bad}: {error}"
            );
        }
    }

    #[test]
    fn the_callback_is_kept_and_can_be_called() {
        let options = callback().tls();
        let token = options.token_provider().expect("provider")().expect("token");
        assert_eq!(token.token(), "t");
        assert_eq!(engine(&options)["sasl.oauthbearer.method"], "callback");
        assert!(Options::new().token_provider().is_none());
    }
}

mod documentation {
    use std::fmt::Write as _;

    use super::*;

    /// The page as it follows from the catalogue.
    fn page() -> String {
        let mut page = String::from(
            "# Options\n\n\
             Generated from `go/internal/kafka/options.tsv`; a test fails when it is stale\n\
             (`LLINGR_BLESS=1 cargo test --lib documentation` rewrites it).\n\n\
             Every key can be set by `Options::kafka_option`, most have a typed setter.\n\
             Ranges include both ends. Values marked secret never appear in Debug output,\n\
             logs or errors. A key that a part does not know is refused there.\n",
        );
        let mut section = "";
        for key in &Catalogue::get().keys {
            if key.section != section {
                section = key.section;
                let columns = if key.is_refused() {
                    "| Key | Instead |\n|---|---|\n"
                } else {
                    "| Key | Type | Values | Default | Parts | Meaning |\n|---|---|---|---|---|---|\n"
                };
                write!(page, "\n## {section}\n\n{columns}").expect("to a string");
            }
            if key.is_refused() {
                writeln!(page, "| `{}` | {} |", key.name, key.description).expect("to a string");
                continue;
            }
            let mut name = format!("`{}`", key.name);
            for alias in &key.aliases {
                write!(name, ", alias `{alias}`").expect("to a string");
            }
            let mut values =
                key.values.replace('|', if key.words.is_empty() { " or " } else { ", " });
            if !key.unit.is_empty() {
                write!(values, " {}", key.unit).expect("to a string");
            }
            writeln!(
                page,
                "| {name} | {} | {values} | {} | {} | {} |",
                key.type_name,
                defaults(key),
                key.parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(", "),
                key.description
            )
            .expect("to a string");
        }
        page
    }

    fn defaults(key: &catalogue::Key) -> String {
        let values: Vec<_> = key.parts.iter().map(|part| key.default_for(*part)).collect();
        if values.iter().all(|value| *value == values[0]) {
            return values[0].unwrap_or_default().to_owned();
        }
        key.parts
            .iter()
            .zip(values)
            .filter_map(|(part, value)| Some(format!("{part}: {}", value?)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn options_page_follows_the_catalogue() {
        crate::bless::assert_file("docs/options.md", &page());
    }
}
