import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway
@testable import FerryGatewayTestSupport

extension ShardWorld: ProgramWorld {
    static let startSeconds: UInt32 = 1_700_000_000

    var epochSeconds: UInt32 {
        Self.startSeconds + UInt32((self.now - Self.start).nanoseconds / 1_000_000_000)
    }

    /// The balancer chooses the shard by the source address.
    func connect(_ path: Wire.Path, _ address: [UInt8], _ listener: @escaping (Wire.Word) -> Void) -> Wire? {
        let gateway = self.listener(of: Int(address.last ?? 0) % self.shards) as? MachineGateway
        guard let gateway, let wire = gateway.connect(path, address, listener) else { return nil }
        self.gateways[ObjectIdentifier(wire)] = (wire, gateway)
        return wire
    }

    func read(_ frames: [Frame], from wire: Wire) { self.gateways[ObjectIdentifier(wire)]?.gateway.read(frames, wire) }
    func ended(_ wire: Wire) { self.gateways[ObjectIdentifier(wire)]?.gateway.ended(wire) }
    func isForgotten(_ wire: Wire) -> Bool { false }

    func written(_ push: Push, _ copy: Copy?) { self.account.written(push, copy) }
    func killed(_ push: Push) { self.account.killed(push) }
    func raced(_ push: Push) { self.account.killed(push) }
    func blamed(_ push: Push) { self.account.blamed(push) }
    func waited(_ time: TimeAmount) {}
    func allowCopy(of name: UInt32) { self.account.fail("\(name) is sent again long after its error response") }

    func note(_ name: UInt32, _ words: @autoclosure () -> String) {
        if self.tracesAll { self.note("\(name) \(words())") }
    }

    func noteAll(_ words: @autoclosure () -> String) { if self.tracesAll { self.note(words()) } }

    // MARK: Bytes

    func records(_ segment: StoredSegment, in shard: Int) -> [ModelRecord] {
        self.rules.hasMachine ? self.account.machineRecords(segment, in: shard) : ModelRecord.records(segment.bytes)
    }

    func name(ofRejection change: StoreChange) -> Int? {
        self.rules.hasMachine ? MachineGateway.name(ofRejection: change) : ModelRecord.name(ofRejection: change)
    }
}

extension OldProgram.Manner {
    /// Programs to which all promises of the gateway apply.
    static let ofShards: [OldProgram.Manner] = [
        .init(name: "it sends again after an error response"),
        .repeating,
        .init(name: "it never sends again", reaction: .nothing),
        .init(name: "it has two connections", connections: 2),
    ]

    static let repeating = OldProgram.Manner(name: "it repeats its last pushes after an end", repeatsAfterEnd: 10)
}
