import FerryHTTP1
import NIOHTTP1
import Testing

@testable import FerryAppStore

@Suite struct ForwardingAnswerTests {
    private static let url = "https://app.example/hook/s3cret"

    @Test(
        arguments: [
            (
                301, "https://www.app.example/hook/s3cret", true,
                "redirects to https://www.app.example, which is not followed"
            ),
            (308, "http://app.example/hook/s3cret", true, "redirects to http://app.example, which"),
            (307, "//other.example:8443/a", true, "redirects to https://other.example:8443, which"),
            (302, "/login?next=s3cret", true, "redirects to another path there, which"),
            (302, "login", true, "redirects to another path there, which"),
            (302, "https://app.example/login#a", true, "redirects to another path there, which"),
            (301, "https://app.example/hook/s3cret/", true, "the same URL with or without the slash at its end, which"),
            (303, "https://a b/", true, "redirects to a place that cannot be read, which"),
            (301, nil, true, "redirects to no place (it has no Location), which"),
            (
                403, nil, true,
                "answered 403 and refuses what is forwarded: look at the secret that it checks the signature with"
            ),
            (403, nil, false, "answered 403 and refuses what is forwarded: look at a login, a check of CSRF tokens"),
            (401, nil, true, "answered 401 and refuses"), (500, nil, true, "https://app.example answered 500"),
            (304, nil, true, "https://app.example answered 304"),
        ] as [(Int, String?, Bool, String)]
    )
    func `the sentence about a failed answer says what to do, and shows neither path nor query`(
        status: Int,
        location: String?,
        isSigned: Bool,
        words: String
    ) throws {
        let headers: HTTPHeaders = if let location { ["Location": location] } else { [:] }
        let response = HTTPClientResponse(status: status, headers: headers)
        let sentence = ForwardingAnswer(response, of: try HTTPURL(Self.url), isSigned: isSigned).sentence
        #expect(sentence.hasPrefix("https://app.example answered \(status)"), "\(sentence)")
        #expect(sentence.contains(words), "\(sentence)")
        #expect(!sentence.contains("s3cret"), "\(sentence)")
    }
}
