<?php
// Requests in a worker of PHP-FPM.

/** A PHP-FPM with one pool, on a socket of its own. */
final class FPM
{
    private $program;
    private $socket;
    private $errors;

    /**
     * @param array $settings of PHP.
     * @param array $environment of the workers.
     */
    public function __construct(int $workers, array $settings, array $environment)
    {
        $command = current(array_filter(array(
            '/usr/sbin/php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION, '/usr/sbin/php-fpm', PHP_BINDIR . '/php-fpm',
        ), 'is_executable'));
        if (!$command || !self::client()) {
            throw new Skipped('php-fpm or cgi-fcgi is not installed');
        }
        $this->socket = newFile();
        unlink($this->socket);
        $this->errors = newFile();
        $pool = array('listen' => $this->socket, 'pm' => 'static', 'pm.max_children' => $workers, 'clear_env' => 'yes');
        if (posix_getuid() === 0) {
            $pool += array('user' => 'root', 'group' => 'root');
        }
        foreach ($environment as $name => $value) {
            $pool["env[$name]"] = $value;
        }
        $text = "[global]\nerror_log = $this->errors\n[www]\ncatch_workers_output = yes\n";
        foreach ($pool as $name => $value) {
            $text .= "$name = $value\n";
        }
        $arguments = array($command, '--nodaemonize', '--allow-to-run-as-root', '--fpm-config', newFile($text));
        foreach ($settings as $name => $value) {
            array_push($arguments, '-d', "$name=$value");
        }
        // The loader finds libferry.so.0 here, as it does where libferry is installed.
        $directory = scratch() . '/lib';
        if (!is_dir($directory)) {
            mkdir($directory);
        }
        if (getenv('FERRY_LIBRARY') && !is_link("$directory/libferry.so.0")) {
            symlink(realpath(getenv('FERRY_LIBRARY')), "$directory/libferry.so.0");
        }
        $this->program = new Program($arguments, array('LD_LIBRARY_PATH' => $directory));
        eventually('the socket of FPM', function () {
            return file_exists($this->socket);
        });
    }

    private static function client(): string
    {
        return trim((string) shell_exec('command -v cgi-fcgi'));
    }

    /** Starts a request for a program. */
    public function start(string $file, array $query = array()): Program
    {
        return new Program(array(self::client(), '-bind', '-connect', $this->socket), array(
            'SCRIPT_FILENAME' => $file, 'REQUEST_METHOD' => 'GET', 'QUERY_STRING' => http_build_query($query),
        ), false);
    }

    /** Returns the body of an answer. */
    public static function body(Program $request): string
    {
        $answer = preg_split("/\r\n\r\n/", $request->output(), 2);
        return isset($answer[1]) ? $answer[1] : '';
    }

    public function get(string $file, array $query = array()): string
    {
        return self::body($this->start($file, $query));
    }

    public function errors(): string
    {
        return file_get_contents($this->errors);
    }

    public function stop(): void
    {
        $this->program->kill(SIGTERM);
        $this->program->end();
    }
}

