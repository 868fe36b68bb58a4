import Testing

@testable import FerryHTTP2

@Suite("HTTP statuses")
struct HTTPStatusTests {
    @Test("Status 200 is success")
    func success() {
        #expect(HTTPStatus(rawValue: 200) == .ok)
    }
}
