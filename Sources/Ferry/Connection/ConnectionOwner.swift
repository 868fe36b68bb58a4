internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Whoever a ``ConnectionHandler`` reports to, on the event loop that both live on.
protocol ConnectionOwner: AnyObject, Sendable {
    var eventLoop: any EventLoop { get }
    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler)
    func writabilityChanged(_ connection: ConnectionHandler)
    /// Said once, and not after ``ConnectionHandler/abort()``.
    func ended(_ connection: ConnectionHandler, _ end: ConnectionEnd)
}
