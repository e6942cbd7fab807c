//! Membership of the group, as real brokers serve it.

use std::time::Duration;

use llingr_kafka::Options;
use llingr_kafka::streams::runtime::{State, UncaughtAction};
use serde::{Deserialize, Serialize};

use crate::app::{
    SOON, TestApp, Work, block_on, builder, close, produce, reach, values, wait_records,
};
use crate::support::{
    Child, ChildSide, Cluster, KafkaVersion, child_side, shared_broker, unique, wait_until,
};

#[test]
fn two_instances_share_the_tasks_and_the_rest_takes_over_what_one_leaves() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, 4).unwrap();
    tool.create(&output, 4).unwrap();
    let (first_app, second_app) = (
        TestApp::new(&input, &output, Work::CountOnDisk),
        TestApp::new(&input, &output, Work::CountOnDisk),
    );
    let first = builder(broker.bootstrap(), &id, &first_app).application_server("one:7070");
    let first = first.start().unwrap();
    reach(&first, State::Running);
    produce(&tool, &input, 20, 0..1000);
    wait_records(&tool, &output, 1000);
    let second = builder(broker.bootstrap(), &id, &second_app).application_server("two:7070");
    let second = second.start().unwrap();
    wait_until("the second instance has restored some tasks", SOON, || {
        second_app.restored.count() > 0 && second.state() == State::Running
    });
    wait_until("each instance knows who serves what", SOON, || {
        [&first, &second].iter().all(|instance| {
            let known = instance.metadata();
            let hosts: Vec<&str> = known.iter().map(|instance| instance.host.as_str()).collect();
            let partitions: usize = known.iter().map(|instance| instance.active.len()).sum();
            hosts == ["one", "two"] && partitions == 4
        })
    });
    produce(&tool, &input, 20, 1000..2000);
    wait_records(&tool, &output, 2000);
    close(&first);
    produce(&tool, &input, 20, 2000..3000);
    wait_records(&tool, &output, 3000);
    close(&second);
    for (key, counts) in values(&tool, &output) {
        assert_eq!(counts, (1..=150).collect::<Vec<u32>>(), "of {key}: each count once, in order");
    }
}

#[derive(Serialize, Deserialize)]
struct Args {
    bootstrap: String,
    id: String,
    input: String,
    output: String,
}

fn run_until_killed(side: &ChildSide) {
    let Args { bootstrap, id, input, output } = side.args();
    let streams =
        builder(&bootstrap, &id, &TestApp::new(&input, &output, Work::Copy)).start().unwrap();
    reach(&streams, State::Running);
    side.emit("running", ());
    let _ = streams.run();
}

#[test]
fn the_tasks_of_a_killed_member_go_to_another_one() {
    if let Some(side) = child_side() {
        return run_until_killed(&side);
    }
    let cluster = Cluster::builder()
        .property("group.streams.session.timeout.ms", "3000")
        .property("group.streams.heartbeat.interval.ms", "500")
        .start();
    let tool = cluster.tool();
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, 2).unwrap();
    tool.create(&output, 2).unwrap();
    let bootstrap = cluster.bootstrap();
    let args = Args {
        bootstrap: bootstrap.clone(),
        id: id.clone(),
        input: input.clone(),
        output: output.clone(),
    };
    let name = "membership::the_tasks_of_a_killed_member_go_to_another_one";
    let mut child = Child::spawn(name, &args);
    child.wait_event("running", SOON);
    child.kill9();
    produce(&tool, &input, 4, 0..100);
    let app = TestApp::new(&input, &output, Work::Copy);
    let streams = builder(&bootstrap, &id, &app).start().unwrap();
    wait_records(&tool, &output, 100);
    close(&streams);
    assert_eq!(values(&tool, &output).values().map(Vec::len).sum::<usize>(), 100);
}

#[test]
fn a_static_member_returns_at_once_and_a_second_one_of_its_name_is_refused() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, 2).unwrap();
    tool.create(&output, 2).unwrap();
    let app = TestApp::new(&input, &output, Work::Copy);
    let start = || {
        let options = Options::new().kafka_option("group.instance.id", "blue");
        let builder = builder(broker.bootstrap(), &id, &app).options(options);
        builder.process_id("1b4e28ba-2fa1-41d2-883f-0016d3cca427").start().unwrap()
    };
    let first = start();
    reach(&first, State::Running);
    let second = start();
    reach(&second, State::Error);
    let error = second.failure().unwrap().to_string();
    assert!(error.contains("UNRELEASED_INSTANCE_ID"), "{error}");
    assert!(error.contains("group.instance.id"), "{error}");
    let epoch = tool.group(&id).unwrap().epoch;
    close(&first);
    assert_eq!(tool.group(&id).unwrap().epoch, epoch, "leaving for a while is no rebalance");
    let again = start();
    reach(&again, State::Running);
    close(&again);
}

#[test]
fn missing_source_topics_end_the_instance_with_their_names() {
    let broker = shared_broker();
    let id = unique("app");
    let missing = format!("{id}-missing");
    let streams = builder(broker.bootstrap(), &id, &TestApp::new(&missing, "out", Work::Copy))
        .start()
        .unwrap();
    reach(&streams, State::Error);
    let error = streams.failure().unwrap().to_string();
    assert!(error.contains(&missing) && error.contains("create"), "{error}");
}

#[test]
fn one_instance_can_end_the_whole_application() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, 2).unwrap();
    tool.create(&output, 2).unwrap();
    let mut app = TestApp::new(&input, &output, Work::Copy);
    app.poison = Some("13");
    let start = || {
        builder(broker.bootstrap(), &id, &app)
            .on_uncaught_error(|_| UncaughtAction::ShutdownApplication)
            .start()
            .unwrap()
    };
    let (first, second) = (start(), start());
    reach(&first, State::Running);
    reach(&second, State::Running);
    produce(&tool, &input, 2, 0..20);
    reach(&first, State::Error);
    reach(&second, State::Error);
}

#[test]
fn kafka_4_2_serves_dynamic_members_and_refuses_static_ones_with_the_remedy() {
    let cluster = Cluster::builder().version(KafkaVersion::V4_2).start();
    let tool = cluster.tool();
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, 2).unwrap();
    tool.create(&output, 2).unwrap();
    produce(&tool, &input, 4, 0..100);
    let app = TestApp::new(&input, &output, Work::CountOnDisk);
    let streams = builder(&cluster.bootstrap(), &id, &app).start().unwrap();
    wait_records(&tool, &output, 100);
    close(&streams);
    let options = Options::new().kafka_option("group.instance.id", "blue");
    let fixed = builder(&cluster.bootstrap(), &id, &app).options(options).start().unwrap();
    reach(&fixed, State::Error);
    let error = fixed.failure().unwrap().to_string();
    assert!(error.contains("group.instance.id") && error.contains("4.4"), "{error}");
}

#[test]
fn closing_before_the_group_answers_takes_no_longer_than_its_limit() {
    // Nobody listens here.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let app = TestApp::new("in", "out", Work::Copy);
    let streams = builder(&format!("127.0.0.1:{port}"), &unique("app"), &app).start().unwrap();
    assert_eq!(streams.state(), State::Rebalancing);
    assert!(block_on(streams.close(Duration::from_secs(30))), "still {}", streams.state());
    assert_eq!(streams.state(), State::NotRunning);
}
