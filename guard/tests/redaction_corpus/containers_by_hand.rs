//! Containers, alphabets and languages that the corpora do not have, and what only looks like them.

use annals_guard::redaction::Redactor;

/// Containers and alphabets that the corpora do not have.
#[test]
fn a_value_beside_the_name_of_a_secret_goes_whatever_it_is_made_of() {
    let settings = [
        "host\tuser\tpass\nh1\troot\tVALUE\n",
        "user: bob / pass: VALUE",
        r#"{"user": "bob", "pass": "VALUE"}"#,
        r#"{"passwords": ["VALUE"]}"#,
        r#"{"n": {"apiKeys": ["VALUE"]}}"#,
        "La parola d'ordine è VALUE",
        "palavra-passe: VALUE",
        "mật khẩu: VALUE",
        "kata sandi adalah VALUE",
        "كلمة المرور: VALUE",
        "wifi-security.psk:                      VALUE\n",
        "Enter password for bob: VALUE\n",
        "Password for 'https://bob@example.org': VALUE\n",
        "jdbc:mysql://h/db?user=x&password=VALUE",
        "Kestrel:Certificates:Password = VALUE",
        "<input type=\"password\" name=\"pw\" value=\"VALUE\">",
        "olcRootPW: VALUE\n",
        "My API key: VALUE, please use it",
        "Secret access key: VALUE",
        "password:\u{a0}VALUE",
    ];
    let values =
        ["zdLUueZoBUEqWpcH", "QBRZATIKCOILNEIS", "1805048409", "lnraunnfpapmosoy", "t+vv~JF*rodb-v", "UDHG+_CY~"];
    for setting in settings {
        for value in values {
            let redacted = Redactor::default().redact(&setting.replace("VALUE", value)).text.into_owned();
            assert!(!redacted.contains(value), "{redacted}");
        }
    }
}

#[test]
fn in_an_address_even_letters_that_read_like_words_are_a_password() {
    let redacted = Redactor::default().redact("jdbc:mysql://h/db?user=x&password=BSpYnRsacoDRPggH").text.into_owned();
    assert!(redacted.ends_with("&password=[redacted:assigned-secret]"), "{redacted}");
}

#[test]
fn what_only_looks_like_such_a_setting_stays() {
    for text in [
        "suite,pass,fail\nuser-tests,passed_all,skipped\n",
        r#"{"secrets": ["db_password", "api_key"], "tokens": ["hello", "worlds"], "keys": ["KeyboardInterrupt"]}"#,
        "Press any key: Escape",
        "API key: required",
        "Access key: Alt+Shift+P",
        "Failed password for root from 192.0.2.1 port 22: disconnected",
        "password for the account: see the wiki",
        "<input type=\"password\" placeholder=\"Password\">",
        "std::password = userPassword",
        "Primary key: customer_id",
    ] {
        assert_eq!(Redactor::default().redact(text).text, text);
    }
}

#[test]
fn of_a_file_kept_for_secrets_sentences_about_it_stay() {
    let shown = "API=Xk29dkALq1\n/bin/bash: line 1: /home/me/.env: Permission denied\nCommand exited with code 1. The command \
                 ran in a sandbox: it may change only the project\n";
    let redacted = Redactor::default().redact_file("/home/me/.env", shown).text.into_owned();
    assert_eq!(redacted, shown.replace("Xk29dkALq1", "[redacted:assigned-secret]"));
}
