use super::*;

fn write<T: 'static>(serde: &dyn Serde<T>, value: &T) -> Result<Option<Bytes>, SerdeError> {
    let mut headers = Headers::new();
    let mut cx = SerializeContext { topic: "t", part: Part::Value, headers: &mut headers };
    to_bytes(serde, &mut cx, Some(value), &mut BytesMut::new())
}

fn read<T: 'static>(serde: &dyn Serde<T>, bytes: Option<&[u8]>) -> Result<Option<T>, SerdeError> {
    let headers = Headers::new();
    let cx = DeserializeContext { topic: "t", part: Part::Value, headers: &headers };
    from_bytes(serde, &cx, bytes.map(Bytes::copy_from_slice).as_ref())
}

fn both<T: PartialEq + fmt::Debug + 'static>(serde: &dyn Serde<T>, value: T, bytes: &[u8]) {
    assert_eq!(write(serde, &value).unwrap().as_deref(), Some(bytes));
    assert_eq!(read(serde, Some(bytes)).unwrap(), Some(value));
}

#[test]
fn plain_values_have_kafkas_bytes() {
    both(&StringSerde, "grün".to_owned(), "grün".as_bytes());
    both(&StringSerde, String::new(), b"");
    both(&BytesSerde, Bytes::from_static(b"\0\xff"), b"\0\xff");
    both(&VecSerde, vec![1, 2], &[1, 2]);
    both(&I16Serde, -2, &[0xff, 0xfe]);
    both(&I32Serde, 258, &[0, 0, 1, 2]);
    both(&I64Serde, -1, &[0xff; 8]);
    both(&F32Serde, 1.5, &[0x3f, 0xc0, 0, 0]);
    both(&F64Serde, -2.0, &[0xc0, 0, 0, 0, 0, 0, 0, 0]);
    both(&BoolSerde, true, &[1]);
    both(&BoolSerde, false, &[0]);
    let uuid = [0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 1, 2, 3, 4];
    both(&UuidSerde, uuid, b"123e4567-e89b-12d3-a456-426601020304");
}

#[test]
fn wrong_bytes_are_errors_that_say_so() {
    let text = |error: Result<_, SerdeError>| error.map(|_: Option<i64>| ()).unwrap_err();
    assert_eq!(
        text(read(&I64Serde, Some(&[1]))).to_string(),
        "value for topic t: 1 bytes instead of 8"
    );
    assert!(read::<String>(&StringSerde, Some(b"\xff")).is_err());
    assert!(read(&BoolSerde, Some(&[2])).is_err());
    assert!(read::<[u8; 16]>(&UuidSerde, Some(b"123e4567+e89b-12d3-a456-426601020304")).is_err());
    assert!(read::<[u8; 16]>(&UuidSerde, Some(b"123e4567-e89b-12d3-a456-42660102030g")).is_err());
    assert!(read(&UnitSerde, Some(b"")).is_err());
}

#[test]
fn null_is_null_in_both_directions() {
    assert_eq!(read::<String>(&StringSerde, None).unwrap(), None);
    assert_eq!(write(&UnitSerde, &()).unwrap(), None);
    assert_eq!(read(&UnitSerde, None).unwrap(), None);
    let maybe = OptionSerde::new(I32Serde);
    assert_eq!(write(&maybe, &None).unwrap(), None);
    assert_eq!(read(&maybe, None).unwrap(), Some(None));
    both(&maybe, Some(1), &[0, 0, 0, 1]);
    let by_type = <Option<String> as DefaultSerde>::default_serde();
    assert_eq!(read(&by_type, None).unwrap(), Some(None));
}

#[test]
fn json_is_read_and_errors_do_not_quote_the_data() {
    let serde = JsonSerde::<Vec<u8>>::new();
    both(&serde, vec![1, 2], b"[1,2]");
    let error = read(&serde, Some(br#"["secret"]"#)).unwrap_err();
    assert!(error.to_string().contains("line 1 column 9"), "{error}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[test]
fn lists_of_equal_width_keep_nulls_by_index() {
    let serde = ListSerde::new(I16Serde);
    both(
        &serde,
        vec![None, Some(1i16), None, Some(-1)],
        &[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 0xff, 0xff],
    );
    both(&serde, vec![], &[0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn lists_of_any_width_keep_lengths() {
    let serde = ListSerde::new(StringSerde);
    both::<Vec<Option<String>>>(
        &serde,
        vec![Some("ab".into()), None, Some(String::new())],
        &[1, 0, 0, 0, 3, 0, 0, 0, 2, b'a', b'b', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
    );
}

#[test]
fn broken_lists_are_errors_and_allocate_nothing() {
    let numbers = ListSerde::new(I16Serde);
    let texts = ListSerde::new(StringSerde);
    let broken: [&[u8]; 7] = [
        b"",
        &[0, 0x7f, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0, 0, 0, 0, 0, 1, 5],
        &[0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 5, 5],
        &[1, 0, 0, 0, 1, 0, 0, 0, 9, 1],
        &[2],
    ];
    for bytes in broken {
        assert!(read::<Vec<Option<i16>>>(&numbers, Some(bytes)).is_err(), "{bytes:?}");
        assert!(read::<Vec<Option<String>>>(&texts, Some(bytes)).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_registrys_frame_is_a_zero_byte_and_the_id() {
    struct Upper;
    impl SchemaCodec<String> for Upper {
        fn schema_id(&self, topic: &str, _: Part, _: &String) -> Result<u32, BoxError> {
            if topic == "t" { Ok(258) } else { Err("unknown subject".into()) }
        }
        fn encode(&self, _: u32, value: &String, out: &mut BytesMut) -> Result<(), BoxError> {
            out.extend_from_slice(value.as_bytes());
            Ok(())
        }
        fn decode(&self, id: u32, data: &Bytes) -> Result<String, BoxError> {
            if id == 258 { Ok(String::from_utf8(data.to_vec())?) } else { Err("unknown id".into()) }
        }
    }
    let serde = SchemaSerde::new(Upper);
    both(&serde, "x".to_owned(), &[0, 0, 0, 1, 2, b'x']);
    assert!(read(&serde, Some(b"x")).is_err());
    let error = read(&serde, Some(&[0, 0, 0, 0, 1])).unwrap_err();
    assert_eq!(error.to_string(), "value for topic t: cannot be read by schema 1");
    assert!(error.cause.is_some());
}
