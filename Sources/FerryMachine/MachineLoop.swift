package import NIOCore
internal import Synchronization

/// The turns of a machine's driver on its event loop, the driver's timer, and the end of the event loop.
///
/// A driver gives its machine an input, and calls ``run(_:afterwards:)``. A connection or a sink may call it again from
/// inside a turn. Recursion would re-enter the machine in the middle of a step, so such a call only asks for another
/// turn.
///
/// `@unchecked Sendable`: other threads use only `eventLoop`, `isOver` and `execute`. Everything else is used on the
/// event loop, and after its end on the thread that ended it.
package final class MachineLoop: @unchecked Sendable {
    private enum State {
        case resting
        case turning
        /// Another turn follows.
        case turningAgain
    }

    package let eventLoop: any EventLoop
    /// Whether the event loop has ended. The thread that ended it does the remaining work.
    package private(set) var hasLoopEnded = false
    private let over = Atomic(false)
    private var state = State.resting
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// A callback that never fires. The event loop drops it when it ends.
    private var watch: NIOScheduledCallback?

    package init(on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    // MARK: Any thread

    /// Whether the driver has nothing more to do. The event loop may be gone.
    package var isOver: Bool { self.over.load(ordering: .relaxed) }

    /// Runs `body` on the event loop. Does nothing once the driver is over.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        guard !self.isOver else { return }
        self.eventLoop.execute(body)
    }

    // MARK: Turns

    /// Carries out all work that is possible now.
    ///
    /// - Parameters:
    ///   - turn: one turn. It is repeated until no call comes from inside it.
    ///   - afterwards: called after the last turn.
    package func run(_ turn: () -> Void, afterwards: () -> Void) {
        assert(self.eventLoop.inEventLoop || self.hasLoopEnded)
        guard self.state == .resting else { return self.state = .turningAgain }
        repeat {
            self.state = .turning
            turn()
        } while self.state == .turningAgain
        self.state = .resting
        afterwards()
    }

    /// Asks for another turn from inside a turn.
    package func turnAgain() {
        if self.state == .turning { self.state = .turningAgain }
    }

    // MARK: The timer

    /// Whether a timer must be set, because no timer fires by `deadline`. A timer that fires too early does no harm and
    /// stays, because a new one for each notification would cost more.
    package func needsTimer(by deadline: NIODeadline) -> Bool {
        guard !self.isOver, !self.hasLoopEnded else { return false }
        guard let timer else { return true }
        return deadline < timer.deadline
    }

    /// Sets the timer, and cancels the one before it.
    package func setTimer(at deadline: NIODeadline, _ body: @escaping () -> Void) {
        self.stopTimer()
        let task = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            body()
        }
        self.timer = (deadline, task)
    }

    package func stopTimer() {
        self.timer?.task.cancel()
        self.timer = nil
    }

    // MARK: The end

    /// Watches for the end of the event loop while the driver is not over.
    ///
    /// - Parameter ended: called once, on the loop's thread. If the loop has ended already, it is called on the
    ///   caller's thread before this method returns.
    package func watchEnd(_ ended: @escaping @Sendable () -> Void) {
        let watch = LoopWatch { [weak self] in
            guard let self, !self.isOver else { return }
            self.hasLoopEnded = true
            ended()
        }
        self.watch = try? self.eventLoop.scheduleCallback(at: .distantFuture, handler: watch)
    }

    /// Notes that the driver has nothing more to do.
    package func end() {
        self.over.store(true, ordering: .relaxed)
        self.stopTimer()
        self.watch?.cancel()
    }
}

/// A callback whose `deinit` reports the end of an event loop. Only the loop holds a reference, and drops it when it
/// ends. A loop that has ended already drops the reference at once, inside the call that schedules the callback.
private final class LoopWatch: NIOScheduledCallbackHandler, Sendable {
    private let ended: @Sendable () -> Void

    init(_ ended: @escaping @Sendable () -> Void) {
        self.ended = ended
    }

    deinit { self.ended() }

    func handleScheduledCallback(eventLoop: some EventLoop) {}
}
