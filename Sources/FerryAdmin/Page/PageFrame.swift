internal import FerryOpenSSL
internal import FerryPlatform

/// A page for people: one HTML document with its style and its script. It loads nothing from elsewhere.
///
/// The document is complete without its script. With the script, the page asks `/status` every second, and writes each
/// value into the element whose `data-b` names it: `path|form`, where the path goes through the members of the status.
/// Sections that may come and go have a key, `aria-labelledby`. By this key, the script finds them in the next
/// document.
package enum PageFrame {
    private static let contentType = "text/html; charset=utf-8"

    /// The browser accepts only the style and the script with these digests, and connects to this service only. So code
    /// that came into the page with a text does not run.
    private static let contentSecurityPolicy = [
        "default-src 'none'", "style-src \(Self.digest(PageStyle.text))", "script-src \(Self.digest(PageScript.text))",
        "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static func digest(_ text: String) -> String {
        "'sha256-\(Data(SHA256.hash(Array(text.utf8))).base64EncodedString())'"
    }

    /// - Parameters:
    ///   - service: the name of the program: `Ferry gateway`.
    ///   - sections: the HTML of the server's own figures. One of them has the element `figures`.
    package static func answer(_ service: String, _ status: some ServerStatus, _ sections: [String]) -> AdminAnswer {
        let condition = status.condition
        let below = [PagePiece.certificates(status.certificates, now: status.now), PagePiece.alarms(status.alarms)]
        let page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(condition.level.title): \(HTML.escaped(service))</title>
            <link rel="icon" href="data:,">
            <style>\(PageStyle.text)</style>
            </head>
            <body data-level="\(condition.level.rawValue)">
            <a class="skip" href="#figures">To the figures</a>
            <header>
            <p>\(HTML.escaped(service)) \(HTML.escaped(status.ferry)) · \
            <b id="level" role="status">\(condition.level.title)</b></p>
            <h1 \(PagePiece.bound("condition.sentence|s", condition.sentence))</h1>
            <p><span id="live">As of</span> \(PagePiece.clock("now", status.now))</p>
            </header>
            <main>
            \(([PagePiece.troubles(status.troubles)] + sections + below).joined(separator: "\n"))
            </main>
            <script>\(PageScript.text)</script>
            </body>
            </html>

            """
        var answer = AdminAnswer(contentType: Self.contentType, body: Array(page.utf8))
        answer.headers = [("Content-Security-Policy", self.contentSecurityPolicy)]
        return answer
    }
}
