/// Stops with a message if a condition is false. `precondition` prints no message in a release build.
func require(
    _ condition: @autoclosure () throws -> Bool,
    _ message: @autoclosure () -> String = "does not hold",
    file: StaticString = #file,
    line: UInt = #line
) rethrows {
    if try !condition() { fatalError(message(), file: file, line: line) }
}
