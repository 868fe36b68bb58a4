/// A fault of what a service manager passes to the process. The text is one sentence with the cure.
package struct ServiceFault: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
