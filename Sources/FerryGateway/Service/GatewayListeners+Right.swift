internal import FerryCore
internal import FerryMachine
internal import FerryServer
internal import NIOCore

/// The client addresses of a gateway that may lose its store. They are open only while the gateway has the right to
/// forward, so that a load balancer finds the owner. A passed socket stays open all the time, because it could not be
/// bound again.
extension GatewayListeners {
    /// The time between two checks of the right.
    private static let look: TimeAmount = .milliseconds(100)

    /// Closes the addresses of clients while the right is missing, and opens them again when it is back. The feedback
    /// service stays open without the right.
    func follow(_ right: ForwardingRight) {
        guard !right.isEndless else { return }
        self.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.look) { [weak self] task in
            guard let self, !self.isClosed else { return task.cancel() }
            self.look(at: right)
        }
    }

    private func look(at right: ForwardingRight) {
        let isHeld = right.isHeld
        if isHeld { self.rightReturned() }
        for opened in self.all where opened.address.service == .binary && opened.listener.isOpen != isHeld {
            guard isHeld else {
                opened.listener.suspend()
                continue
            }
            Task { await self.reopen(opened) }
        }
    }

    private func reopen(_ opened: Opened) async {
        do {
            try await opened.listener.reopen()
            self.troubled.withLock { _ = $0.remove(opened.name) }
        } catch {
            guard self.troubled.withLock({ $0.insert(opened.name).inserted }) else { return }
            let trouble = "The address \(opened.name) cannot be opened again: \(error)."
            self.eventLoop.execute { self.report(.storeTrouble(trouble)) }
        }
    }
}
