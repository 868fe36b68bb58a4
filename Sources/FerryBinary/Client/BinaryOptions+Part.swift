package import FerryMachine

extension BinaryOptions {
    /// Returns the options for the client of one event loop. The bounds of the whole provider are cut; those of one
    /// connection stay.
    package func part(_ part: LoopPart) -> BinaryOptions {
        var options = self
        options.maxConnections = part.of(self.maxConnections)
        options.cacheLimit.entries = part.of(self.cacheLimit.entries)
        options.cacheLimit.bytes = part.of(self.cacheLimit.bytes)
        if self.cachePolicy == .hold { options.cacheLength = part.of(self.cacheLength) }
        return options
    }
}
