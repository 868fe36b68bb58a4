<?php
// What the tests share: a list of tests, simulators, and programs in processes of their own.

error_reporting(-1);
set_error_handler(function ($level, $text, $file, $line) {
    if (error_reporting() & $level) {
        throw new ErrorException($text, 0, $level, $file, $line);
    }
});

require_once __DIR__ . '/../ApnsPHP/Autoload.php';

$tests = array();

function test(string $name, callable $body): void
{
    $GLOBALS['tests'][$name] = $body;
}

/** Skips the test that calls it. */
final class Skipped extends Exception
{
}

function equal($expected, $actual, string $what = ''): void
{
    if ($expected !== $actual) {
        $texts = array_map(function ($value) {
            return substr(json_encode($value, JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_UNESCAPED_SLASHES), 0, 2000);
        }, array($expected, $actual));
        throw new Exception(trim("$what: expected $texts[0], got $texts[1]", ': '));
    }
}

function holds(bool $condition, string $what): void
{
    if (!$condition) {
        throw new Exception("$what does not hold");
    }
}

/** Expects an exception of a class, whose message has a text. Returns it. */
function raises(string $class, string $text, callable $body): Throwable
{
    try {
        $body();
    } catch (Throwable $error) {
        // PHP 7 looks for no empty text.
        if (get_class($error) !== $class || ($text !== '' && strpos($error->getMessage(), $text) === false)) {
            throw new Exception("expected $class '$text', got " . get_class($error) . " '{$error->getMessage()}'", 0, $error);
        }
        return $error;
    }
    throw new Exception("expected $class '$text', and nothing was raised");
}

/** Waits until a condition holds, 10 s at most. */
function eventually(string $what, callable $condition): void
{
    for ($end = microtime(true) + 10; !$condition(); usleep(10000)) {
        if (microtime(true) > $end) {
            throw new Exception("$what did not come to hold");
        }
    }
}

/** A directory that goes away with the process that made it. */
function scratch(): string
{
    static $directory = null;
    if ($directory === null) {
        $directory = sys_get_temp_dir() . '/ferry-php-' . getmypid();
        mkdir($directory);
        $pid = getmypid();
        register_shutdown_function(function () use ($directory, $pid) {
            if ($pid === getmypid()) {
                foreach (array_merge(glob("$directory/*/*"), glob("$directory/*"), array($directory)) as $path) {
                    is_dir($path) && !is_link($path) ? rmdir($path) : unlink($path);
                }
            }
        });
    }
    return $directory;
}

function newFile(string $content = '', string $suffix = ''): string
{
    static $number = 0;
    $path = scratch() . '/' . getmypid() . '-' . $number++ . $suffix;
    file_put_contents($path, $content);
    return $path;
}

/** A device token of 32 bytes that begins with some hexadecimal digits. */
function token(int $number, string $prefix = '00'): string
{
    return str_pad($prefix, 56, 'c') . sprintf('%08x', $number);
}

/** A program in a process of its own. */
final class Program
{
    private $process;
    private $output;
    public $pid;
    private $errors;

    /** @param string[] $command */
    public function __construct(array $command, array $environment = array(), bool $inherits = true)
    {
        $this->errors = newFile();
        $streams = array(array('file', '/dev/null', 'r'), array('pipe', 'w'), array('file', $this->errors, 'w'));
        $this->process = proc_open($command, $streams, $pipes, null, $environment + ($inherits ? getenv() : array()));
        $this->output = $pipes[1];
        $this->pid = proc_get_status($this->process)['pid'];
    }

    /** A program of PHP: the text behind `<?php`, after the drop-in was loaded. */
    public static function php(string $code, array $environment = array()): Program
    {
        $file = newFile("<?php require '" . __DIR__ . "/../ApnsPHP/Autoload.php';\n$code", '.php');
        return new Program(array(PHP_BINARY, '-d', 'display_errors=stderr', $file), $environment);
    }

    public function line(): string
    {
        return rtrim((string) fgets($this->output), "\n");
    }

    /** Waits for the end. Returns standard output, the exit status, and standard error. */
    public function end(): array
    {
        $output = stream_get_contents($this->output);
        for (;;) {
            $status = proc_get_status($this->process);
            if (!$status['running']) {
                break;
            }
            usleep(5000);
        }
        $code = $status['signaled'] ? -$status['termsig'] : $status['exitcode'];
        proc_close($this->process);
        return array($output, $code, file_get_contents($this->errors));
    }

    public function kill(int $signal): void
    {
        posix_kill($this->pid, $signal);
    }

    /** Expects an exit status of 0. Returns standard output. */
    public function output(): string
    {
        list($output, $code, $errors) = $this->end();
        equal(0, $code, "the program's status, with \"" . trim($errors) . '"');
        return $output;
    }
}

