//! Tests: keys that cannot be used are refused when they are given, with what to do about it.

use serde_json::{Value, json};

use super::mint::{NOW_S, Signer, claims, jwks, pem, settings, verifier};
use super::*;

#[track_caller]
fn refused(material: KeyMaterial, message: &str) {
    let error = Verifier::new(&settings(), &[material]).unwrap_err();
    assert_eq!(error.to_string(), format!("here: {message}"));
}

fn secret(algorithm: &str, secret: &str) -> KeyMaterial {
    KeyMaterial::secret("here", algorithm, secret)
}

fn public(algorithm: &str, text: &str) -> KeyMaterial {
    KeyMaterial::pem("here", algorithm, text)
}

fn set(text: &str) -> KeyMaterial {
    KeyMaterial::jwks("here", text)
}

#[test]
fn an_algorithm_must_be_one_of_ours_and_fit_its_key() {
    refused(
        secret("none", &"s".repeat(64)),
        "`algorithm` is `none`; write HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA",
    );
    refused(
        secret("RS256", &"s".repeat(64)),
        "`algorithm` is `RS256`, which takes a public key, and this is a secret; name a PEM file, or write HS256",
    );
    refused(
        public("HS256", &Signer::ed().pem()),
        "`algorithm` is `HS256`, which takes a secret, and this is a public key; write the algorithm that it was made for",
    );
}

#[test]
fn a_secret_is_as_long_as_its_hash_and_no_key_in_pem() {
    for (algorithm, bytes) in [("HS256", 32), ("HS384", 48), ("HS512", 64)] {
        assert!(Verifier::new(&settings(), &[secret(algorithm, &"s".repeat(bytes))]).is_ok());
        let short = bytes - 1;
        refused(
            secret(algorithm, &"s".repeat(short)),
            &format!("the secret has {short} bytes and can be guessed; use at least {bytes} random ones"),
        );
    }
    refused(
        secret("HS256", &format!("\n{}", Signer::ed().pem())),
        "the secret is a key in PEM, and whoever knows it could forge tokens; name it as a PEM file, with its own algorithm",
    );
}

#[test]
fn a_pem_file_holds_one_public_key_of_its_algorithm() {
    let (rsa, p256, ed) = (Signer::rsa().pem(), Signer::p256().pem(), Signer::ed().pem());
    let unreadable = |algorithm: &str| {
        format!(
            "there is no public key for `{algorithm}` in it; it must begin with `-----BEGIN PUBLIC KEY-----`"
        )
    };
    let cut = rsa.replacen("MII", "", 1);
    let garbage = pem("PUBLIC KEY", &[0x30; 3_000]);
    for text in ["", "x", "-----BEGIN PUBLIC KEY-----", &p256, &ed, &cut, &garbage, &rsa.repeat(2)] {
        refused(public("RS256", text), &unreadable("RS256"));
    }
    refused(public("ES256", &rsa), &unreadable("ES256"));
    refused(public("EdDSA", &garbage), &unreadable("EdDSA"));
    for (algorithm, text) in [("ES384", &p256), ("ES256", &ed), ("EdDSA", &p256)] {
        refused(
            public(algorithm, text),
            &format!(
                "the key is not on the curve of `{algorithm}`; ES256 takes P-256, ES384 takes P-384 and EdDSA takes Ed25519"
            ),
        );
    }
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
        refused(
            public("RS256", &pem(label, b"x")),
            "it is a private key; give the public one (`openssl pkey -pubout`), and keep this one away",
        );
    }
    refused(
        public("RS256", &pem("CERTIFICATE", b"x")),
        "it is a certificate; give its public key (`openssl x509 -pubkey -noout`)",
    );
    refused(
        public("RS256", &"x".repeat(KEY_BYTES_MAX + 1)),
        "it is longer than 1048576 bytes; is it the right one?",
    );
}

#[test]
fn white_space_around_and_in_a_pem_file_is_forgiven() {
    let signer = Signer::ed();
    let token = signer.token(&json!({"alg": "EdDSA"}), &claims());
    let text = format!("a comment\r\n{}\r\n\n", signer.pem().replace('\n', "\r\n"));
    assert!(verifier(&[public("EdDSA", &text)]).verify(&token, NOW_S).is_ok());
}

