import FerryServer
import Testing

@testable import FerryGateway

@Suite struct GatewayRoomTests {
    @Test(arguments: [1, 100, 256, 1024, 65_536, 1_048_576], [false, true])
    func `both listeners together leave a reserve`(descriptors: Int, hasFeedback: Bool) {
        let room = GatewayRoom(
            upstreams: 2,
            hasFeedback: hasFeedback,
            loops: 4,
            in: DescriptorLimit(descriptors: descriptors)
        )
        #expect(room.clients >= 1)
        #expect((room.readers > 0) == hasFeedback)
        let reserve = DescriptorLimit.reserve + 2 * GatewayRoom.upstream + 4 * 3
        if descriptors >= 256 { #expect(room.clients + room.readers + reserve <= descriptors) }
    }
}
