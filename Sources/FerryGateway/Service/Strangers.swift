internal import NIOCore

/// The object that closes silent connections of a full listener, in the order of ``StrangerOrder``.
///
/// `@unchecked Sendable`, because everything is used only on the event loop of the listener and its connections.
final class Strangers: @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var order = StrangerOrder()
    private var closers: [StrangerOrder.Wait: () -> Void] = [:]
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Begins a wait.
    ///
    /// - Parameter close: closes the connection. It is called at most once.
    func begin(_ stage: StrangerOrder.Stage, _ close: @escaping () -> Void) -> StrangerOrder.Wait {
        let wait = self.order.begin(stage, now: self.eventLoop.now)
        self.closers[wait] = close
        self.schedule()
        return wait
    }

    func end(_ wait: StrangerOrder.Wait) {
        self.closers[wait] = nil
        self.order.end(wait)
    }

    /// Notes whether a connection waits for a place in the listener.
    func placeIsWanted(_ isWanted: Bool) {
        self.order.placeIsWanted(isWanted)
        self.schedule()
    }

    /// Sets the timer for the next deadline. An earlier timer stays, because it sets the next timer when it fires.
    private func schedule() {
        guard let deadline = self.order.nextDeadline else {
            self.timer?.task.cancel()
            self.timer = nil
            return
        }
        if let timer, timer.deadline <= deadline { return }
        self.timer?.task.cancel()
        let task = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.timePassed()
        }
        self.timer = (deadline, task)
    }

    private func timePassed() {
        if let wait = self.order.makeRoom(now: self.eventLoop.now) { self.closers.removeValue(forKey: wait)?() }
        self.schedule()
    }
}

/// The wait of one connection among the silent connections of its listener.
struct StrangerPlace {
    private let strangers: Strangers
    private var wait: StrangerOrder.Wait?

    init(among strangers: Strangers) { self.strangers = strangers }

    /// Begins a wait, and ends the earlier wait of the connection.
    mutating func begin(_ stage: StrangerOrder.Stage, _ close: @escaping () -> Void) {
        self.end()
        self.wait = self.strangers.begin(stage, close)
    }

    /// Notes that the connection has sent something, gets feedback rows, or is closed.
    mutating func end() {
        guard let wait else { return }
        self.strangers.end(wait)
        self.wait = nil
    }
}