/** A page that sends to the devices of the query, and answers with its process and the devices that were refused. */
function page(): string
{
    static $file = null;
    return $file ??= newFile('<?php
        require "' . __DIR__ . '/../ApnsPHP/Autoload.php";
        try {
            $push = new ApnsPHP_Push(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, getenv("CERT"));
            $push->setLogger(new ApnsPHP_Log_Error());
            $push->connect();
            foreach ($_GET["tokens"] as $token) {
                $message = new ApnsPHP_Message($token);
                $message->setText("Hello");
                $push->add($message);
            }
            $push->send();
            if (isset($_GET["fails"])) {
                undefined_function();
            }
            if (isset($_GET["ends"])) {
                exit("[0,[]]");
            }
            $refused = array();
            foreach ($push->getErrors() as $error) {
                $refused[] = $error["MESSAGE"]->getRecipient();
            }
            echo json_encode(array(getmypid(), $refused));
        } catch (ApnsPHP_Exception $error) {
            echo $error->getMessage();
        }
    ', '.php');
}

const PRELOADS = array('opcache.enable' => 1, 'ffi.preload' => __DIR__ . '/../Ferry/ferry.h',
    'opcache.preload' => __DIR__ . '/../Ferry.php');
$enables = array('ffi.enable' => 1);

foreach (array('ffi.enable' => $enables, 'ffi.preload' => PRELOADS + array('opcache.preload_user' => get_current_user()))
    as $how => $settings) {
    test("Requests in a worker of FPM use one connection, each with its own errors, with $how", function () use ($settings) {
        $simulator = Simulator::with(SCRIPT);
        $environment = array('FERRY_CONFIG' => $simulator->config('http2'), 'CERT' => Simulator::certificate());
        if (isset($settings['ffi.enable']) && getenv('FERRY_LIBRARY')) {
            $environment['FERRY_LIBRARY'] = getenv('FERRY_LIBRARY');
        }
        $fpm = new FPM(1, $settings, $environment);
        try {
            $pids = array();
            for ($i = 0; $i < 4; $i++) {
                $answer = $fpm->get(page(), array('tokens' => array(token($i), token($i, 'bad0'), token($i + 10))));
                list($pids[], $refused) = json_decode($answer, true) ?: array(0, $answer);
                equal(array(token($i, 'bad0')), $refused);
            }
            equal(1, count(array_unique($pids)), 'workers');
            // A page that does not ask has its errors in the log.
            $fpm->get(page(), array('tokens' => array(token(20), token(21, 'bad0')), 'ends' => 1));
            holds(strpos($fpm->errors(), 'ERROR: Unable to send message ID 2 ') !== false, 'a line for the error');
            $accepted = $simulator->expectAccepted(array_map('token', array(0, 1, 2, 3, 10, 11, 12, 13, 20)));
            equal(1, count(array_unique(array_column($accepted, 'connection'))), 'connections');
        } finally {
            $fpm->stop();
        }
    });
}

test('FPM that does not allow FFI is one sentence', function () {
    $simulator = Simulator::with(SCRIPT);
    $fpm = new FPM(1, array(), array('FERRY_CONFIG' => $simulator->config('http2'), 'CERT' => Simulator::certificate()));
    try {
        holds(strpos($fpm->get(page(), array('tokens' => array(token(1)))), 'set ffi.enable=1, or preload Ferry') !== false,
            'the sentence');
    } finally {
        $fpm->stop();
    }
});

test('A request that ends with a fatal error loses nothing, and leaves the worker well', function () use ($enables) {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.3) + SCRIPT['http2']));
    $environment = array('FERRY_CONFIG' => $simulator->config('http2'), 'CERT' => Simulator::certificate(),
        'FERRY_LIBRARY' => getenv('FERRY_LIBRARY') ?: 'libferry.so.0');
    $fpm = new FPM(1, $enables, $environment);
    try {
        for ($i = 0; $i < 3; $i++) {
            $fpm->get(page(), array('tokens' => array(token($i)), 'fails' => 1));
        }
        equal(array(), json_decode($fpm->get(page(), array('tokens' => array(token(3)))), true)[1]);
        $simulator->expectAccepted(array_map('token', range(0, 3)));
    } finally {
        $fpm->stop();
    }
});

test('Requests in several workers at a time each have their own errors', function () use ($enables) {
    $simulator = Simulator::with(SCRIPT);
    $environment = array('FERRY_CONFIG' => $simulator->config('http2'), 'CERT' => Simulator::certificate(),
        'FERRY_LIBRARY' => getenv('FERRY_LIBRARY') ?: 'libferry.so.0');
    $fpm = new FPM(3, $enables, $environment);
    try {
        $requests = array();
        for ($i = 0; $i < 12; $i++) {
            $requests[$i] = $fpm->start(page(), array('tokens' => array(token($i), token($i, 'bad0'))));
        }
        foreach ($requests as $i => $request) {
            equal(array(token($i, 'bad0')), json_decode(FPM::body($request), true)[1]);
        }
        $simulator->expectAccepted(array_map('token', range(0, 11)));
    } finally {
        $fpm->stop();
    }
});

test('The file of FERRY_CONFIG changes under a running FPM: the share of a migration, and anything else', function () use ($enables) {
    $simulator = Simulator::with(SCRIPT);
    $side = function ($name) use ($simulator) {
        return array_intersect_key($simulator->options($name), array('host' => 1, 'port' => 1, 'ca' => 1));
    };
    $config = array('backend' => 'migrate', 'share' => 0, 'binary' => $side('binary'), 'http2' => $side('http2'));
    $file = newFile(json_encode($config));
    $environment = array('FERRY_CONFIG' => $file, 'CERT' => Simulator::certificate(),
        'FERRY_LIBRARY' => getenv('FERRY_LIBRARY') ?: 'libferry.so.0');
    $fpm = new FPM(1, $enables, $environment);
    try {
        $number = 0;
        $goesOver = function () use ($fpm, $simulator, &$number) {
            $number++;
            equal(array(token($number, 'bad0')), json_decode(
                $fpm->get(page(), array('tokens' => array(token($number), token($number, 'bad0')))),
                true
            )[1]);
            return isset($simulator->expectAccepted(array(token($number)))[0]['apnsId']) ? 'http2' : 'binary';
        };
        equal('binary', $goesOver());
        file_put_contents($file, json_encode(array('share' => 100) + $config));
        eventually('the share', function () use ($goesOver) {
            return $goesOver() === 'http2';
        });
        file_put_contents($file, json_encode(array('topic' => 'com.example.ferry') + $simulator->options('http2')));
        $fpm->get(page(), array('tokens' => array(token(99))));
        equal('com.example.ferry', $simulator->expectAccepted(array(token(99)))[0]['topic']);
    } finally {
        $fpm->stop();
    }
});
