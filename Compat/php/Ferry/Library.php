<?php

namespace Ferry;

/**
 * The functions of libferry.
 *
 * @internal
 */
final class Library
{
    /** How many seconds a provider goes on sending when nothing refers to it any more. */
    public const LAST_SECONDS = 10;

    /** Whether the process ends with its script. In FPM and Apache it lives on. */
    private const ENDS_WITH_SCRIPT = \PHP_SAPI === 'cli' || \PHP_SAPI === 'phpdbg';

    private static ?\FFI $ffi = null;
    /** @var array<int, int> The handles that this script has open, and the process that opened each. */
    private static array $open = [];
    private static bool $isEnding = false;

    public static function get(): \FFI
    {
        if (self::$ffi === null) {
            self::$ffi = self::load();
            \register_shutdown_function([self::class, 'scriptEnds']);
        }
        return self::$ffi;
    }

    private static function load(): \FFI
    {
        try {
            return \FFI::scope('ferry');
        } catch (\FFI\Exception $error) {
            // It was not preloaded.
        }
        try {
            $header = \preg_replace('/^#.*$/m', '', \file_get_contents(__DIR__ . '/ferry.h'));
            return \FFI::cdef($header, self::file());
        } catch (\FFI\Exception $error) {
            throw new Exception(self::sentence($error->getMessage()), 0, $error);
        }
    }

    /** The library: the file of FERRY_LIBRARY, else the one inside this package, else the system's. */
    private static function file(): string
    {
        $own = __DIR__ . '/libferry.so.0';
        return \getenv('FERRY_LIBRARY') ?: (\is_file($own) ? $own : 'libferry.so.0');
    }

    private static function sentence(string $reason): string
    {
        if (\strpos($reason, 'restricted') !== false) {
            return 'PHP does not allow FFI here: set ffi.enable=1, or preload Ferry as its README says.';
        }
        if (\strpos($reason, 'Failed resolving') !== false) {
            return "libferry is older than this module: install both anew ($reason).";
        }
        if (\glob('/lib/ld-musl-*')) {
            return 'libferry needs glibc, and this system has musl, as Alpine does: use another, such as Debian.';
        }
        return "Install libferry and run ldconfig, or name its file in FERRY_LIBRARY ($reason).";
    }

    /** Opens a handle with `$function`. */
    public static function open(string $function, array $options): int
    {
        $handle = self::withOptions($options, function (...$arguments) use ($function) {
            return self::get()->$function(...$arguments);
        });
        self::$open[$handle] = \getmypid();
        return $handle;
    }

    /** Calls `$call` with a JSON text, and room for a sentence about what is wrong with it. */
    public static function withOptions(array $options, callable $call): int
    {
        $json = \json_encode((object) $options, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE);
        $message = self::get()->new('char[1024]');
        $code = $call($json, \strlen($json), $message, \FFI::sizeof($message));
        if ($code < 0 && \FFI::string($message) !== '') {
            throw new Exception(\FFI::string($message), $code);
        }
        return self::check($code);
    }

    public static function free(int $handle): void
    {
        self::get()->ferry_free($handle);
        unset(self::$open[$handle]);
    }

    /** Returns `$code`, unless it is an error. */
    public static function check(int $code): int
    {
        if ($code < 0) {
            throw new Exception(self::get()->ferry_error_text($code), $code);
        }
        return $code;
    }

    /** Returns what `$function` copies, decoded; null if that is nothing. */
    public static function decoded(string $function, int $handle, ...$arguments): ?array
    {
        $size = 4096;
        do {
            $room = $size;
            $buffer = self::get()->new("char[$room]");
            $size = self::check(self::get()->$function($handle, ...\array_merge($arguments, [$buffer, $room])));
        } while ($size > $room);
        return $size === 0 ? null : \json_decode(\FFI::string($buffer, $size), true);
    }

    /**
     * Calls `$step` with at most 100 ms at a time, until it returns something else than null or the time is over. Between
     * two calls PHP's signal handlers run: they cannot while a function of C waits.
     */
    public static function wait(float $seconds, callable $step): ?int
    {
        $end = \hrtime(true) + (int) \min($seconds * 1e9, 4e18);
        do {
            $left = \intdiv($end - \hrtime(true), 1_000_000);
            $result = $step(\max(0, \min(100, $left)));
            if (\function_exists('pcntl_signal_dispatch')) {
                \pcntl_signal_dispatch();
            }
        } while ($result === null && $left > 0);
        return $result;
    }

    public static function isProcessEnding(): bool
    {
        return self::$isEnding && self::ENDS_WITH_SCRIPT;
    }

    /** @internal PHP calls this before its destructors, and calls none of those after a fatal error. */
    public static function scriptEnds(): void
    {
        self::$isEnding = true;
        $fatal = \E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;
        if (!self::ENDS_WITH_SCRIPT && (\error_get_last()['type'] ?? 0) & $fatal) {
            foreach (\array_keys(self::$open, \getmypid(), true) as $handle) {
                self::get()->ferry_close($handle, 1000 * self::LAST_SECONDS);
                self::free($handle);
            }
        }
    }
}
