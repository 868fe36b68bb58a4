import FerryCore
import FerryMachine
import NIOCore

/// A world of old programs: virtual time, gateways behind a network, and an account of each push.
protocol ProgramWorld: AnyObject {
    var now: NIODeadline { get }
    /// The clock of the programs, in UNIX seconds.
    var epochSeconds: UInt32 { get }
    var generator: SplitMix64 { get set }
    func at(_ time: NIODeadline, _ body: @escaping () -> Void)

    /// Connects a program; returns nil if no gateway accepts connections.
    func connect(_ path: Wire.Path, _ address: [UInt8], _ listener: @escaping (Wire.Word) -> Void) -> Wire?
    /// Gives frames that have arrived to the gateway.
    func read(_ frames: [Frame], from wire: Wire)
    /// Tells the gateway that no more frames come.
    func ended(_ wire: Wire)
    /// Whether the connection was told so long ago that the gateway need not know the copies any more.
    func isForgotten(_ wire: Wire) -> Bool

    /// Notes that a program wrote a push.
    func written(_ push: Push, _ copy: Copy?)
    /// Notes that a push was destroyed, because its gateway's process had ended.
    func killed(_ push: Push)
    /// Notes that a push was destroyed, because its program had closed before it read an error response.
    func raced(_ push: Push)
    /// Notes that a program takes a push for rejected.
    func blamed(_ push: Push)
    /// Notes how long a program waited for a writable socket.
    func waited(_ time: TimeAmount)
    /// Notes that the promises allow one more arrival.
    func allowCopy(of name: UInt32)
    func note(_ name: UInt32, _ words: @autoclosure () -> String)
    /// Notes for every name a fact about a connection.
    func noteAll(_ words: @autoclosure () -> String)
}

extension ProgramWorld {
    func after(_ time: TimeAmount, _ body: @escaping () -> Void) { self.at(self.now + time, body) }

    func happens(oneIn count: Int) -> Bool {
        count > 0 && Int.random(in: 0..<count, using: &self.generator) == 0
    }
}

/// The reason why a program sends a push again.
enum Copy: Hashable {
    /// It followed the notification that an error response named.
    case followed
    /// The connection ended without a word.
    case unanswered
}
