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

    @Test(arguments: [1, 1024, 65_536], [2, 8])
    func `the gateways of a process share its descriptors, and each may still begin`(descriptors: Int, gateways: Int) {
        let limit = DescriptorLimit(descriptors: descriptors)
        let room = GatewayRoom(upstreams: 2, hasFeedback: true, gateways: gateways, loops: 4, in: limit)
        #expect(room.clients >= 1)
        let own = gateways * (2 * GatewayRoom.upstream + 6)
        let reserve = DescriptorLimit.reserve + own + 4 * 3
        if descriptors >= 1024 { #expect(gateways * room.clients + room.readers + reserve <= descriptors) }
        let needed = GatewayRoom.needed(upstreams: 2, gateways: gateways)
        #expect(needed == DescriptorLimit.reserve + own + gateways * GatewayRoom.fewest)
    }
}
