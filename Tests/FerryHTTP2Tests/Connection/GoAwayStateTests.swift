import FerryCore
import Testing

@testable import FerryHTTP2

@Suite struct GoAwayStateTests {
    private var state = GoAwayState()

    private mutating func came(_ errorCode: HTTP2ErrorCode, _ debugData: String = "") -> GoAwayState.Action {
        self.state.came(
            Array(debugData.utf8).withUnsafeBufferPointer {
                GoAway(errorCode: errorCode, debugData: $0)
            }
        )
    }

    @Test mutating func `an ordinary end is not told`() {
        let action = self.came(.noError)
        #expect(action == .nothing)
    }

    @Test mutating func `an end for a reason is told`() {
        let actions = [self.came(.noError, #"{"reason":"Shutdown"}"#), self.came(.internalError)]
        #expect(actions == [.report, .report])
    }

    @Test mutating func `however often a peer asks for calm, the next connection waits once`() {
        let actions = [self.came(.enhanceYourCalm), self.came(.enhanceYourCalm)]
        #expect(actions == [.reportAndWait, .report])
    }
}
