/// A statement and the values of its parameters. The server runs it as a transaction of its own, unless the session has
/// begun one.
package struct PostgresStatement: Sendable {
    /// The text, with `$1`, `$2` … for the values. A session prepares each text once, and identifies it by its
    /// address.
    package let text: StaticString
    package let values: [PostgresValue]

    package init(_ text: StaticString, _ values: [PostgresValue] = []) {
        self.text = text
        self.values = values
    }
}