#[test]
fn an_rsa_key_is_neither_weak_nor_enormous() {
    let modulus = |bytes: usize| "_".repeat(bytes * 4 / 3);
    for (bytes, usable) in [(129, false), (255, false), (258, true), (1_023, true), (1_026, false)] {
        let key = json!({"kty": "RSA", "n": modulus(bytes), "e": "AQAB"});
        let keys = Verifier::new(&settings(), &[jwks(&[key])]).map(|verifier| verifier.keys());
        assert_eq!(keys.is_ok(), usable, "{bytes} bytes: {keys:?}");
    }
}

#[test]
fn a_key_set_is_a_key_set() {
    refused(
        set("{"),
        "it is no JSON Web Key Set (EOF while parsing an object at line 1 column 1); it should be like {\"keys\": [ … ]}",
    );
    for text in ["{}", "[]", "null", "{\"keys\": {}}", "{\"keys\": null}"] {
        refused(
            set(text),
            "it is no JSON Web Key Set (no array `keys`); it should be like {\"keys\": [ … ]}",
        );
    }
    refused(
        set(&json!({"keys": vec![Value::Null; JWKS_KEYS_MAX + 1]}).to_string()),
        "the key set has 257 keys, 256 at most; remove the old ones",
    );
    let doubled = json!({"keys": vec![Signer::ed().jwk(json!({"kid": "k"})); 2]});
    refused(set(&doubled.to_string()), "`kid` `k` names two keys; give every key a name of its own");
}

#[test]
fn keys_that_cannot_verify_are_passed_over_and_counted() {
    let useless = [
        Value::Null,
        json!({}),
        json!({"kty": "unheard of"}),
        json!({"kty": "RSA", "n": "???", "e": "AQAB"}),
        json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"}),
        json!({"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        json!({"kty": "OKP", "crv": "X25519", "x": "AA"}),
        Signer::rsa().jwk(json!({"use": "enc"})),
        Signer::rsa().jwk(json!({"key_ops": ["encrypt"]})),
        Signer::rsa().jwk(json!({"alg": "RSA-OAEP"})),
        // Confusion by the set's own word.
        Signer::rsa().jwk(json!({"alg": "HS256"})),
        Signer::p256().jwk(json!({"alg": "ES384"})),
        Signer::ed().jwk(json!({"alg": "ES256"})),
        Signer::hmac(1).jwk(json!({"alg": "RS256"})),
        Signer::hmac(1).jwk(json!({})),
        Signer::Hmac(vec![1; 31]).jwk(json!({"alg": "HS256"})),
    ];
    refused(
        set(&json!({ "keys": useless }).to_string()),
        "none of the key set's 18 keys can verify; it needs one of kty RSA, EC (P-256, P-384), OKP (Ed25519) or oct (with `alg`)",
    );
    let signer = Signer::p384();
    let mut keys = useless.to_vec();
    keys.push(signer.jwk(json!({"kid": "good", "use": "sig", "key_ops": ["verify"]})));
    let verifier = verifier(&[jwks(&keys)]);
    assert_eq!((verifier.keys(), verifier.passed_over()), (1, useless.len()));
    let token = signer.token(&json!({"alg": "ES384", "kid": "good"}), &claims());
    assert!(verifier.verify(&token, NOW_S).is_ok());
}

#[test]
fn a_verifier_holds_so_many_keys_and_no_more() {
    let keys: Vec<_> = (0..=KEYS_MAX).map(|_| KeyMaterial::secret("here", "HS256", [7; 32])).collect();
    assert!(Verifier::new(&settings(), &keys[1..]).is_ok());
    let error = Verifier::new(&settings(), &keys).unwrap_err();
    assert_eq!(error.to_string(), "here: it makes 257 keys, 256 at most; remove some");
}

#[test]
fn no_key_is_printed() {
    let material = [KeyMaterial::secret("here", "HS256", "sesame ".repeat(10))];
    let printed = format!("{material:?} {:?}", verifier(&material));
    assert!(!printed.contains("sesame") && !printed.contains("115, 101"), "{printed}");
}

#[test]
fn every_fault_has_a_cure_and_a_label_of_its_own() {
    let faults = TokenFault::ALL;
    let labels: std::collections::HashSet<_> = faults.iter().map(|fault| fault.label()).collect();
    assert_eq!(labels.len(), faults.len());
    for fault in faults {
        assert!(fault.to_string().contains("; "), "{fault}");
    }
    assert!(TokenFault::TooLong.to_string().contains(&TOKEN_BYTES_MAX.to_string()));
}
