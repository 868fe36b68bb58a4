import FerryCore
import Testing

@Suite struct HTTP2ErrorCodeTests {
    @Test func `every error code of RFC 9113 has its name and number`() {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
            "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        #expect((0..<14).map { HTTP2ErrorCode(rawValue: $0).name } == names)
        #expect(HTTP2ErrorCode.known.map(\.code.rawValue) == Array(0..<14))
        #expect("\(HTTP2ErrorCode.internalError)" == "INTERNAL_ERROR (2)")
    }

    @Test func `a code that the RFC does not have is kept, and shown as its number`() {
        #expect(HTTP2ErrorCode(rawValue: 14).name == nil)
        #expect(HTTP2ErrorCode(rawValue: 14).meaning == nil)
        #expect("\(HTTP2ErrorCode(rawValue: .max))" == "error code 4294967295")
    }
}
