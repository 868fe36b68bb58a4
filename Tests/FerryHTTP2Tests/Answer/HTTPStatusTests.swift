import FerryHTTP2
import Testing

@Suite struct HTTPStatusTests {
    @Test(arguments: [200, 400, 403, 404, 405, 410, 413, 429, 500, 503])
    func `Every status of Apple's table has its meaning`(status: Int) {
        #expect(HTTPStatus(rawValue: status).meaning != nil)
        #expect(HTTPStatus.known.count == 10)
    }

    @Test func `A status beyond the table is kept and has no meaning`() {
        #expect(decodedStatus("418") == HTTPStatus(rawValue: 418))
        #expect(HTTPStatus(rawValue: 418).meaning == nil)
        #expect(HTTPStatus(rawValue: 418).description == "418")
    }

    @Test(arguments: [("100", 100), ("200", 200), ("999", 999)])
    func `Three digits are a status`(text: String, status: Int) {
        #expect(decodedStatus(text)?.rawValue == status)
    }

    @Test(arguments: ["", "2", "20", "2000", "099", "000", "20a", "-10", "+20", " 20", "２００"])
    func `any other text is not a status`(text: String) {
        #expect(decodedStatus(text) == nil)
    }

    private func decodedStatus(_ text: String) -> HTTPStatus? {
        withBytes(text) { HTTPStatus(digits: $0) }
    }
}
