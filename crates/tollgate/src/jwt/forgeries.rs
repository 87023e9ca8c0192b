//! Tests: real tokens of every kind count, and no forged one does.

use serde_json::{Value, json};
use tollgate_policy::{Claims, JwtSettings};
use tollgate_sim::seeds::for_each_seed;

use super::mint::{Field, NOW_S, Signer, claims, jwks, settings, verifier};
use super::*;

#[track_caller]
fn refused(verifier: &Verifier, token: &str, fault: TokenFault) {
    assert_eq!(verifier.verify(token, NOW_S), Err(fault), "{}", token.get(..200).unwrap_or(token));
}

#[test]
fn a_token_of_every_algorithm_counts() {
    let (hmac, rsa) = (Signer::hmac(1), Signer::rsa());
    let check = |signer: &Signer, algorithm: &str| {
        let token = signer.token(&json!({"alg": algorithm, "typ": "JWT"}), &claims());
        assert_eq!(
            verifier(&[signer.material(algorithm)]).verify(&token, NOW_S),
            Ok(claims()),
            "{algorithm}"
        );
    };
    for (hashed, signed) in [("HS256", "RS256"), ("HS384", "RS512"), ("HS512", "PS256")] {
        check(&hmac, hashed);
        check(&rsa, signed);
    }
    check(&Signer::p256(), "ES256");
    check(&Signer::p384(), "ES384");
    check(&Signer::ed(), "EdDSA");
}

#[test]
fn a_token_without_a_signature_is_refused() {
    for (signer, algorithm) in Signer::one_of_each() {
        let verifier = verifier(&[signer.material(algorithm)]);
        for none in ["none", "None", "NONE", "nOnE"] {
            let token = signer.token(&json!({"alg": none}), &claims());
            refused(&verifier, &token, TokenFault::Unsigned);
            refused(&verifier, &token[..=token.rfind('.').unwrap()], TokenFault::Unsigned);
        }
        let token = signer.token(&json!({"alg": algorithm}), &claims());
        refused(&verifier, &token[..=token.rfind('.').unwrap()], TokenFault::BadSignature);
    }
}

#[test]
fn a_public_key_is_no_secret() {
    for (signer, algorithm) in Signer::one_of_each().into_iter().skip(1) {
        // The forger signs with HMAC, and with what everybody knows for a secret.
        for secret in [signer.pem(), signer.pem().trim().to_owned(), signer.jwk(json!({})).to_string()] {
            let forged = Signer::Hmac(secret.into()).token(&json!({"alg": "HS256"}), &claims());
            refused(&verifier(&[signer.material(algorithm)]), &forged, TokenFault::AlgorithmRefused);
            refused(&verifier(&[jwks(&[signer.jwk(json!({}))])]), &forged, TokenFault::AlgorithmRefused);
        }
        // And the operator cannot make one of it by mistake.
        let mistaken = KeyMaterial::secret("here", "HS256", signer.pem());
        assert_eq!(Verifier::new(&settings(), &[mistaken]).unwrap_err().problem, JwtKeyProblem::SecretIsPem);
    }
}

#[test]
fn a_key_verifies_with_its_own_algorithm_alone() {
    let (rsa, hmac) = (Signer::rsa(), Signer::hmac(1));
    let pinned = verifier(&[rsa.material("RS256"), hmac.material("HS512")]);
    for other in ["RS512", "PS256"] {
        refused(&pinned, &rsa.token(&json!({"alg": other}), &claims()), TokenFault::AlgorithmRefused);
    }
    refused(&pinned, &hmac.token(&json!({"alg": "HS256"}), &claims()), TokenFault::AlgorithmRefused);
    for unknown in ["HS1", "ES512", "RS256 ", "rs256", ""] {
        refused(&pinned, &rsa.token(&json!({"alg": unknown}), &claims()), TokenFault::AlgorithmRefused);
    }
    // A key set that does not say which leaves it to the token, among those of the key's kind.
    let unpinned = verifier(&[jwks(&[rsa.jwk(json!({}))])]);
    for own in ["RS256", "RS512", "PS256"] {
        assert!(unpinned.verify(&rsa.token(&json!({"alg": own}), &claims()), NOW_S).is_ok(), "{own}");
    }
    let named = verifier(&[jwks(&[rsa.jwk(json!({"alg": "PS256"}))])]);
    refused(&named, &rsa.token(&json!({"alg": "RS256"}), &claims()), TokenFault::AlgorithmRefused);
}

#[test]
fn a_token_of_another_key_is_refused() {
    let others = [Signer::hmac(2), Signer::rsa(), Signer::p256(), Signer::p384(), Signer::ed()];
    for ((signer, algorithm), other) in Signer::one_of_each().into_iter().zip(others) {
        let forged = other.token(&json!({"alg": algorithm}), &claims());
        refused(&verifier(&[signer.material(algorithm)]), &forged, TokenFault::BadSignature);
        // Keys that a token brings along are not asked.
        let header =
            json!({"alg": algorithm, "jwk": other.jwk(json!({})), "jku": "https://forger.example/jwks"});
        refused(
            &verifier(&[signer.material(algorithm)]),
            &other.token(&header, &claims()),
            TokenFault::BadSignature,
        );
    }
}

