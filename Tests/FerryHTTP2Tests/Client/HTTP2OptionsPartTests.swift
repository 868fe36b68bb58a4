import FerryHTTP2
import FerryMachine
import Testing

struct HTTP2OptionsPartTests {
    @Test func `one loop has all options as they are, and a client that delays nothing delays nothing on any loop`() {
        var options = HTTP2Options()
        options.delayLimit = 0
        options.maxConnections = 4
        #expect(options.part(LoopPart(0, of: 1)).delayLimit == 0)
        #expect(options.part(LoopPart(0, of: 1)).maxConnections == 4)
        #expect(options.part(LoopPart(1, of: 2)).delayLimit == 0)
        #expect(options.part(LoopPart(1, of: 2)).maxConnections == 2)
    }
}
