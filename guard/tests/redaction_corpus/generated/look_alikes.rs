//! What looks like a secret and is none.

use super::Seeded;
use super::values::{BASE64, HEX, KEYS, LOWER, PASSWORDS, UPPER, name, styled, uuid};

/// Form and text; `HASH`, `SHA`, `UUID`, `B64`, `WORD` and `NAME`, `Name`, `name`, `na-me` are drawn.
const TEXTS: [&str; 66] = [
    "commit HASH\nAuthor: A <a@b>\n",
    "HEAD is now at SHORT Fix the parser\n",
    "index SHORT..SHORT 100644\n",
    "sha256:SHA256 nginx:latest\n",
    "\"integrity\": \"sha512-B6486==\",\n",
    "checksum = \"SHA256\"\n",
    "id: UUID\n",
    "{\"id\": \"UUID\", \"name\": \"x\"}\n",
    "request_id=UUID status=200\n",
    "trace_id=MD5 span_id=HEX16\n",
    "ETag: \"MD5\"\n",
    "https://example.net/assets/app.HEX16.js\n",
    "NAME=\n",
    "NAME=your-WORD-here\n",
    "NAME=<WORD>\n",
    "NAME=${NAME}\n",
    "NAME=$NAME ./run.sh\n",
    "NAME=changeme\n",
    "NAME=********\n",
    "name: ${NAME}\n",
    "name: {{ .Values.name }}\n",
    "name: !vault secret/data/app\n",
    "na-me: example\n",
    "name: xxxxxxxxxxxxxxxx\n",
    "name = os.environ[\"NAME\"]\n",
    "name = os.getenv('NAME')\n",
    "name = settings.name\n",
    "name = read_secret(\"app/name\")\n",
    "const name = process.env.NAME;\n",
    "const name = await getName(user);\n",
    "name: string;\n",
    "name?: string | null;\n",
    "pub name: Option<String>,\n",
    "let name = String::new();\n",
    "fn check(name: &str) -> bool {\n",
    "name := os.Getenv(\"NAME\")\n",
    "private String name;\n",
    "val name: String? = null\n",
    "name = var.name\n",
    "name = data.vault.app.name\n",
    "valueFrom:\n  secretKeyRef:\n    name: app\n    key: na-me\n",
    "env:\n  NAME: ${{ secrets.NAME }}\n",
    "$name = $_POST['name'];\n",
    "if name == other_name { return }\n",
    "name is required\n",
    "# Set NAME before you run this\n",
    "assert name is not None\n",
    "\"name\": null,\n",
    "\"name\": {\"type\": \"string\", \"minLength\": 8}\n",
    "<input type=\"password\" name=\"name\">\n",
    "error: invalid name\n",
    "--na-me <VALUE>  The WORD to use\n",
    "postgres://user:password@localhost/app\n",
    "postgres://$USER:$PASS@db/app\n",
    "mysql://app:${NAME}@db/app\n",
    "Authorization: Bearer $NAME\n",
    "curl -u \"$USER:$NAME\" https://example.net\n",
    "max_tokens=4096 total_tokens=12345\n",
    "next_page_token: B6424\n",
    "public_key = \"B6443=\"\n",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB6443 me@host\n",
    "-----BEGIN CERTIFICATE-----\nB6464\n-----END CERTIFICATE-----\n",
    "image: registry.example.net/app@sha256:SHA256\n",
    "git checkout HASH -- name.rs\n",
    "key: UPPERID\n",
    "{\"event\": \"HEX24\", \"object\": \"file-LOWER24\"}\n",
];

/// Texts that must stay, drawn from a seed.
pub fn look_alikes(seed: u64, count: usize) -> Vec<String> {
    let mut seeded = Seeded(seed ^ 0x5555);
    (0..count).map(|at| drawn(&mut seeded, TEXTS[at % TEXTS.len()])).collect()
}

fn drawn(seeded: &mut Seeded, text: &str) -> String {
    let words = if seeded.below(2) == 0 { name(seeded, &PASSWORDS) } else { name(seeded, &KEYS) };
    let mut text = text.to_owned();
    let mut put = |mark: &str, value: String| text = text.replace(mark, &value);
    put("SHA256", seeded.text(HEX, 64));
    put("HASH", seeded.text(HEX, 40));
    put("SHORT", seeded.text(HEX, 7));
    put("MD5", seeded.text(HEX, 32));
    put("HEX16", seeded.text(HEX, 16));
    put("HEX24", seeded.text(HEX, 24));
    put("UUID", uuid(seeded));
    for length in [86, 64, 43, 24] {
        put(&format!("B64{length}"), seeded.text(BASE64, length));
    }
    put("UPPERID", seeded.text(UPPER, 12));
    put("LOWER24", seeded.text(LOWER, 24));
    put("WORD", seeded.one(&["token", "password", "secret", "key"]).to_owned());
    put("na-me", styled(&words, "kebab"));
    put("NAME", styled(&words, "screaming"));
    put("Name", styled(&words, "pascal"));
    put("name", styled(&words, "snake"));
    text
}