#[test]
fn times_issuer_and_audience_are_checked_at_the_given_time() {
    let signer = Signer::hmac(1);
    let settings = JwtSettings { issuer: Some("me".into()), audience: Some("us".into()), ..settings() };
    let verifier = Verifier::new(&settings, &[signer.material("HS256")]).unwrap();
    let token = |claims: Value| signer.token(&json!({"alg": "HS256"}), &claims);
    let good = token(json!({"iss": "me", "aud": "us", "nbf": NOW_S, "exp": NOW_S + 10}));
    assert!(verifier.verify(&good, NOW_S).is_ok());
    assert_eq!(verifier.verify(&good, NOW_S - 1), Err(TokenFault::NotYetValid));
    assert_eq!(verifier.verify(&good, NOW_S + 10), Err(TokenFault::Expired));
    refused(&verifier, &token(json!({"iss": "me", "aud": "us"})), TokenFault::NoExpiry);
    refused(&verifier, &token(json!({"iss": "it", "aud": "us", "exp": NOW_S + 10})), TokenFault::WrongIssuer);
    refused(&verifier, &token(json!({"iss": "me", "exp": NOW_S + 10})), TokenFault::WrongAudience);
    refused(&verifier, &token(json!({"exp": "soon"})), TokenFault::UnreadableTime);
    let forever = token(json!({"iss": "me", "aud": "us"}));
    assert!(verifier.accepting_no_expiry().verify(&forever, u64::MAX).is_ok());
}

#[test]
fn the_kid_picks_the_key() {
    let keys: Vec<_> = (0..20).map(Signer::hmac).collect();
    let jwk = |at: usize| keys[at].jwk(json!({"alg": "HS256", "kid": format!("k{at}")}));
    let set: Vec<_> = (0..20).map(jwk).collect();
    let verifier = verifier(&[jwks(&set)]);
    let token = |at: usize, kid: &str| keys[at].token(&json!({"alg": "HS256", "kid": kid}), &claims());
    assert!(verifier.verify(&token(19, "k19"), NOW_S).is_ok(), "beyond those that are tried without a name");
    refused(&verifier, &token(19, "k18"), TokenFault::BadSignature);
    for unknown in ["k20", "", "K19", "../k19", "k19\0", "' OR 1=1"] {
        refused(&verifier, &token(19, unknown), TokenFault::UnknownKey);
    }
    refused(&verifier, &keys[3].token(&json!({"alg": "HS256", "kid": 3}), &claims()), TokenFault::Malformed);
}

#[test]
fn without_a_kid_so_many_keys_are_tried_and_no_more() {
    let keys: Vec<_> = (0..=u8::try_from(KEYS_TRIED_MAX).unwrap()).map(Signer::hmac).collect();
    let material: Vec<_> = keys.iter().map(|key| key.material("HS256")).collect();
    let verifier = verifier(&material);
    let token = |key: &Signer| key.token(&json!({"alg": "HS256"}), &claims());
    for key in &keys[..KEYS_TRIED_MAX] {
        assert!(verifier.verify(&token(key), NOW_S).is_ok());
    }
    refused(&verifier, &token(&keys[KEYS_TRIED_MAX]), TokenFault::BadSignature);
}

#[test]
fn a_key_without_a_name_is_meant_by_any() {
    let signer = Signer::ed();
    let token = signer.token(&json!({"alg": "EdDSA", "kid": "of the issuer"}), &claims());
    assert!(verifier(&[signer.material("EdDSA")]).verify(&token, NOW_S).is_ok());
}

#[test]
fn a_name_that_two_keys_bear_is_refused_and_so_is_a_header_that_says_two_things() {
    let (one, two) = (Signer::hmac(1), Signer::hmac(2));
    let set = [one.jwk(json!({"alg": "HS256", "kid": "k"})), two.jwk(json!({"alg": "HS256", "kid": "k"}))];
    let error = Verifier::new(&settings(), &[jwks(&set)]).unwrap_err();
    assert_eq!(error.problem, JwtKeyProblem::DuplicateKid("k".into()));
    let verifier = verifier(&[jwks(&[set[0].clone(), two.jwk(json!({"alg": "HS512", "kid": "k"}))])]);
    assert_eq!(verifier.keys(), 2, "of different algorithms they can be told apart");
    for header in [r#"{"alg":"HS256","kid":"x","kid":"k"}"#, r#"{"alg":"HS512","alg":"HS256"}"#] {
        refused(&verifier, &one.token_of(header, &claims().to_string()), TokenFault::Malformed);
    }
}

#[test]
fn an_extension_that_must_be_understood_is_not() {
    let signer = Signer::hmac(1);
    let header = json!({"alg": "HS256", "crit": ["b64"], "b64": false});
    refused(
        &verifier(&[signer.material("HS256")]),
        &signer.token(&header, &claims()),
        TokenFault::CriticalExtension,
    );
}

