//! Comparing the page of a report with the export in it: both are in one file, and the page alone may have been changed.

use super::exports::ProvedExport;
use super::page::{GENERATOR, RANGE, ReportPage, VERSION};
use crate::error::CliError;
use annals_core::Seq;
use annals_import::TextFile;
use annals_inspect::report::ReportData;
use annals_inspect::verified::ComparedPage;
use std::io::Read;
use std::path::Path;

/// How the first line of an export begins, and no other line.
const HEADER: &[u8] = br#"{"ancestors":"#;

/// The longest export whose page is compared: what is packed into a report may be much longer than the report.
const EXPORT_MAX: u64 = 128 << 20;

/// Makes the page of a report whose export verifies again, and compares the bytes of the file.
pub async fn compare_page(path: &Path) -> Result<ComparedPage, CliError> {
    let at = |source| CliError::File { path: path.to_owned(), source };
    let html = std::fs::read(path).map_err(at)?;
    let made_by = content(&html, GENERATOR).unwrap_or_default();
    if made_by != format!("annals {VERSION}") {
        return Ok(ComparedPage::MadeBy(made_by));
    }
    let mut export = Vec::new();
    TextFile::open_export(path).map_err(at)?.take(EXPORT_MAX + 1).read_to_end(&mut export).map_err(at)?;
    if export.len() as u64 > EXPORT_MAX {
        return Ok(ComparedPage::TooLarge);
    }
    let Some(data) = shown(&html, &export, path).await? else { return Ok(ComparedPage::Differs) };
    let again = ReportPage { export: &export, data: &data }.to_html().map_err(at)?;
    Ok(if again == html { ComparedPage::Same } else { ComparedPage::Differs })
}

/// What a page of these exports shows; `None` where the range that it names is none.
async fn shown(html: &[u8], export: &[u8], path: &Path) -> Result<Option<ReportData>, CliError> {
    let range = content(html, RANGE);
    let ends = range.as_deref().and_then(|range| range.split_once(".."));
    let seqs = ends.and_then(|(from, until)| Some((Seq(from.parse().ok()?), Seq(until.parse().ok()?))));
    let (Some((from, until)), name) = (seqs, path.to_string_lossy()) else { return Ok(None) };
    let mut page: Option<ReportData> = None;
    for section in sections(export) {
        let proved = ProvedExport::read_back(section, &name).await?;
        let session = proved.reader.only().await?;
        let end = proved.reader.until(session, None).await?;
        let (from, until) = if page.is_none() { (from, until) } else { (Seq::ZERO, end) };
        if from >= until || until > end {
            return Ok(None);
        }
        let data = proved.reader.session_at(session, until).report(from, proved.verified).await?;
        match &mut page {
            None => page = Some(data),
            Some(page) => page.subagents.push(data),
        }
    }
    Ok(page)
}

/// The exports of a file, one after another.
fn sections(export: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in export.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(HEADER) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().copied().skip(1).chain([at]);
    starts.iter().zip(ends).filter_map(|(start, end)| export.get(*start..end)).collect()
}

/// The content of the first `meta` element that begins so.
fn content(html: &[u8], beginning: &str) -> Option<String> {
    let html = html.get(..html.len().min(4096))?;
    let html = String::from_utf8_lossy(html);
    let (_, rest) = html.split_once(beginning)?;
    Some(rest.split_once('"')?.0.to_owned())
}
