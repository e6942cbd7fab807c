//! A certificate authority for one cluster.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate and its key, as PEM text.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) cert: String,
    /// PKCS#8.
    pub(crate) key: String,
}

/// The certificates of a cluster, in memory and as files.
#[derive(Clone)]
pub(crate) struct Certs {
    /// The authority that signed the broker's certificate, PEM.
    pub(crate) ca: String,
    /// Signed by the authority, `CN=app`; accepted by the SSL listener.
    pub(crate) client: Identity,
    /// An authority that the cluster has never heard of, PEM.
    pub(crate) foreign_ca: String,
    /// A client certificate of that authority; refused by the SSL listener.
    pub(crate) foreign_client: Identity,
    dir: PathBuf,
}

impl Certs {
    /// Makes certificates and writes them to `dir`.
    pub(super) fn create(dir: &Path) -> Self {
        let ours = Authority::new("llingr test authority");
        let foreign = Authority::new("llingr foreign authority");
        let broker = ours.sign("broker", ExtendedKeyUsagePurpose::ServerAuth);
        let files = [
            ("ca.pem", ours.pem.clone()),
            ("broker.pem", format!("{}{}", broker.key, broker.cert)),
            ("foreign-ca.pem", foreign.pem.clone()),
        ];
        for (name, text) in files {
            write(dir, name, &text);
        }
        for (name, authority) in [("client", &ours), ("foreign-client", &foreign)] {
            let identity = authority.sign("app", ExtendedKeyUsagePurpose::ClientAuth);
            write(dir, &format!("{name}.pem"), &identity.cert);
            write(dir, &format!("{name}.key"), &identity.key);
        }
        Self::load(dir)
    }

    /// Reads what [`Certs::create`] wrote, perhaps in another process.
    pub(super) fn load(dir: &Path) -> Self {
        let identity = |name: &str| Identity {
            cert: read(dir, &format!("{name}.pem")),
            key: read(dir, &format!("{name}.key")),
        };
        Self {
            ca: read(dir, "ca.pem"),
            client: identity("client"),
            foreign_ca: read(dir, "foreign-ca.pem"),
            foreign_client: identity("foreign-client"),
            dir: dir.to_owned(),
        }
    }

    /// The authority's certificate as a file.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// The client's certificate as a file.
    pub(crate) fn client_cert_file(&self) -> PathBuf {
        self.dir.join("client.pem")
    }

    /// The client's key as a file.
    pub(crate) fn client_key_file(&self) -> PathBuf {
        self.dir.join("client.key")
    }

    /// The broker's key and certificate in one file, as Kafka wants them.
    pub(super) fn broker_file(&self) -> PathBuf {
        self.dir.join("broker.pem")
    }
}

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a P-256 key can be generated");
        let cert = params.self_signed(&key).expect("the parameters above can be signed");
        Self { pem: cert.pem(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for this machine under the given common name.
    fn sign(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Identity {
        let mut params = named(name);
        let alternative = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        params.subject_alt_names =
            CertificateParams::new(alternative).expect("both names are valid").subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a P-256 key can be generated");
        let cert =
            params.signed_by(&key, &self.issuer).expect("the parameters above can be signed");
        Identity { cert: cert.pem(), key: key.serialize_pem() }
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

fn read(dir: &Path, name: &str) -> String {
    let path = dir.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}
