//! Where secrets stand.

use super::more_settings::{LAST, MORE};
use super::values::{ALNUM, BASE64, BASE64_URL, HEX, KEYS, PASSWORDS, issued, key, name, password, styled};
use super::{Drawn, Seeded};

/// Form, style of the name, before and after the value; `NAME` is the name.
const ASSIGNMENTS: [(&str, &str, &str, &str); 68] = [
    ("env", "screaming", "NAME=", "\n"),
    ("env quoted", "screaming", "NAME=\"", "\"\n"),
    ("shell export", "screaming", "export NAME='", "'\n"),
    ("shell inline", "screaming", "NAME=", " ./run.sh --fast\n"),
    ("shell lower", "snake", "NAME=", "\n"),
    ("heredoc", "screaming", "cat > .env <<EOF\nPORT=80\nNAME=", "\nEOF\n"),
    ("heredoc ini", "snake", "tee app.conf <<'X'\n[auth]\nNAME = ", "\nX\n"),
    ("yaml", "snake", "auth:\n  NAME: ", "\n  port: 1\n"),
    ("yaml", "camel", "NAME: ", "\n"),
    ("yaml", "kebab", "  NAME: ", "\n"),
    ("yaml quoted", "camel", "NAME: '", "'\n"),
    ("yaml quoted", "snake", "- NAME: \"", "\"\n"),
    ("yaml comment", "snake", "NAME: ", "   # rotate me\n"),
    ("compose", "screaming", "    environment:\n      - NAME=", "\n"),
    ("compose", "screaming", "    environment:\n      NAME: ", "\n"),
    ("kubernetes", "screaming", "env:\n- name: NAME\n  value: \"", "\"\n"),
    ("kubernetes", "kebab", "stringData:\n  NAME: ", "\n"),
    ("toml", "snake", "NAME = \"", "\"\n"),
    ("toml literal", "kebab", "NAME = '", "'\n"),
    ("toml inline", "snake", "db = { host = \"h\", NAME = \"", "\" }\n"),
    ("json", "camel", "{\"NAME\": \"", "\", \"port\": 1}"),
    ("json", "snake", "{\"NAME\":\"", "\"}"),
    ("json", "pascal", "{\n  \"NAME\": \"", "\"\n}"),
    ("json pair", "screaming", "{\"name\": \"NAME\", \"value\": \"", "\"}"),
    ("json escaped", "camel", "{\"body\": \"{\\\"NAME\\\":\\\"", "\\\"}\"}"),
    ("json5", "camel", "{ NAME: '", "', }"),
    ("terraform", "snake", "  NAME = \"", "\"\n"),
    ("terraform variable", "snake", "variable \"NAME\" {\n  default = \"", "\"\n}\n"),
    ("tfvars", "snake", "NAME    = \"", "\"\n"),
    ("kotlin", "camel", "private val NAME = \"", "\"\n"),
    ("kotlin const", "screaming", "const val NAME: String = \"", "\"\n"),
    ("gradle", "camel", "ext.NAME = '", "'\n"),
    ("properties", "dotted", "NAME=", "\n"),
    ("properties", "dotted", "spring.datasource.NAME: ", "\n"),
    ("go", "camel", "NAME := \"", "\"\n"),
    ("go struct", "pascal", "Config{NAME: \"", "\"}\n"),
    ("go const", "camel", "const NAME string = \"", "\"\n"),
    ("go raw", "camel", "var NAME = `", "`\n"),
    ("php array", "snake", "'NAME' => '", "',\n"),
    ("php", "snake", "$NAME = '", "';\n"),
    ("php define", "screaming", "define('NAME', '", "');\n"),
    ("php member", "camel", "$this->NAME = \"", "\";\n"),
    ("python", "snake", "NAME = \"", "\"\n"),
    ("python keyword", "snake", "connect(host='h', NAME='", "')\n"),
    ("python dict", "snake", "settings['NAME'] = '", "'\n"),
    ("python environ", "screaming", "os.environ[\"NAME\"] = \"", "\"\n"),
    ("python setdefault", "screaming", "os.environ.setdefault('NAME', '", "')\n"),
    ("javascript", "camel", "const NAME = '", "';\n"),
    ("javascript member", "camel", "this.NAME = \"", "\";\n"),
    ("typescript", "camel", "  NAME: string = '", "';\n"),
    ("node env", "screaming", "process.env.NAME = '", "';\n"),
    ("node fallback", "screaming", "const x = process.env.NAME || '", "';\n"),
    ("rust", "screaming", "const NAME: &str = \"", "\";\n"),
    ("rust let", "snake", "let NAME = \"", "\".to_string();\n"),
    ("rust field", "snake", "    NAME: \"", "\".into(),\n"),
    ("java", "camel", "private static final String NAME = \"", "\";\n"),
    ("java property", "dotted", "System.setProperty(\"NAME\", \"", "\");\n"),
    ("csharp", "pascal", "public string NAME { get; set; } = \"", "\";\n"),
    ("ruby hash", "snake", "NAME: '", "',\n"),
    ("ruby hash", "snake", ":NAME => \"", "\",\n"),
    ("swift", "camel", "static let NAME = \"", "\"\n"),
    ("xml", "camel", "<NAME>", "</NAME>\n"),
    ("xml attribute", "camel", "<server NAME=\"", "\" port=\"1\"/>\n"),
    ("dockerfile", "screaming", "ENV NAME=", "\n"),
    ("flag", "kebab", "tool deploy --NAME ", " --force\n"),
    ("flag", "kebab", "tool deploy --NAME=", " --force\n"),
    ("query", "snake", "GET https://api.example.net/v1?page=2&NAME=", "&x=1\n"),
    ("powershell", "screaming", "$env:NAME = \"", "\"\n"),
];

