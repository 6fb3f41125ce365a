//! `annals models`: which models can be used, and what is missing for the others.

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, pad, plain, wrap};
use crate::style::{Emphasis, counted, money, thousands};
use annals_config::{Config, Places};
use annals_core::event::Prices;
use annals_guard::redaction::Redactor;
use annals_providers::catalog::{CatalogModel, CatalogProvider, PriceList};
use annals_providers::http::KeySource;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The indentation of the lines below a name.
const BELOW: &str = "      ";

/// List the models that can be used, with limits and prices.
///
/// For a provider without a key, shows which variable to set. To add models and providers, edit the configuration
/// (see annals config).
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only models whose name or title contains WORD.
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Include models whose provider has no key.
    #[arg(long)]
    all: bool,
    /// Replace the prices by those in FILE: model_prices_and_context_window.json of LiteLLM, or api.json of models.dev.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["word", "all"])]
    update: Option<PathBuf>,
}

pub fn run(args: &Args, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    if let Some(file) = &args.update {
        return update(file, cli, out);
    }
    let config = cli.environment.config(&cli.environment.directory)?;
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let fits = |model: &CatalogModel| {
        model.model.as_str().to_lowercase().contains(&word) || model.name.to_lowercase().contains(&word)
    };
    let listed: Vec<CatalogModel> = config.catalog.models().filter(fits).collect();
    if cli.style.json {
        json::list(out, listed.iter().map(|model| in_json(model, &config)))?;
        return Ok(Verdict::bad_if(listed.is_empty()));
    }
    let providers: Vec<CatalogProvider> = config.catalog.providers().collect();
    let usable = |provider: &CatalogProvider| config.has_key(&provider.id);
    let of = |provider: &CatalogProvider| {
        listed.iter().filter(|model| model.provider == provider.id).cloned().collect::<Vec<_>>()
    };
    let selected = config.default_model(&config.default_agent());
    let mut priced = false;
    for provider in providers.iter().filter(|provider| args.all || usable(provider)) {
        let models = of(provider);
        let named = provider.open && provider.id.contains(&word);
        if models.is_empty() && !named {
            continue;
        }
        let missing = if usable(provider) { String::new() } else { format!("  {}", wanting(provider, &config)) };
        let title = cli.style.paint(Emphasis::Strong, &plain(&provider.name));
        writeln!(out, "{title}{}", cli.style.paint(Emphasis::Warn, &missing))?;
        if models.is_empty() {
            let at = provider.base_url.as_deref().unwrap_or("an unknown address");
            let at = Redactor::default().redact(at).text.into_owned();
            let line = plain(&format!("  {}/NAME  any model of the server at {at}", provider.id));
            writeln!(out, "{}", cli.style.paint(Emphasis::Dim, &cli.fitted(&line)))?;
        }
        let width = models.iter().map(|model| columns(model.model.as_str())).max().unwrap_or(0);
        for model in &models {
            let mark = if Some(&model.model) == selected.as_ref() { "*" } else { " " };
            let (name, about) = (plain(model.model.as_str()), plain(&about(model)));
            priced |= model.prices.is_some();
            // One line, or what there is to say below the name.
            if 4 + width + columns(&about) <= cli.style.width {
                writeln!(out, "{mark} {}  {}", pad(&name, width), cli.style.paint(Emphasis::Dim, &about))?;
                continue;
            }
            writeln!(out, "{mark} {name}")?;
            for line in wrap(&about, cli.style.width.saturating_sub(BELOW.len())) {
                writeln!(out, "{BELOW}{}", cli.style.paint(Emphasis::Dim, &line))?;
            }
        }
    }
    if priced {
        let prices = format!("Prices are in dollars per million tokens, as of {}.", config.catalog.price_date());
        writeln!(out, "{}", cli.style.paint(Emphasis::Dim, &prices))?;
    }
    let mut rest: Vec<String> = Vec::new();
    for provider in providers.iter().filter(|provider| !args.all && !usable(provider)) {
        let count = of(provider).len();
        if count > 0 {
            rest.push(format!("  {:<12} {count:>3}  {}", plain(&provider.name), wanting(provider, &config)));
        }
    }
    if !rest.is_empty() {
        writeln!(out, "{}", cli.style.paint(Emphasis::Strong, "No key set (--all lists their models)"))?;
        for line in rest {
            writeln!(out, "{}", cli.fitted(&line))?;
        }
    }
    let has_none = listed.is_empty() && !providers.iter().any(|provider| provider.open && provider.id.contains(&word));
    if has_none {
        cli.remark(&plain(&format!("no model matches \"{word}\"; all of them: annals models --all")));
    }
    Ok(Verdict::bad_if(has_none))
}

