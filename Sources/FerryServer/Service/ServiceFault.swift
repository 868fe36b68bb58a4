/// A fault in the variables or sockets that a service manager passes. The text is one sentence, and names the cure if
/// there is one.
package struct ServiceFault: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