/// Secrets drawn from a seed.
pub fn secrets(seed: u64, count: usize) -> Vec<Drawn> {
    let mut seeded = Seeded(seed);
    let mut all = Vec::new();
    while all.len() < count {
        all.push(match seeded.below(10) {
            0..6 => assigned(&mut seeded),
            6 | 7 => of_issuer(&mut seeded),
            _ => of_program(&mut seeded),
        });
    }
    all
}

fn assigned(seeded: &mut Seeded) -> Drawn {
    let all = [&ASSIGNMENTS[..], &MORE, &LAST].concat();
    let (form, style, before, after) = all[seeded.below(all.len())];
    let people = seeded.below(2) == 0;
    let words = name(seeded, if people { &PASSWORDS } else { &KEYS });
    let name = styled(&words, style);
    let secret = if people { password(seeded) } else { key(seeded) };
    Drawn { form, before: before.replace("NAME", &name), secret, after: after.replace("NAME", &name) }
}

fn of_issuer(seeded: &mut Seeded) -> Drawn {
    let (form, secret) = issued(seeded);
    let settings = [
        ("", "\n"),
        ("the answer was ", ".\n"),
        ("curl -H \"Authorization: Bearer ", "\" https://example.net/\n"),
        ("{\"x\": [\"", "\"]}"),
        ("2026-01-02T03:04:05Z INFO using ", " for deploy\n"),
        ("const client = new Client(\"", "\");\n"),
        ("- ", "\n- other\n"),
        ("line one\\n", "\\nline two"),
    ];
    // What nothing but its name gives away keeps it.
    let settings = if form == "azure ad" { [("AZURE_CLIENT_SECRET=", "\n"); 8] } else { settings };
    let (before, after) = settings[seeded.below(settings.len())];
    Drawn { form, before: before.into(), secret, after: after.into() }
}

