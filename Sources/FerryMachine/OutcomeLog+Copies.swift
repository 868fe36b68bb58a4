/// The books about what is not an outcome.
extension OutcomeLog {
    /// Notes that `count` copies beyond the first were written.
    package mutating func wrote(copies count: Int) { self.resent += count }

    /// Notes that `count` copies that were written have not left, and will be written again.
    package mutating func unwrote(copies count: Int) { self.resent -= count }

    /// Notes that `count` bytes came on a connection on which the peer had had its last word.
    package mutating func ignored(bytes count: Int) { self.strayBytes += count }
}
