package import FerryMachine

extension BinaryOptions {
    /// Returns the options for one event loop's client. The bounds of the whole provider are divided.
    package func part(_ part: LoopPart) -> BinaryOptions {
        var options = self
        options.maxConnections = part.of(self.maxConnections)
        options.cacheLimit.entries = part.of(self.cacheLimit.entries)
        options.cacheLimit.bytes = part.of(self.cacheLimit.bytes)
        if self.cachePolicy == .hold { options.cacheLength = part.of(self.cacheLength) }
        return options
    }
}
