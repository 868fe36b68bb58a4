internal import FerryCore

/// Finds out when the devices of all event loops are on the side that the rule gives them: ``MigrationEvent/moved`` is an event
/// of the whole. Any thread.
final class MoveWatch: Sendable {
    private struct Loop {
        /// The number of the rule that the loop has taken.
        var rule = 0
        var isMoving = false
    }

    private struct State {
        var loops: [Loop]
        /// The number of the present rule.
        var rule = 0
        /// Whether the devices of a loop have moved since the last event about it.
        var owesEvent = false
    }

    private let state: Locked<State>

    init(loopCount: Int) {
        self.state = Locked(State(loops: Array(repeating: Loop(), count: loopCount)))
    }

    /// Notes a new rule by its number. Numbers rise.
    func ruleChanged(to rule: Int) { self.state.withLock { $0.rule = max($0.rule, rule) } }

    /// Notes that a loop takes a rule. Returns false if it has that rule, or a later one.
    func take(_ rule: Int, on loop: Int) -> Bool {
        self.state.withLock { state in
            guard state.loops[loop].rule < rule else { return false }
            state.loops[loop].rule = rule
            // Until the end of the turn nobody knows whether devices move.
            state.loops[loop].isMoving = true
            return true
        }
    }

    /// Notes that the devices of a loop have moved.
    func moved() { self.state.withLock { $0.owesEvent = true } }

    /// Notes the state of a loop at the end of its turn. Returns whether to report that all devices have moved.
    func turnEnded(on loop: Int, isMoving: Bool) -> Bool {
        self.state.withLock { state in
            state.loops[loop].isMoving = isMoving
            guard state.owesEvent, state.loops.allSatisfy({ $0.rule == state.rule && !$0.isMoving }) else {
                return false
            }
            state.owesEvent = false
            return true
        }
    }
}