/// Stores the prices of a list in the user's folder.
fn update(file: &Path, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let file = cli.environment.directory.join(file);
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source: io::Error| CliError::File { path, source }
    };
    let text = fs::read_to_string(&file).map_err(failed(&file))?;
    let (day, name) = (cli.style.exact(cli.style.now), file.file_name().unwrap_or_default().to_string_lossy());
    let list = PriceList::parse(&text, day.chars().take(10).collect(), name.into_owned());
    let list = list.map_err(|error| failed(&file)(io::Error::other(error)))?;
    let path = Places::of(&cli.environment.variables)?.prices();
    let json = serde_json::to_string_pretty(&list).map_err(|error| failed(&path)(error.into()))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    // Whole or not at all: a reader sees the former list until it is there.
    let unfinished = path.with_extension("json.tmp");
    fs::write(&unfinished, json).and_then(|()| fs::rename(&unfinished, &path)).map_err(failed(&path))?;
    let count = counted(list.models.len() as u64, "model");
    if cli.style.json {
        json::object(out, &json!({"models": list.models.len(), "date": list.date, "file": path}))?;
    } else {
        cli.remark(&format!("prices of {count} stored in {}", path.display()));
    }
    Ok(Verdict::Fine)
}

/// What to set for a provider.
fn wanting(provider: &CatalogProvider, config: &Config) -> String {
    match config.key(&provider.id) {
        Some(KeySource::Env(name)) => format!("set {name}"),
        Some(KeySource::Command(_)) | None => String::new(),
    }
}

fn about(model: &CatalogModel) -> String {
    let limit = |tokens: u64, what: &str| match tokens {
        0 => format!("{what} unknown"),
        tokens => format!("{what} {}", thousands(tokens)),
    };
    let price = match model.prices {
        Some(Prices { input, output, .. }) => format!("{} in, {} out", money(input), money(output)),
        None => "price unknown".to_owned(),
    };
    let route = match &model.route {
        Ok(_) => String::new(),
        Err(error) => format!("; cannot be used: {error}"),
    };
    format!("{}, {price}{route}", limit(model.context, "context"))
}

fn in_json(model: &CatalogModel, config: &Config) -> Value {
    let prices = model.prices.map(|prices| {
        json!({"input": prices.input, "output": prices.output, "cache_read": prices.cache_read,
               "cache_write": prices.cache_write})
    });
    let route = model.route.as_ref();
    json!({
        "model": model.model, "name": model.name, "context": model.context, "output": model.output,
        "nano_dollars_per_million": prices, "media": model.media, "reasoning": model.reasoning, "tools": model.tools,
        "protocol": route.ok().map(|route| route.protocol.as_str()),
        "base_url": route.ok().map(|route| Redactor::default().redact(&route.base_url).text.into_owned()),
        "unusable": route.err().map(ToString::to_string),
        "key": match config.key(&model.provider) {
            Some(KeySource::Env(name)) => json!({"variable": name}),
            Some(KeySource::Command(_)) => json!({"command": true}),
            None => Value::Null,
        },
        "usable": config.has_key(&model.provider) && route.is_ok(),
    })
}
