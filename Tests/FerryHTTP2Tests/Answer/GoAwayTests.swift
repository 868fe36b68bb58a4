import FerryCore
import FerryHTTP2
import Testing

@Suite struct GoAwayTests {
    private func received(_ code: HTTP2ErrorCode, _ debugData: String) -> GoAway {
        withBytes(debugData) { GoAway(errorCode: code, debugData: $0) }
    }

    @Test func `The JSON of the debug data names the reason`() {
        let goAway = received(.noError, #"{"reason":"Shutdown"}"#)
        #expect(goAway.reason == .shutdown)
        #expect(goAway.description == "NO_ERROR, Shutdown")
    }

    @Test(arguments: ["", "bye", #"{"reason""#, "[]", "\u{0}"])
    func `Debug data of any other kind tells no reason`(debugData: String) {
        let goAway = received(.enhanceYourCalm, debugData)
        #expect(goAway.reason == nil)
        #expect(goAway.description == "ENHANCE_YOUR_CALM")
    }
}
