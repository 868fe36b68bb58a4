import FerryCore
import Testing

@Suite struct ProviderEventsTests {
    @Test func `Events come in the order in which they were sent, and the end after the last one`() async {
        let hub = EventHub()
        let events = hub.subscribe(bufferingNewest: 100)
        for number in 0..<50 { hub.send(.windowAdjusted(number)) }
        hub.finish()
        hub.send(.windowAdjusted(99))
        #expect(await Self.all(of: events) == (0..<50).map { "window \($0)" })
    }

    @Test func `Of too many events the oldest are dropped, and their number comes first`() async {
        let hub = EventHub()
        let events = hub.subscribe(bufferingNewest: 3)
        for number in 0..<10 { hub.send(.windowAdjusted(number)) }
        hub.finish()
        #expect(await Self.all(of: events) == ["dropped 7", "window 7", "window 8", "window 9"])
    }

    @Test func `The count of dropped events begins again once it was read`() async {
        let hub = EventHub()
        let events = hub.subscribe(bufferingNewest: 0)
        var iterator = events.makeAsyncIterator()
        for number in 0..<3 { hub.send(.windowAdjusted(number)) }
        #expect(Self.text(await iterator.next()) == "dropped 2")
        hub.send(.windowAdjusted(3))
        #expect(Self.text(await iterator.next()) == "dropped 1")
        #expect(Self.text(await iterator.next()) == "window 3")
    }

    @Test func `Nothing is lost without being counted`() async {
        var generator = SeededGenerator(seed: 5)
        let hub = EventHub()
        let events = hub.subscribe(bufferingNewest: 7)
        var iterator = events.makeAsyncIterator()
        var (sent, read, dropped, last) = (0, 0, 0, -1)
        for _ in 0..<2000 {
            if Bool.random(using: &generator) || sent == read + dropped {
                hub.send(.windowAdjusted(sent))
                sent += 1
            } else {
                switch await iterator.next() {
                case .windowAdjusted(let number):
                    #expect(number > last)
                    (read, last) = (read + 1, number)
                case .dropped(let count): dropped += count
                default: Issue.record("no such event was sent")
                }
            }
        }
        hub.finish()
        for text in await Self.all(of: events) {
            if text.hasPrefix("dropped ") { dropped += Int(text.dropFirst(8)) ?? 0 } else { read += 1 }
        }
        #expect(read + dropped == sent)
    }

    @Test func `Every subscription sees every event, whoever else reads`() async {
        let hub = EventHub()
        let subscriptions = (0..<50).map { _ in hub.subscribe(bufferingNewest: 10_000) }
        await withTaskGroup(of: [String].self) { group in
            for events in subscriptions {
                group.addTask { await Self.all(of: events) }
            }
            await withTaskGroup { senders in
                for sender in 0..<4 {
                    senders.addTask {
                        for number in 0..<250 { hub.send(.windowAdjusted(sender * 1000 + number)) }
                    }
                }
            }
            hub.finish()
            for await texts in group {
                #expect(texts.count == 1000)
                for sender in 0..<4 {
                    let mine = (0..<250).map { "window \(sender * 1000 + $0)" }
                    let known = Set(mine)
                    #expect(texts.filter(known.contains) == mine)
                }
            }
        }
    }

    @Test func `A cancelled reader ends, waiting or not`() async {
        let hub = EventHub()
        for _ in 0..<200 {
            let events = hub.subscribe(bufferingNewest: 1)
            let reader = Task { await Self.all(of: events) }
            await Task.yield()
            reader.cancel()
            #expect(await reader.value.isEmpty)
        }
    }

    @Test func `A cancelled reader does not end another one's wait`() async {
        for _ in 0..<200 {
            let hub = EventHub()
            let events = hub.subscribe(bufferingNewest: 1)
            let first = Task {
                var iterator = events.makeAsyncIterator()
                return Self.text(await iterator.next())
            }
            await Task.yield()
            let second = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                var iterator = events.makeAsyncIterator()
                return Self.text(await iterator.next())
            }
            #expect(await second.value == "end")
            hub.send(.windowAdjusted(1))
            #expect(await first.value == "window 1")
        }
    }

    @Test func `A subscription to a provider that has ended has ended`() async {
        let hub = EventHub()
        hub.finish()
        #expect(await Self.all(of: hub.subscribe(bufferingNewest: 1)).isEmpty)
    }

    @Test func `When a provider goes away its subscriptions end`() async {
        let events = {
            let hub = EventHub()
            let events = hub.subscribe(bufferingNewest: 2)
            hub.send(.completed)
            return events
        }()
        #expect(await Self.all(of: events) == ["completed"])
    }

    @Test func `A subscription that nobody holds any more is forgotten`() {
        let hub = EventHub()
        #expect(!hub.hasSubscribers)
        _ = hub.subscribe(bufferingNewest: 1)
        hub.send(.completed)
        #expect(!hub.hasSubscribers)
        let held = hub.subscribe(bufferingNewest: 1)
        hub.send(.completed)
        #expect(hub.hasSubscribers)
        withExtendedLifetime(held) {}
    }

    private static func all(of events: ProviderEvents) async -> [String] {
        var result: [String] = []
        for await event in events { result.append(self.text(event)) }
        return result
    }

    private static func text(_ event: ProviderEvent?) -> String {
        switch event {
        case .windowAdjusted(let number): "window \(number)"
        case .dropped(let count): "dropped \(count)"
        case .completed: "completed"
        case nil: "end"
        default: "other"
        }
    }
}
