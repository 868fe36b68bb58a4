internal import FerryPlatform

/// Standard input, output and error.
enum StandardStreams {
    /// Opens the standard streams that were closed when the program started.
    ///
    /// Otherwise the next file or socket would get their numbers, and messages for standard error would go to a
    /// gateway. Each stream is opened in the wrong direction, so that reading from closed input and writing to closed
    /// output still fail.
    static func reserve() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number. That is this one, because all lower numbers are in use.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
