//! The HTML of a report.
//!
//! No text of the log is in the markup: the data and the export are base64, so nothing in them can end an element. The
//! policy allows the one script and the one style sheet by their hashes, and no request at all.

use annals_import::{EXPORT_LINE, REPORT_BEGINNING};
use annals_inspect::report::ReportData;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// The page, as `web/build.mjs` bundles it.
const SCRIPT: &str = include_str!("../../../../web/dist/app.js");
const STYLE: &str = include_str!("../../../../web/dist/app.css");

/// The version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How the element begins that names the program which made a report.
pub(super) const GENERATOR: &str = "<meta name=\"generator\" content=\"";
/// How the element begins that names the events which a report shows: the first one, and the first that it does not show.
pub(super) const RANGE: &str = "<meta name=\"annals-events\" content=\"";

/// What goes into a report.
pub(super) struct ReportPage<'a> {
    pub export: &'a [u8],
    pub data: &'a ReportData,
}

impl ReportPage<'_> {
    /// The whole file.
    pub fn to_html(&self) -> io::Result<Vec<u8>> {
        let mut data = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut data, self.data)?;
        let mut export = GzEncoder::new(Vec::new(), Compression::default());
        export.write_all(self.export)?;
        let (data, export) = (STANDARD.encode(data.finish()?), STANDARD.encode(export.finish()?));
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        let (from, until) = (self.data.from, self.data.session.head.seq);
        let ids = "<script type=\"application/octet-stream\" id=\"annals-data\">";
        let html = format!(
            "{REPORT_BEGINNING}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             {GENERATOR}annals {VERSION}\">\n{RANGE}{from}..{until}\">\n<title>Annals report</title>\n</head>\n<body>\n\
             {EXPORT_LINE}{export}\n</script>\n{ids}\n{data}\n</script>\n<style>{STYLE}</style>\n<div id=\"app\"></div>\n\
             <noscript>This report shows a session with a script that it contains. Enable JavaScript for it, or use the annals \
             command: annals replay FILE</noscript>\n<script type=\"module\">{SCRIPT}</script>\n</body>\n</html>\n"
        );
        Ok(html.into_bytes())
    }
}

/// A source of a Content-Security-Policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_and_the_style_end_where_they_are_meant_to() {
        for (text, end) in [(SCRIPT, "</script"), (SCRIPT, "<!--"), (STYLE, "</style"), (STYLE, "<!--")] {
            assert!(!text.to_ascii_lowercase().contains(end), "{end} in web/dist");
        }
        assert!(!SCRIPT.contains('\r') && !STYLE.contains('\r'), "a parser would change the hash");
    }
}
