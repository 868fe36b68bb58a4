@testable import FerryMachine
@testable import FerryTesting
import NIOCore

/// The first bytes of a client: the preface, and SETTINGS without an entry.
private let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

private let rules: HTTP2Rules = {
    var script = HTTP2Script(rules: [.goAway(every: 3, lastStream: .current), HTTP2Rule(at: 2, status: 410)])
    script.requiresToken = false
    return HTTP2Rules(script)
}()

/// The property: the simulated APNs takes any frames in any pieces. Its counts depend on the pieces, because a request
/// that the client cancels in the same piece is not judged.
func fuzzAPNsBytes(_ input: inout FuzzInput) {
    let piece = Int(input.byte()) + 1
    let bytes = opening + Array(input.rest)
    for piece in [bytes.count, piece] {
        guard let counts = counts(bytes, piece: piece) else { return }
        // A request has at least the nine bytes of a frame header.
        require((counts.accepted + counts.rejected + counts.unanswered) * 9 <= bytes.count)
        require(counts.violations <= 1)
    }
}

private func counts(_ bytes: [UInt8], piece: Int) -> APNsMachine.Counts? {
    let now = Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 1_700_000_000)
    guard var machine = try? APNsMachine(rules: rules) else { return nil }
    var place = 0
    while place < bytes.count {
        let end = min(place + piece, bytes.count)
        _ = machine.received(ByteBuffer(bytes: bytes[place..<end]), at: now)
        place = end
    }
    var answers = ByteBuffer()
    while machine.write(into: &answers, atMost: 1 << 16) {}
    return machine.counts
}
