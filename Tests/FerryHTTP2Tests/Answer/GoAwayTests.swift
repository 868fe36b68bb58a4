import FerryCore
import FerryHTTP2
import Testing

@Suite struct GoAwayTests {
    private func received(_ code: HTTP2ErrorCode, _ debugData: String, last: Int32 = 7) -> GoAway {
        withBytes(debugData) { GoAway(lastStreamID: last, errorCode: code, debugData: $0) }
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

    @Test func `Only streams above the last were not processed`() {
        let goAway = received(.noError, "")
        #expect(!goAway.excludes(streamID: 5))
        #expect(!goAway.excludes(streamID: 7))
        #expect(goAway.excludes(streamID: 9))
    }

    @Test func `Every error code of RFC 9113 has its name, any other is kept`() {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
            "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        #expect((0..<14).map { HTTP2ErrorCode(rawValue: $0).description } == names)
        #expect(HTTP2ErrorCode.known.map(\.code.rawValue) == Array(0..<14))
        #expect(HTTP2ErrorCode(rawValue: 14).name == nil)
        #expect(HTTP2ErrorCode(rawValue: 14).meaning == nil)
        #expect(HTTP2ErrorCode(rawValue: .max).description == "error code 0xffffffff")
    }
}