fn of_program(seeded: &mut Seeded) -> Drawn {
    let chosen = loop {
        let chosen = password(seeded);
        // What an address must write otherwise.
        if !chosen.contains(['#', '?', '%', '+', '/', '*', '^']) {
            break chosen;
        }
    };
    let basic = format!("{}=", seeded.text(BASE64, 31));
    let pem =
        |seeded: &mut Seeded, lines: usize| (0..lines).map(|_| seeded.text(BASE64, 64)).collect::<Vec<_>>().join("\n");
    let with = |form, before: &str, secret: String, after: &str| Drawn {
        form,
        before: before.into(),
        secret,
        after: after.into(),
    };
    let scheme = seeded.one(&[
        "postgres",
        "postgresql+asyncpg",
        "mysql",
        "mongodb+srv",
        "redis",
        "rediss",
        "amqps",
        "mssql+pyodbc",
        "clickhouse",
        "nats",
        "ftp",
        "sftp",
        "smtps",
        "ldaps",
        "https",
        "cockroachdb",
        "influxdb",
        "svn+ssh",
        "kafka",
        "neo4j+s",
    ]);
    match seeded.below(36) {
        26 => with("sshpass", "sshpass -p ", chosen, " ssh me@host\n"),
        27 => with("mysql", "mysql -h db -u app -p", chosen, " app < dump.sql\n"),
        28 => with("redis-cli", "redis-cli -h cache -a ", chosen, " ping\n"),
        29 => with("ldap", "ldapsearch -x -D cn=admin -w ", chosen, " -b dc=x\n"),
        30 => with("git clone", "git clone https://ci:", chosen, "@git.example.net/app.git\n"),
        31 => with("sql", "ALTER USER app WITH PASSWORD '", chosen, "';\n"),
        32 => with("sql", "CREATE USER 'app'@'%' IDENTIFIED BY '", chosen, "';\n"),
        33 => with("docker login", "docker login -u me -p ", chosen, " registry.example.net\n"),
        34 => with("cookie", "Cookie: theme=dark; session_token=", seeded.text(BASE64_URL, 43), "\r\n"),
        35 => with("multipart", "Content-Disposition: form-data; name=\"api_key\"\r\n\r\n", key(seeded), "\r\n--x\r\n"),
        0 => with("curl -u", "curl -s -u deploy:", chosen, " https://api.example.net/\n"),
        1 => with("curl --user", "curl --user 'deploy:", chosen, "' https://api.example.net/\n"),
        2..5 => with("connection string", &format!("{scheme}://app:"), chosen, "@db.internal:5432/app?ssl=1\n"),
        5 => with("redis without user", "redis://:", chosen, "@cache:6379/0\n"),
        6 => with("ado.net", "Server=tcp:db,1433;Database=app;User ID=sa;Password=", chosen, ";Encrypt=True;\n"),
        7 => with("odbc", "DRIVER={x};SERVER=db;UID=sa;PWD=", chosen, ";\n"),
        8 => with("jdbc", "jdbc:postgresql://db:5432/app?user=app&password=", chosen, "&ssl=true\n"),
        9 => with("libpq", "host=db user=app password=", chosen, " dbname=app\n"),
        10 => {
            let kind = seeded.one(&["RSA ", "EC ", "OPENSSH ", ""]);
            let body = pem(seeded, 6);
            with(
                "pem",
                &format!("-----BEGIN {kind}PRIVATE KEY-----\n"),
                body,
                &format!("\n-----END {kind}PRIVATE KEY-----\n"),
            )
        }
        11 => with(".npmrc", "//registry.npmjs.org/:_authToken=", seeded.text(ALNUM, 36), "\n"),
        12 => with(".npmrc", "_auth=", basic, "\nregistry=https://r.example.net/\n"),
        13 => with(".npmrc", "//r.example.net/npm/:_password=\"", basic, "\"\n"),
        14 => with(".pypirc", "[pypi]\nusername = me\npassword = ", chosen, "\n\n[other]\n"),
        15 => with("docker config", "{\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"", basic, "\"}}}"),
        16 => with(
            "docker config",
            "\"registry.example.net\": {\n  \"identitytoken\": \"",
            seeded.text(BASE64_URL, 60),
            "\"\n}",
        ),
        17 => with("kubeconfig", "users:\n- name: me\n  user:\n    token: ", seeded.text(BASE64_URL, 64), "\n"),
        18 => with("kubeconfig", "    client-key-data: ", format!("{}==", seeded.text(BASE64, 400)), "\n"),
        19 => {
            let body = pem(seeded, 5).replace('\n', "\\n");
            let before = "{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n";
            with("service account", before, body, "\\n-----END PRIVATE KEY-----\\n\", \"client_email\": \"a@b\"}")
        }
        20 => with("service account id", "\"private_key_id\": \"", seeded.text(HEX, 40), "\",\n"),
        21 => with("netrc", "machine api.example.net login me password ", chosen, "\n"),
        22 => with("header", "X-Api-Key: ", key(seeded), "\r\nAccept: */*\r\n"),
        23 => with("basic", "Authorization: Basic ", basic, "\r\n"),
        24 => with("aws secret", "aws_secret_access_key = ", seeded.text(BASE64, 40), "\n"),
        _ => {
            let key = format!("{}==", seeded.text(BASE64, 86));
            with(
                "azure storage",
                "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
                key,
                ";EndpointSuffix=core\n",
            )
        }
    }
}