#[test]
fn truncated_and_misshapen_tokens_are_refused() {
    let signer = Signer::p256();
    let verifier = verifier(&[signer.material("ES256")]);
    let token = signer.token(&json!({"alg": "ES256"}), &claims());
    for end in 0..token.len() {
        assert!(verifier.verify(&token[..end], NOW_S).is_err(), "{end}");
        assert!(verifier.verify(&token[end + 1..], NOW_S).is_err(), "{end}");
    }
    for token in
        ["", ".", "..", "...", "a.b", "a.b.c.d.e", "ü.ü.ü", "\0", &format!("{token}="), &format!(" {token}")]
    {
        refused(&verifier, token, TokenFault::Malformed);
    }
    for text in ["", "null", "[]", "\"x\"", "1", "{", "{}x", &"[".repeat(5_000)] {
        refused(&verifier, &signer.token_of(r#"{"alg":"ES256"}"#, text), TokenFault::Malformed);
        refused(&verifier, &signer.token_of(text, "{}"), TokenFault::Malformed);
    }
}

#[test]
fn a_token_may_be_so_long_and_no_longer() {
    let signer = Signer::hmac(1);
    let verifier = verifier(&[signer.material("HS256")]);
    let token = |filler: usize| {
        let claims = json!({"exp": NOW_S + 1, "x": "x".repeat(filler)});
        signer.token(&json!({"alg": "HS256"}), &claims)
    };
    let room = (TOKEN_BYTES_MAX - token(0).len()) / 4 * 3 - 3;
    assert!(verifier.verify(&token(room), NOW_S).is_ok());
    refused(&verifier, &token(room + 8), TokenFault::TooLong);
    refused(&verifier, &"a".repeat(10_000_000), TokenFault::TooLong);
    assert_eq!(decode_unverified(&".".repeat(TOKEN_BYTES_MAX + 1)), Err(TokenFault::TooLong));
}

#[test]
fn any_one_byte_changed_is_one_too_many() {
    for (signer, algorithm) in Signer::one_of_each() {
        let verifier = verifier(&[signer.material(algorithm)]);
        let token = signer.token(&json!({"alg": algorithm, "kid": "k"}), &claims());
        assert!(verifier.verify(&token, NOW_S).is_ok());
        for_each_seed(0..3, |rng| {
            for at in 0..token.len() {
                let mut bytes = token.clone().into_bytes();
                let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
                while bytes[at] == token.as_bytes()[at] {
                    bytes[at] = alphabet[rng.usize(..alphabet.len())];
                }
                let changed = String::from_utf8(bytes).unwrap();
                assert!(verifier.verify(&changed, NOW_S).is_err(), "{algorithm}, byte {at}: {changed}");
            }
        });
    }
}

#[test]
fn no_text_makes_it_panic() {
    let signer = Signer::hmac(1);
    let verifier = verifier(&[signer.material("HS256")]);
    let token = signer.token(&json!({"alg": "HS256"}), &claims());
    for_each_seed(0..5_000, |rng| {
        let mut bytes = token.clone().into_bytes();
        for _ in 0..rng.usize(1..20) {
            let at = rng.usize(..bytes.len());
            match rng.u8(0..3) {
                0 => bytes[at] = rng.u8(..),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b'.'),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        assert!(text == token || verifier.verify(&text, NOW_S).is_err());
        let _ = decode_unverified(&text);
    });
}

#[test]
fn a_request_is_read_as_verified_as_none_or_as_a_fault() {
    let signer = Signer::hmac(1);
    let verifier = verifier(&[signer.material("HS256")]);
    let value = format!("Bearer {}", signer.token(&json!({"alg": "HS256"}), &claims()));
    let read = verifier.read(&Field("authorization", &value), NOW_S).unwrap();
    assert!(matches!(read.as_claims(), Claims::Verified(read) if *read == claims()));
    assert_eq!(verifier.read(&Field("cookie", &value), NOW_S), Ok(TokenClaims::None));
    assert_eq!(verifier.read(&Field("authorization", "Bearer x"), NOW_S), Err(TokenFault::Malformed));
    // Upstream has verified it, the rule says; here nobody has.
    let forged = format!("Bearer {}", Signer::hmac(9).token(&json!({"alg": "none"}), &json!({"sub": "eve"})));
    let read = read_unverified("authorization", &Field("authorization", &forged)).unwrap();
    assert!(matches!(read.as_claims(), Claims::Unverified(read) if read["sub"] == "eve"));
    assert_eq!(verifier.read(&Field("authorization", &forged), NOW_S), Err(TokenFault::Unsigned));
}

#[test]
fn a_verifier_without_keys_refuses_everything() {
    let token = Signer::hmac(1).token(&json!({"alg": "HS256"}), &claims());
    refused(&verifier(&[]), &token, TokenFault::UnknownKey);
}