/** `ferry simulate` with all of its services. */
final class Simulator
{
    private static $made = array();
    private $program;
    private $record;
    private $seen = 0;
    public $ports;

    /** The one with this script: tests share it. */
    public static function with(array $script = array()): Simulator
    {
        $key = json_encode($script);
        return self::$made[$key] ??= new Simulator($script);
    }

    private function __construct(array $script)
    {
        $this->record = newFile();
        $script += array('http2' => array('requiresToken' => false));
        $this->program = new Program(array(
            getenv('FERRY_COMMAND') ?: 'ferry', 'simulate', '--binary', '0', '--feedback', '0', '--http2', '0', '--tls-dir',
            scratch() . '/tls', '--script', newFile(json_encode($script)), '--record', $this->record,
        ));
        $this->ports = json_decode($this->program->line(), true);
        if (!$this->ports) {
            throw new Exception('The command ferry does not simulate: ' . implode(' ', $this->program->end()));
        }
        if (!is_file(self::certificate())) {
            $tls = scratch() . '/tls';
            file_put_contents(self::certificate(), file_get_contents("$tls/client.pem") . file_get_contents("$tls/client-key.pem"));
        }
    }

    public static function stopAll(): void
    {
        foreach (self::$made as $simulator) {
            $simulator->program->kill(SIGTERM);
            $simulator->program->end();
        }
        self::$made = array();
    }

    /** A file with a certificate and its key. */
    public static function certificate(): string
    {
        return scratch() . '/tls/both.pem';
    }

    public static function authority(): string
    {
        return scratch() . '/tls/ca.pem';
    }

    /** Options for Ferry\Provider. */
    public function options(string $backend, array $more = array()): array
    {
        return $more + array(
            'backend' => $backend, 'host' => 'localhost', 'port' => $this->ports[$backend], 'ca' => self::authority(),
            'cert' => self::certificate(),
        );
    }

    /** A file for FERRY_CONFIG. */
    public function config(string $backend, array $more = array()): string
    {
        $options = $this->options($backend, $more);
        unset($options['cert']);
        return newFile(json_encode($options + array('feedbackPort' => $this->ports['feedback'])));
    }

    /** The notifications that were accepted since the last call: $count of them, or as many as come. */
    public function accepted(int $count): array
    {
        $lines = array();
        eventually("the record of $count notifications", function () use ($count, &$lines) {
            // A line that is being written has no end yet.
            preg_match_all('/.*\n/', file_get_contents($this->record), $whole);
            $lines = array_slice($whole[0], $this->seen);
            return count($lines) >= $count;
        });
        $this->seen += count($lines);
        return array_map(function ($line) {
            return json_decode($line, true);
        }, $lines);
    }

    /** Expects exactly these tokens, each once. */
    public function expectAccepted(array $tokens): array
    {
        $accepted = $this->accepted(count($tokens));
        $found = array_column($accepted, 'token');
        sort($found);
        sort($tokens);
        equal($tokens, $found, 'the tokens of the record');
        return $accepted;
    }
}

/** An ApnsPHP_Log_Interface that keeps its lines. */
final class Lines implements ApnsPHP_Log_Interface
{
    public $lines = array();

    public function log($sMessage)
    {
        $this->lines[] = $sMessage;
    }
}

/** Runs the tests whose names have one of the words. Returns the exit status. */
function runTests(array $words): int
{
    $counts = array('passed' => 0, 'failed' => 0, 'skipped' => 0);
    $main = getmypid();
    foreach ($GLOBALS['tests'] as $name => $body) {
        $matches = array_filter($words, function ($word) use ($name) {
            return stripos($name, $word) !== false;
        });
        if ($words && !$matches) {
            continue;
        }
        $start = microtime(true);
        try {
            $body();
            $counts['passed']++;
        } catch (Skipped $skipped) {
            echo "skipped  $name: {$skipped->getMessage()}\n";
            $counts['skipped']++;
        } catch (Throwable $error) {
            echo "FAILED   $name\n         {$error->getMessage()}\n         {$error->getFile()}:{$error->getLine()}\n";
            $counts['failed']++;
        }
        if ($main !== getmypid()) {
            exit(1);
        }
        if (getenv('TIMES')) {
            printf("%5.2f s  %s\n", microtime(true) - $start, $name);
        }
    }
    Simulator::stopAll();
    if ($counts['skipped'] > 0) {
        echo "{$counts['skipped']} skipped\n";
    }
    echo "{$counts['passed']} passed, {$counts['failed']} failed\n";
    return $counts['failed'] > 0 ? 1 : 0;
}
