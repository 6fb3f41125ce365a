//! The page in the browser, as `web/build.mjs` bundles it.

use crate::service::Service;
use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;

const INDEX: &str = include_str!("../../web/dist/index.html");
const SCRIPT: &str = include_str!("../../web/dist/app.js");
const STYLE: &str = include_str!("../../web/dist/app.css");

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

/// The files of the page. They hold nothing of the store.
pub fn files() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(|| file("text/html; charset=utf-8", INDEX)))
        .route("/app.js", get(|| file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/app.css", get(|| file("text/css; charset=utf-8", STYLE)))
}
