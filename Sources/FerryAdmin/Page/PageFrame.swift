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
    ///   - title: of the window.
    ///   - main: the HTML of the page's body.
    package func answer(title: String, level: Condition.Level, _ main: String) -> AdminAnswer {
        let page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(HTML.escaped(title))</title>
            <link rel="icon" href="data:,">
            <style>\(self.style)</style>
            </head>
            <body data-level="\(level.rawValue)">
            \(main)
            <script>\(self.script)</script>
            </body>
            </html>

            """
        var answer = AdminAnswer(contentType: Self.contentType, body: Array(page.utf8))
        answer.headers = [("Content-Security-Policy", self.contentSecurityPolicy)]
        return answer
    }
}
