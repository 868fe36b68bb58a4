package import FerryCore

/// A value for each of the two protocols.
package struct BothSides<Value> {
    package var binary: Value
    package var http2: Value

    package init(_ value: Value) {
        self.binary = value
        self.http2 = value
    }

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
