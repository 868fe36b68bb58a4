import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

/// The rows of the table of error responses.
@Suite struct RejectionTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 77, 128, 255] as [UInt8])
    func `a status of an issued identifier confirms what came before and returns what follows`(status: UInt8) {
        let scenario = Scenario()
        scenario.open(1...5)
        let first = scenario.current
        scenario.submit(6...8)
        scenario.respond(status, to: 3)
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .confirmed, .rejected(status), nil, nil])
        #expect(scenario.closed == [first])
        // The reconnect does not wait.
        #expect(scenario.dials.count == 1)
        scenario.connect(within: .zero)
        #expect(scenario.send() == [4, 5, 6, 7, 8])
        scenario.pass(.seconds(2))
        #expect(scenario.all(4...8, are: .presumed))
        #expect(scenario.resent == 2)
        #expect(scenario.contradicted == 0)
    }

    @Test func `status 10 names the last that was accepted`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.respond(10, to: 3)
        #expect(scenario.all(1...3, are: .confirmed))
        #expect(scenario.closed.count == 1)
        scenario.connect(within: .zero)
        #expect(scenario.send() == [4, 5])
        let isError = scenario.events.contains { if case .transmissionError = $0 { true } else { false } }
        #expect(!isError)
    }

    @Test(arguments: [0, 99] as [UInt32])
    func `status 10 without a place leaves the position unknown and blames nobody`(identifier: UInt32) {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.respond(10, identifier: identifier)
        #expect(scenario.outcomes.isEmpty)
        #expect(scenario.dials.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.respond(10, identifier: identifier)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.seconds(20))
        #expect(scenario[1] == .presumed)
    }

    @Test func `status 10 without a place on a settled connection is nothing to do`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.pass(.seconds(2))
        scenario.respond(10, identifier: 0)
        #expect(scenario.queued == 0)
        #expect(scenario.dials.isEmpty)
        #expect(scenario.contradicted == 0)
    }

    @Test func `status 0 confirms and the connection goes on`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.respond(0, to: 3)
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .confirmed, .confirmed, nil, nil])
        #expect(scenario.closed.isEmpty)
        scenario.respond(0, identifier: 0)
        scenario.respond(0, identifier: 99)
        #expect(scenario.closed.isEmpty)
        scenario.respond(8, to: 5)
        #expect(scenario.outcomes(of: 4...5) == [.confirmed, .rejected(8)])
    }

    @Test func `a second response and what comes behind it is ignored`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.receive(Scenario.response(8, 3) + Scenario.response(8, 1) + [9, 9])
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .confirmed, .rejected(8), nil, nil])
        #expect(scenario.errors.isEmpty)
        #expect(scenario.contradicted == 0)
    }

    @Test func `a response is read however it is split, and counts before the end of the stream`() {
        for split in 1...5 {
            let scenario = Scenario()
            scenario.open(1...5)
            let response = Scenario.response(8, 3)
            scenario.receive(Array(response.prefix(split)))
            #expect(scenario.outcomes.isEmpty)
            scenario.receive(Array(response.dropFirst(split)))
            #expect(scenario[3] == .rejected(8))
        }
    }

    @Test func `a truncated response is a close without a word, and blames nobody`() {
        for length in 1...5 {
            let scenario = Scenario()
            scenario.open(1...1)
            scenario.receive(Array(Scenario.response(8, 1).prefix(length)))
            scenario.end()
            #expect(scenario[1] == nil)
            scenario.connect()
            #expect(scenario.send() == [1])
        }
    }

    @Test(arguments: [1, 255] as [UInt8], [0, 99] as [UInt32])
    func `status 1 or 255 without a name is the gateway's own trouble, and blames nobody`(
        status: UInt8,
        identifier: UInt32
    ) {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.respond(status, identifier: identifier)
        #expect(scenario[1] == nil)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.seconds(2))
        #expect(scenario[1] == .presumed)
    }

    @Test func `the first byte is not 8, and three in a row hold the queue and raise an error`() {
        let scenario = Scenario { $0.backOff = .milliseconds(100) ... .seconds(30) }
        scenario.open(1...3)
        for round in 1...3 {
            scenario.receive(Array("220 mail".utf8))
            #expect(scenario.outcomes.isEmpty)
            #expect(scenario.dials.isEmpty)
            #expect(scenario.errors.count == (round == 3 ? 1 : 0))
            if round < 3 {
                scenario.connect()
                #expect(scenario.send() == [1, 2, 3])
            }
        }
        #expect(scenario.errors.first?.code == .protocolViolation)
        scenario.pass(.seconds(20))
        #expect(scenario.dials.isEmpty)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(20))
        #expect(scenario.all(1...3, are: .presumed))
    }

    @Test(
        arguments: [
            (Array("HTTP/1.1 400 Bad Request\r\n".utf8), ForeignProtocol.http1),
            ([0, 0, 0, 4, 0, 0, 0, 0, 0], .http2),
            ([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1], .http2),
            // Too few bytes, an acknowledgement, a length that SETTINGS never have, another frame.
            ([0, 0, 6, 4, 0, 0, 0, 0], nil), ([0, 0, 0, 4, 1, 0, 0, 0, 0], nil), ([0, 0, 5, 4, 0, 0, 0, 0, 0], nil),
            ([0, 0, 8, 7, 0, 0, 0, 0, 0], nil), (Array("HTTP/".utf8), nil),
            // A feedback tuple. Then one of 1970, one with a short token, and one that is cut off.
            ([0x5e, 0, 0, 0, 0, 32] + [UInt8](repeating: 7, count: 32), .feedback),
            ([0, 0, 0, 9, 0, 32] + [UInt8](repeating: 7, count: 32), nil),
            ([0x5e, 0, 0, 0, 0, 31] + [UInt8](repeating: 7, count: 31), nil),
            ([0x5e, 0, 0, 0, 0, 32] + [UInt8](repeating: 7, count: 31), nil),
        ] as [([UInt8], ForeignProtocol?)]
    )
    func `a peer that speaks HTTP or feedback is named as the cause`(bytes: [UInt8], foreign: ForeignProtocol?) {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.receive(bytes)
        let errors = scenario.events.compactMap { event -> ProviderError? in
            if case .socketError(_, let error) = event { error } else { nil }
        }
        #expect(errors.map(\.code) == [.protocolViolation])
        #expect(errors.first?.cause as? ForeignProtocol == foreign)
        #expect(errors.first?.message.contains(foreign.map { "it speaks \($0)." } ?? "it began with byte") == true)
        // Such a peer takes no notification and never will. Of other bytes nobody knows what they mean.
        #expect(scenario[1] == (foreign == nil ? nil : .undelivered(.noConnection)))
        #expect(scenario.errors.map(\.code) == (foreign == nil ? [] : [.protocolViolation]))
    }

    @Test func `bytes of HTTP from a gateway that worked are an end like others`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.respond(8, to: 2)
        #expect(scenario[1] == .confirmed)
        scenario.submit(3...4)
        scenario.connect()
        #expect(scenario.send() == [3, 4])
        scenario.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8))
        #expect(scenario.errors.isEmpty)
        #expect(scenario[3] == nil)
        scenario.connect()
        #expect(scenario.send() == [3, 4])
    }

    @Test func `with retriesLastingErrors a peer that speaks HTTP is tried again`() {
        let scenario = Scenario { $0.retriesLastingErrors = true }
        scenario.open(1...1)
        scenario.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8))
        #expect(scenario.outcomes.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [1])
    }

    @Test func `three violations in a row are counted anew after progress`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        for _ in 0..<2 {
            scenario.connect()
            scenario.send()
            scenario.receive([0])
        }
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(11))
        #expect(scenario[1] == .presumed)
        scenario.submit(2...2)
        scenario.send()
        scenario.receive([0])
        #expect(scenario.errors.isEmpty)
    }

    @Test(arguments: [0, 99, 1] as [UInt32])
    func `a flood of status 0 that confirms nothing ends the connection, and three raise an error`(
        identifier: UInt32
    ) {
        let scenario = Scenario()
        scenario.open(1...3)
        let flood = Array(repeating: Scenario.response(0, identifier), count: 1100).flatMap { $0 }
        for _ in 0..<3 {
            scenario.receive(flood)
            #expect(scenario.isDisconnected)
            if scenario.errors.isEmpty, scenario.queued > 0 {
                scenario.connect()
                scenario.send()
            }
        }
        // Identifier 1 confirms one notification each time. That is progress.
        guard identifier != 1 else { return #expect(scenario.errors.isEmpty) }
        #expect(scenario.errors.map(\.code) == [.protocolViolation])
        #expect(scenario.errors.first?.message.contains("responses with status 0 that confirm nothing") == true)
    }

    @Test func `status 0 for each notification is no flood`() {
        let scenario = Scenario()
        scenario.open(1...5000)
        for name in 1...5000 as ClosedRange<UInt32> { scenario.respond(0, to: name) }
        #expect(scenario.all(1...5000, are: .confirmed))
        #expect(!scenario.isDisconnected)
    }

    // MARK: Messages for a person

    @Test(
        arguments: [
            ([], "The peer closed the last one without a word."),
            ([8, 10, 0, 0, 0, 0], "The peer ended the last one with status 10 and identifier 0"),
            ([8, 255, 0, 0, 0, 0], "The peer ended the last one with status 255 and identifier 0"),
            ([8, 8, 0], "The peer ended the last one in the middle of an error response."),
            ([9], "it began with byte 9 where an error response begins with 8."),
        ] as [([UInt8], String)]
    )
    func `a queue that is given up says what the peer did last`(bytes: [UInt8], sentence: String) {
        let scenario = Scenario { $0.connectionRetryLimit = 1 }
        scenario.submit(1...2)
        for _ in 0..<2 {
            scenario.connect()
            scenario.send()
            scenario.receive(bytes)
            if !scenario.isDisconnected { scenario.end() }
        }
        let error = scenario.errors.first { $0.code == .connectionRetryLimit }
        #expect(error?.message.contains(sentence) == true, "\(error?.message ?? "no error")")
        #expect((error?.cause is WordlessEnd) == bytes.isEmpty)
    }

    // MARK: Retries

    @Test(arguments: [1, 255] as [UInt8])
    func `retryLimit sends the named one again that often, then rejects it`(status: UInt8) {
        let scenario = Scenario { $0.retryLimit = 2 }
        scenario.open(1...3)
        for _ in 0..<2 {
            scenario.respond(status, to: 2)
            #expect(scenario[2] == nil)
            scenario.connect()
            #expect(scenario.send() == [2, 3])
        }
        scenario.respond(status, to: 2)
        #expect(scenario[2] == .rejected(status))
        scenario.connect()
        #expect(scenario.send() == [3])
    }

    @Test func `other statuses are not retried, and followers are not charged`() {
        let scenario = Scenario { $0.retryLimit = 1 }
        scenario.open(1...3)
        for _ in 0..<5 {
            scenario.respond(1, to: 1)
            guard scenario[1] == nil else { break }
            scenario.connect()
            scenario.send()
        }
        #expect(scenario[1] == .rejected(1))
        scenario.connect()
        scenario.send()
        scenario.respond(1, to: 2)
        #expect(scenario[2] == nil)
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 2)
        #expect(scenario[2] == .rejected(8))
    }

    // MARK: Without buffering

    @Test func `without buffering followers end as discarded and queued ones go on`() {
        let scenario = Scenario {
            $0.buffersNotifications = false
            $0.autoAdjustCache = false
            $0.cacheLength = 5
        }
        scenario.open(1...8)
        scenario.respond(8, to: 3)
        #expect(scenario.all(4...5, are: .undelivered(.discarded)))
        scenario.connect()
        #expect(scenario.send() == [6, 7, 8])
    }

    @Test func `without buffering a tainted follower ends as uncertain`() {
        let scenario = Scenario { $0.buffersNotifications = false }
        scenario.open(1...3)
        scenario.reset()
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 1)
        #expect(scenario.all(2...3, are: .uncertain(.notRepeated)))
    }

    // MARK: Order

    @Test func `followers of parts of one batch keep the order of submission among other batches`() {
        let scenario = Scenario()
        var batch = PushBatch()
        func append(_ names: ClosedRange<UInt32>) throws {
            let notification = try PushNotification(json: Array("{}".utf8))
            for name in names {
                try batch.append(
                    notification,
                    to: .device(DeviceToken(Scenario.token(name))),
                    tag: UInt64(name),
                    fields: BatchEntry.Fields()
                )
            }
        }
        #expect(throws: Never.self) { try append(1...4) }
        scenario.submit(batch.takeFirst(2))
        scenario.submit(10...11)
        scenario.submit(batch.takeFirst(2))
        scenario.connect()
        #expect(scenario.send() == [1, 2, 10, 11, 3, 4])
        scenario.respond(8, to: 1)
        scenario.connect()
        #expect(scenario.send() == [2, 10, 11, 3, 4])
    }

    @Test func `connections that fail together merge by the order of submission`() {
        let scenario = Scenario { $0.maxConnections = 2 }
        scenario.submit(1...40)
        let first = scenario.connect()
        let second = scenario.connect()
        let before = scenario.send(on: first)
        let after = scenario.send(on: second)
        #expect(Set(before + after) == Set(1...40))
        scenario.end(on: first)
        scenario.end(on: second)
        let third = scenario.connect()
        let fourth = scenario.connect()
        let copies = [scenario.send(on: third), scenario.send(on: fourth)]
        #expect(copies.allSatisfy { $0 == $0.sorted() })
        #expect(Set(copies.flatMap { $0 }) == Set(1...40))
    }

    @Test func `what comes behind an error response is ignored and counted`() {
        let scenario = Scenario()
        scenario.open(1...5)
        let id = scenario.current
        scenario.receive(Scenario.response(8, 2) + Scenario.response(8, 4) + [8, 1])
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .rejected(8), nil, nil, nil])
        #expect(scenario.client.outcomes.strayBytes == 8)
        scenario.receive([1, 2, 3], on: id)
        #expect(scenario.client.outcomes.strayBytes == 11)
    }
}
