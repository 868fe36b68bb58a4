import FerryCore
import FerryTesting
import Testing

@Suite struct FakeProviderTests {
    private static func device(_ number: UInt8) throws -> DeviceToken { try DeviceToken([number]) }

    private static func batch(_ count: UInt8) throws -> PushBatch {
        var batch = PushBatch()
        for number in 0..<count {
            let notification = try PushNotification(json: #"{"n":\#(number)}"#.utf8, topic: "a.b", collapseID: "c")
            try batch.append(notification, to: self.device(number), tag: PushTag(UInt64(number)))
        }
        return batch
    }

    private static let refusal = Outcome.rejected(Rejection(reason: .unregistered, origin: .apns, status: 410))

    @Test func `a batch is read as it was made`() throws {
        var batch = try Self.batch(2)
        // The macros of the tests cannot hold a batch, which is not copyable.
        let (first, left) = (batch.popFirst(), batch.count)
        let (second, third) = (batch.popFirst(), batch.popFirst())
        #expect(try first?.device == Self.device(0))
        #expect(try first?.notification == PushNotification(json: #"{"n":0}"#.utf8, topic: "a.b", collapseID: "c"))
        #expect(first?.tag == 0 && second?.tag == 1 && third == nil)
        #expect(left == 1)
    }

    @Test func `each notification has the outcome of the answer, once`() async throws {
        let gone = try Self.device(1)
        let provider = FakeProvider(topic: "a.b", outcomes: .stream) {
            $1 == gone ? Self.refusal : .accepted(.confirmed)
        }
        var batch = try Self.batch(3)
        try await provider.submit(&batch)
        let isEmpty = batch.isEmpty
        #expect(isEmpty)
        #expect(try await provider.send(PushNotification(json: "{}".utf8), to: gone) == Self.refusal)
        let report = await provider.shutDown(within: .zero)
        #expect(report.outcomes.accepted == 2 && report.outcomes.rejected == 2)
        var outcomes: [OutcomeRecord] = []
        for await record in provider.outcomes { outcomes.append(record) }
        #expect(outcomes.map(\.tag) == [0, 1, 2])
        #expect(outcomes.map(\.outcome) == [.accepted(.confirmed), Self.refusal, .accepted(.confirmed)])
        #expect(provider.submissions.map(\.tag) == [0, 1, 2, 0])
    }

    @Test
    func `a notification that production refuses before sending is refused in the same words, and no answer is made`()
        async throws
    {
        let provider = FakeProvider { _, _ in
            Issue.record("asked")
            return .accepted(.confirmed)
        }
        let notifications = [
            try PushNotification(json: "{}".utf8),
            try PushNotification(json: "{}".utf8, topic: "com.example.app", pushType: .voip),
            try PushNotification(
                json: "{}".utf8,
                topic: "com.example.app",
                pushType: .background,
                priority: .immediate
            ),
            try PushNotification(json: "{\"x\":\"\(String(repeating: "x", count: 4096))\"}".utf8, topic: "a.b"),
        ]
        var reasons: [Reason?] = []
        for notification in notifications {
            let outcome = try await provider.send(notification, to: Self.device(1))
            guard case .rejected(let rejection) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            reasons.append(rejection.reason)
            #expect(rejection.origin == .ferry)
            #expect(rejection.details?.isEmpty == false)
        }
        #expect(reasons == [.missingTopic, .badTopic, .badPriority, .payloadTooLarge])
        // The bundle ID gets the suffix of the push type, and is the topic of what names none.
        let own = FakeProvider(topic: "com.example.app")
        for notification in notifications.prefix(2) {
            #expect(try await own.send(notification, to: Self.device(1)) == .accepted(.confirmed))
        }
        #expect(provider.counts.rejected == 4 && own.counts.accepted == 2)
    }

    @Test func `events are those of the test, and an error becomes the last`() async throws {
        let provider = FakeProvider()
        let events = provider.events(bufferingNewest: 10)
        let error = ProviderError(.connectFailed, "No connection.")
        provider.report(.connected(ConnectionID(1), open: 1))
        provider.report(.error(error))
        _ = await provider.shutDown(within: .zero)
        var count = 0
        for await _ in events { count += 1 }
        #expect(count == 2)
        #expect(provider.lastError == error)
        #expect(await provider.drain(within: .zero).lastError == error)
    }

    @Test func `after a shutdown no notification is taken`() async throws {
        let provider = FakeProvider()
        _ = await provider.shutDown(within: .zero)
        var batch = try Self.batch(2)
        var error: SubmitError?
        do throws(SubmitError) { try await provider.submit(&batch) } catch let fault { error = fault }
        let left = batch.count
        #expect(left == 2 && error == .shutDown)
        await #expect(throws: SubmitError.shutDown) {
            try await provider.send(PushNotification(json: "{}".utf8), to: Self.device(1))
        }
        #expect(provider.submissions.isEmpty)
    }
}
