internal import NIOCore

/// Makes room in a listener that has as many connections as it may have: closes those that have shown nothing of
/// themselves, as ``StrangerOrder`` says.
///
/// `@unchecked Sendable`: everything is used on the event loop only, which the listener and its connections share.
final class Strangers: @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var order = StrangerOrder()
    private var closers: [StrangerOrder.Wait: () -> Void] = [:]
    private var timer: Scheduled<Void>?

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Begins a wait.
    ///
    /// - Parameter close: closes the connection. Called once at most.
    func begin(_ stage: StrangerOrder.Stage, _ close: @escaping () -> Void) -> StrangerOrder.Wait {
        let wait = self.order.begin(stage, now: .now())
        self.closers[wait] = close
        return wait
    }

    func end(_ wait: StrangerOrder.Wait) {
        self.closers[wait] = nil
        self.order.end(wait)
    }

    /// Closes the connection that has waited longest, now or when its moment is over. The listener asks each time that it
    /// cannot accept.
    func makeRoom() {
        switch self.order.makeRoom(now: .now()) {
        case .none: break
        case .close(let wait): self.closers.removeValue(forKey: wait)?()
        case .wait(let until):
            guard self.timer == nil else { return }
            self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: until) {
                self.timer = nil
                self.makeRoom()
            }
        }
    }
}

/// The place of one connection among the strangers of its listener.
struct StrangerPlace {
    private let strangers: Strangers
    private var wait: StrangerOrder.Wait?

    init(among strangers: Strangers) { self.strangers = strangers }

    /// Begins a wait, and ends the one before it.
    mutating func begin(_ stage: StrangerOrder.Stage, _ close: @escaping () -> Void) {
        self.end()
        self.wait = self.strangers.begin(stage, close)
    }

    /// Notes that the connection is known, or gone.
    mutating func end() {
        guard let wait else { return }
        self.strangers.end(wait)
        self.wait = nil
    }
}
