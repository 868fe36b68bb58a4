#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Standard input, output and error.
enum StandardStreams {
    /// Takes the numbers of streams that were closed when the program began, or the next file or socket would get them,
    /// and what is said on standard error would go out to a gateway.
    ///
    /// Each is opened the wrong way round: what is read from closed input or written to closed output still fails.
    static func reserve() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one, because those below it are taken.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
