/// Stops with a message when something does not hold. `precondition` says nothing in a release build.
public func require(
    _ condition: @autoclosure () throws -> Bool,
    _ message: @autoclosure () -> String = "does not hold",
    file: StaticString = #file,
    line: UInt = #line
) rethrows {
    if try !condition() { fatalError(message(), file: file, line: line) }
}
