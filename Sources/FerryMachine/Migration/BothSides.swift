package import FerryCore

/// A value for each of the two protocols.
package struct BothSides<Value> {
    package var binary: Value
    package var http2: Value

    package init(binary: Value, http2: Value) {
        self.binary = binary
        self.http2 = http2
    }

    package init(_ value: Value) { self.init(binary: value, http2: value) }

    package subscript(side: ProviderSide) -> Value {
        get {
            switch side {
            case .binary: self.binary
            case .http2: self.http2
            }
        }
        set {
            switch side {
            case .binary: self.binary = newValue
            case .http2: self.http2 = newValue
            }
        }
    }
}

extension BothSides: Sendable where Value: Sendable {}
