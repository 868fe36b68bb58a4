import Ferry
import InMemoryTracing
import Testing
import Tracing

/// Tests of the spans of `send` and `submit`, with either protocol.
@Suite(.timeLimit(.minutes(10)))
struct ProviderSpansTests {
    private static func notification() throws -> PushNotification {
        try PushNotification(json: #"{"aps":{"alert":"secret"}}"#.utf8, topic: "com.example.ferry")
    }

    private static func text(_ span: FinishedInMemorySpan, _ key: String) -> String? {
        if case .string(let text) = span.attributes.get(key) { text } else { nil }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a send is a span until its outcome, and a refusal is its error`(tested: TestedProtocol) async throws {
        let tracer = InMemoryTracer()
        try await tested.run(TestedProtocol.Trouble(bad: [7]), tracer: tracer) { run in
            let notification = try Self.notification()
            #expect(try await run.provider.send(notification, to: Harness.device(1)).isAccepted)
            #expect(try await run.provider.send(notification, to: Harness.device(7)).isRejected)
            let spans = tracer.finishedSpans
            #expect(spans.map(\.operationName) == ["send com.example.ferry", "send com.example.ferry"])
            for span in spans {
                #expect(span.kind == .client)
                #expect(Self.text(span, "messaging.system") == "apns")
                #expect(Self.text(span, "messaging.operation.name") == "send")
                #expect(Self.text(span, "messaging.operation.type") == "send")
                #expect(Self.text(span, "messaging.destination.name") == "com.example.ferry")
                #expect(!"\(span)".contains("secret"))
                let shown = "\(span)"
                #expect(try [1, 7].allSatisfy { !shown.contains(try Harness.device($0).hex) })
            }
            #expect(Self.text(spans[0], "ferry.outcome") == "accepted")
            #expect(spans[0].status == nil)
            #expect(Self.text(spans[1], "ferry.outcome") == "rejected")
            #expect(Self.text(spans[1], "error.type") == "BadDeviceToken")
            #expect(spans[1].status?.code == .error)
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
        }
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a span belongs to the caller's span`(tested: TestedProtocol) async throws {
        let tracer = InMemoryTracer()
        try await tested.run(tracer: tracer) { run in
            try await tracer.withSpan("request") { _ in
                _ = try await run.provider.send(Self.notification(), to: Harness.device(1))
            }
            let parent = try #require(tracer.finishedSpans.first { $0.operationName == "request" })
            let child = try #require(tracer.finishedSpans.first { $0.operationName.hasPrefix("send") })
            #expect(child.parentSpanID == parent.spanID)
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a submit is a span with the size of its batch, and an error once the provider was shut down`(
        tested: TestedProtocol
    ) async throws {
        let tracer = InMemoryTracer()
        try await tested.run(tracer: tracer) { run in
            var batch = PushBatch()
            for number in 0..<10 {
                try batch.append(Self.notification(), to: Harness.device(number), tag: PushTag(UInt64(number)))
            }
            try await run.provider.submit(&batch)
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            try batch.append(Self.notification(), to: Harness.device(10), tag: 10)
            do {
                try await run.provider.submit(&batch)
                Issue.record("the provider was shut down")
            } catch {
                #expect(error as? SubmitError == .shutDown)
            }
            await #expect(throws: SubmitError.shutDown) {
                try await run.provider.send(Self.notification(), to: Harness.device(1))
            }
        }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["submit", "submit", "send com.example.ferry"])
        #expect(spans[0].status == nil)
        #expect(spans[0].attributes.get("messaging.batch.message_count") == .int64(10))
        #expect(spans.dropFirst().allSatisfy { Self.text($0, "error.type") == "shutDown" })
        #expect(tracer.activeSpans.isEmpty)
    }
}
