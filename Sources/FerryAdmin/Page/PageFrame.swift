internal import FerryOpenSSL
internal import FerryPlatform

/// A page for people: one HTML document with its style and its script, and nothing from elsewhere.
///
/// The document is complete without its script. With it, the page asks `/status` every second, and writes each value into
/// the element whose `data-b` names it: `path|form`, where the path goes through the members of the status.
package struct PageFrame: Sendable {
    package static let contentType = "text/html; charset=utf-8"

    /// Only the style and the script of this page count, known by their digests, and only this service may be asked. A text
    /// that got into the page as code would do nothing.
    package let contentSecurityPolicy: String
    private let style: String
    private let script: String

    package init() {
        self.style = PageStyle.text
        self.script = PageScript.text
        func digest(_ text: String) -> String {
            "'sha256-\(Data(SHA256.hash(Array(text.utf8))).base64EncodedString())'"
        }
        self.contentSecurityPolicy = [
            "default-src 'none'", "style-src \(digest(self.style))", "script-src \(digest(self.script))",
            "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    /// - Parameters:
    ///   - service: the name of the program: `Ferry gateway`.
    ///   - version: of Ferry.
    ///   - now: UNIX seconds.
    ///   - sections: the HTML below the head. One of them has the element `figures`.
    package func answer(
        _ service: String,
        version: String,
        _ condition: Condition,
        now: Int,
        _ sections: [String]
    ) -> AdminAnswer {
        let page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(condition.level.title): \(HTML.escaped(service))</title>
            <link rel="icon" href="data:,">
            <style>\(self.style)</style>
            </head>
            <body data-level="\(condition.level.rawValue)">
            <a class="skip" href="#figures">To the figures</a>
            <header>
            <p>\(HTML.escaped(service)) \(HTML.escaped(version))</p>
            <h1 role="status" \(PagePiece.bound("condition.sentence|s", condition.sentence))</h1>
            <p><span id="live">As of</span> \(PagePiece.clock("now", now))</p>
            </header>
            <main>
            \(sections.joined(separator: "\n"))
            </main>
            <script>\(self.script)</script>
            </body>
            </html>

            """
        var answer = AdminAnswer(contentType: Self.contentType, body: Array(page.utf8))
        answer.headers = [("Content-Security-Policy", self.contentSecurityPolicy)]
        return answer
    }
}
