import Testing

@testable import FerryGateway

@Suite struct TokenTopicsTests {
    private static func key(_ number: UInt8) -> TokenTopics.Key { TokenTopics.Key(identity: 0, token: [number]) }

    @Test func `the oldest token makes room`() {
        var topics = TokenTopics(limit: 3)
        for number in UInt8(1)...5 { topics.remember(1, for: Self.key(number)) }
        #expect((UInt8(1)...5).map { topics[Self.key($0)] } == [nil, nil, 1, 1, 1])
    }

    @Test func `a token whose topic changes takes no more room`() {
        var topics = TokenTopics(limit: 2)
        topics.remember(1, for: Self.key(0))
        for topic in 1...100 { topics.remember(topic % 3, for: Self.key(1)) }
        #expect(topics[Self.key(0)] == 1)
        #expect(topics[Self.key(1)] == 1)
    }
}
