@testable import FerryGateway
import NIOCore
import Testing

@testable import FerryShards

@Suite struct ShardKeeperTests {
    @Test func `the owner has stopped before another process can begin`() {
        let rules = ShardRules.standard
        #expect(rules.right < rules.idle && rules.right < rules.grace)
        #expect(rules.beat < rules.right && rules.deadline <= rules.right)
    }
}
