internal import FerryCore
internal import FerryTesting
internal import NIOCore
internal import Testing

struct SimulatedGatewayMachineTests {
    static let linger = GatewayScript().linger

    static func machine(_ script: GatewayScript, recorder: (any GatewayRecorder)? = nil) -> SimulatedGatewayMachine {
        SimulatedGatewayMachine(rules: GatewayRules(script), recorder: recorder)
    }

    @Test func `the machine finds the same notifications wherever the stream is cut`() {
        let stream = frames(1...3) + [0, 0, 1, 0xaa, 0, 2, 0x7b, 0x7d] + frames(4...5)
        var pieces = (0...stream.count).map { [stream[..<$0], stream[$0...]] }
        pieces.append(stream.indices.map { stream[$0...$0] })
        for cut in pieces {
            let recorder = GatewayMemoryRecorder()
            var machine = Self.machine(GatewayScript(rules: [.reject([device(5)])]), recorder: recorder)
            var actions: [GatewayAction] = []
            for piece in cut {
                actions += machine.received(ByteBuffer(bytes: piece), at: .zero)
            }
            #expect(recorder.notifications.map(\.accepted.identifier) == [1, 2, 3, nil, 4])
            #expect(recorder.notifications.map(\.accepted.place) == [1, 2, 3, 4, 5])
            #expect(actions == [.write(response(8, 5)), .closeOutput, .wake(at: Self.linger)])
        }
    }

    @Test func `the machine discards notifications while its response is on the way, and afterwards`() {
        var script = GatewayScript(rules: [.reject([device(1)])])
        script.errorDelay = .seconds(1)
        var machine = Self.machine(script)
        #expect(machine.opened(at: .zero).isEmpty)
        #expect(machine.received(ByteBuffer(bytes: frames(1...2)), at: .seconds(5)) == [.wake(at: .seconds(6))])
        #expect(machine.received(ByteBuffer(bytes: frames(3...3)), at: .seconds(5.5)).isEmpty)
        #expect(machine.timePassed(at: .seconds(5.9)).isEmpty)
        let until = Duration.seconds(6) + Self.linger
        let spoken = machine.timePassed(at: .seconds(6))
        #expect(spoken == [.write(response(8, 1)), .closeOutput, .wake(at: until)])
        #expect(machine.received(ByteBuffer(bytes: frames(4...4)), at: .seconds(7)).isEmpty)
        #expect(machine.timePassed(at: until) == [.close])
        #expect(machine.timePassed(at: until + .seconds(1)).isEmpty)
        #expect(machine.counts.accepted == 0)
        #expect(machine.counts.refused == 1)
        #expect(machine.counts.discardedBytes == 3 * frames(1...1).count)
    }

    @Test func `the machine still answers a client that has only ended its side`() {
        var script = GatewayScript(rules: [.reject([device(1)])])
        script.errorDelay = .seconds(1)
        var machine = Self.machine(script)
        _ = machine.received(ByteBuffer(bytes: frames(1...1)), at: .zero)
        #expect(machine.inputClosed().isEmpty)
        #expect(machine.timePassed(at: .seconds(1)) == [.write(response(8, 1)), .close])
    }

    @Test func `the machine closes when the client has ended, even inside a notification`() {
        var machine = Self.machine(GatewayScript())
        #expect(machine.received(ByteBuffer(bytes: frames(1...1).dropLast()), at: .zero).isEmpty)
        #expect(machine.inputClosed() == [.close])
        #expect(machine.inputClosed().isEmpty)
    }

    @Test func `the machine goes on after status 0, in the order of the delays`() {
        let rules = [
            GatewayRule(at: 1, status: 0, delay: .seconds(3)), GatewayRule(at: 2, status: 0, delay: .seconds(1)),
            GatewayRule(at: 3, status: 0),
        ]
        var machine = Self.machine(GatewayScript(rules: rules))
        let actions = machine.received(ByteBuffer(bytes: frames(1...4)), at: .zero)
        #expect(actions == [.wake(at: .seconds(3)), .wake(at: .seconds(1)), .write(response(0, 3))])
        #expect(machine.timePassed(at: .seconds(1)) == [.write(response(0, 2))])
        #expect(machine.timePassed(at: .seconds(3)) == [.write(response(0, 1))])
        #expect(machine.counts.accepted == 4)
    }

    @Test func `a rule is applied as often over all connections as it says`() {
        let rules = GatewayRules(
            GatewayScript(rules: [GatewayRule(at: 1, times: 2, action: .close), .end(by: .reset, after: 1, times: 1)])
        )
        var endings: [[GatewayAction]] = []
        for connection in 1...4 {
            var machine = SimulatedGatewayMachine(rules: rules, connection: connection)
            endings.append(machine.received(ByteBuffer(bytes: frames(1...2)), at: .zero))
        }
        let close: [GatewayAction] = [.closeOutput, .wake(at: Self.linger)]
        #expect(endings == [close, close, [.reset], []])
    }

    @Test func `several rules follow each other on one connection`() {
        let rules = [GatewayRule(after: 1, status: 0), GatewayRule(after: 3, status: 0), .shutDown(after: 4)]
        var machine = Self.machine(GatewayScript(rules: rules))
        let actions = machine.received(ByteBuffer(bytes: frames(1...9)), at: .zero)
        #expect(
            actions == [
                .write(response(0, 1)), .write(response(0, 3)), .write(response(10, 4)), .closeOutput,
                .wake(at: Self.linger),
            ]
        )
    }

    @Test func `a rule may end a connection before its first notification`() {
        var machine = Self.machine(GatewayScript(rules: [.shutDown(after: 0)]))
        #expect(machine.opened(at: .zero) == [.write(response(10, 0)), .closeOutput, .wake(at: Self.linger)])
    }

    @Test func `a rule needs all its conditions`() {
        let rule = GatewayRule(tokens: [device(2), device(3)], prefix: [0xab], at: 3)
        var machine = Self.machine(GatewayScript(rules: [rule]))
        let actions = machine.received(ByteBuffer(bytes: frames(1...4)), at: .zero)
        #expect(actions.first == .write(response(8, 3)))
        #expect(machine.counts.accepted == 2)
    }

    @Test func `a notification of command 0 has no identifier and is never named`() {
        var machine = Self.machine(GatewayScript(rules: [GatewayRule(at: 1)]))
        let actions = machine.received(ByteBuffer(bytes: [0, 0, 1, 0xaa, 0, 2, 0x7b, 0x7d]), at: .zero)
        #expect(actions == [.closeOutput, .wake(at: Self.linger)])
    }

    @Test func `random bytes never trap the machine`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var machine = Self.machine(GatewayScript(rules: [.reject([device(1)]), .shutDown(after: 2)]))
            for _ in 0..<4 {
                var bytes = (0..<Int.random(in: 0...60)).map { _ in UInt8.random(in: 0...255, using: &generator) }
                if Bool.random() { bytes = frames(1...3).prefix(.random(in: 0...150)) + bytes }
                _ = machine.received(ByteBuffer(bytes: bytes), at: .zero)
            }
            _ = machine.inputClosed()
            _ = machine.timePassed(at: .seconds(9))
        }
    }
}
