@testable import FerryTesting
import NIOCore

/// The property: the simulated gateway takes any bytes in any pieces, and its counts do not depend on the pieces.
func fuzzGatewayBytes(_ input: inout FuzzInput) {
    let piece = Int(input.byte()) + 1
    let bytes = Array(input.rest)
    let rules = GatewayRules(GatewayScript())
    var whole = SimulatedGatewayMachine(rules: rules), pieces = SimulatedGatewayMachine(rules: rules)
    _ = whole.received(ByteBuffer(bytes: bytes), at: .zero)
    var place = 0
    while place < bytes.count {
        let end = min(place + piece, bytes.count)
        _ = pieces.received(ByteBuffer(bytes: bytes[place..<end]), at: .zero)
        place = end
    }
    require(whole.counts.accepted == pieces.counts.accepted)
    require(whole.counts.refused == pieces.counts.refused)
}
