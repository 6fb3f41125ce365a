//! Pages of a server on this machine.

use super::bench::{Bench, Tested, rule, structured};
use annals_core::event::Effect;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers by path; returns its port.
async fn server(other: Option<u16>) -> std::io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 4096];
            let length = stream.read(&mut asked).await.unwrap_or_default();
            let asked = String::from_utf8_lossy(&asked[..length]).into_owned();
            let path = asked.split(' ').nth(1).unwrap_or_default().to_owned();
            let (head, body) = match path.as_str() {
                "/page" => {
                    ("200 OK\r\nContent-Type: text/html; charset=utf-8".into(), "<h1>Hi</h1><p>There".to_owned())
                }
                "/here" => ("302 Found\r\nLocation: /page".to_owned(), String::new()),
                "/there" => {
                    (format!("302 Found\r\nLocation: http://127.0.0.1:{}/page", other.unwrap_or(port)), String::new())
                }
                "/file" => ("302 Found\r\nLocation: file:///etc/passwd".to_owned(), String::new()),
                "/round" => ("302 Found\r\nLocation: /round".to_owned(), String::new()),
                "/png" => ("200 OK\r\nContent-Type: image/png".to_owned(), "x".to_owned()),
                "/big" => ("200 OK\r\nContent-Type: text/plain".to_owned(), "x".repeat(6 << 20)),
                _ => ("404 Not Found\r\nContent-Type: text/plain".to_owned(), "no such page".to_owned()),
            };
            let answer =
                format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            // A client that has enough closes the connection.
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    Ok(port)
}

#[tokio::test]
async fn a_page_is_given_as_text_and_what_is_none_is_named() -> Tested {
    let bench = Bench::new()?;
    let port = server(None).await?;
    let said =
        async |path: &str| bench.said("webfetch", json!({"url": format!("http://127.0.0.1:{port}/{path}")})).await;
    assert_eq!(said("page").await, "# Hi\n\nThere");
    assert_eq!(said("here").await, "# Hi\n\nThere");
    assert_eq!(
        said("nothing").await,
        format!("http://127.0.0.1:{port}/nothing answered with status 404.\nno such page")
    );
    assert_eq!(said("png").await, format!("http://127.0.0.1:{port}/png is image/png (1 bytes), not text."));
    assert_eq!(said("file").await, "only http and https are fetched, not file");
    assert_eq!(said("round").await, format!("http://127.0.0.1:{port}/round redirects more than 5 times."));
    let output = bench.call("webfetch", json!({"url": format!("http://127.0.0.1:{port}/big")})).await?;
    assert_eq!(
        (structured(&output)["cut"].as_bool(), structured(&output)["bytes"].as_u64()),
        (Some(true), Some(5 << 20))
    );
    Ok(())
}

#[tokio::test]
async fn a_private_address_needs_its_own_permission_and_so_does_where_a_redirect_leads() -> Tested {
    let mut bench = Bench::new()?;
    let other = server(None).await?;
    let port = server(Some(other)).await?;
    let url = |host: &str, path: &str| json!({"url": format!("http://{host}:{port}/{path}")});
    assert_eq!(
        bench.demands("webfetch", url("127.0.0.1", "page")),
        [format!("private_address 127.0.0.1:{port}"), format!("webfetch 127.0.0.1:{port}")]
    );
    assert_eq!(bench.demands("webfetch", json!({"url": "https://docs.rs/x"})), ["webfetch docs.rs"]);
    bench.rules = vec![rule("webfetch", "*", Effect::Allow)];
    let said = bench.said("webfetch", url("127.0.0.1", "there")).await;
    assert_eq!(
        said,
        format!(
            "127.0.0.1:{other} is a private address, for which there is no permission: the rule [\"private_address\", \
             \"127.0.0.1:{other}\", \"allow\"] gives it."
        )
    );
    bench.rules.clear();
    let said = bench.said("webfetch", url("127.0.0.1", "there")).await;
    let wanted = format!("127.0.0.1:{port} redirects to http://127.0.0.1:{other}/page: call again with that address.");
    assert_eq!(said, wanted);
    Ok(())
}
