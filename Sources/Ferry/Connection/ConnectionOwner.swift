internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The receiver of a ``ConnectionHandler``'s reports. Both live on the same event loop.
protocol ConnectionOwner: AnyObject, Sendable {
    var eventLoop: any EventLoop { get }
    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler)
    func writabilityChanged(_ connection: ConnectionHandler)
    /// Called once. Not called after ``ConnectionHandler/abort()``.
    func ended(_ connection: ConnectionHandler, _ end: ConnectionEnd)
}
