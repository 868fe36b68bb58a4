<?php
// Signals, fork, and the end of a process.

use Ferry\Provider;

/** Runs $body in a child, and expects it to end well. */
function inChild(callable $body): void
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        // Not the shutdown functions of this program: the child of a test is no program.
        try {
            $body();
            posix_kill(getmypid(), SIGKILL);
        } catch (Throwable $error) {
            fwrite(STDERR, "in a child: {$error->getMessage()} {$error->getFile()}:{$error->getLine()}\n");
        }
        exit(1);
    }
    pcntl_waitpid($pid, $status);
    equal(SIGKILL, pcntl_wifsignaled($status) ? pcntl_wtermsig($status) : 0, 'the end of the child');
}

/** Waits until a program sleeps in the kernel, as one that waits for libferry does. */
function untilItWaits(Program $program): void
{
    eventually('a program that waits', function () use ($program) {
        return preg_match('/^\d+ \(.*\) S /', file_get_contents("/proc/$program->pid/stat")) === 1;
    });
}

foreach (array('asynchronous' => 'true', 'dispatched' => 'false') as $how => $isAsync) {
    test("A signal's handler runs while the program waits, and ends the wait: $how signals", function () use ($isAsync) {
        $program = Program::php('
            pcntl_async_signals(' . $isAsync . ');
            pcntl_signal(SIGUSR1, function () use (&$came) { $came = microtime(true); });
            $provider = new Ferry\Provider(["backend" => "echo"]);
            echo "ready\n";
            echo $provider->wait(10), " $came\n";
        ');
        equal('ready', $program->line());
        untilItWaits($program);
        $sent = microtime(true);
        $program->kill(SIGUSR1);
        list($bits, $came) = explode(' ', $program->line());
        equal('0', $bits);
        holds($came - $sent < 0.2, 'a handler within 0.2 s');
        holds(microtime(true) - $sent < 1, 'the end of the wait');
        equal('', $program->output());
    });

    test("A handler that throws ends send(), and the next send() goes on, each once: $how signals", function () use ($isAsync) {
        $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.2)));
        $program = Program::php('
            require "' . __DIR__ . '/support.php";
            pcntl_async_signals(' . $isAsync . ');
            pcntl_signal(SIGUSR1, function () { throw new DomainException("enough"); });
            $push = new ApnsPHP_Push(0, getenv("CERT"));
            $push->setLogger(new ApnsPHP_Log_Silent());
            $push->connect();
            for ($i = 0; $i < 6000; $i++) {
                $push->add(new ApnsPHP_Message(token($i)));
            }
            for ($i = 0; $i < 6; $i++) {
                try {
                    echo "ready\n";
                    $push->send();
                } catch (DomainException $error) {
                }
            }
            echo $i, " ", count($push->getQueue(false)), " ", count($push->getErrors());
        ', array(
            'FERRY_CONFIG' => $simulator->config('http2', array('queueLimit' => 500)), 'CERT' => Simulator::certificate(),
        ));
        for ($i = 0; $i < 5; $i++) {
            equal('ready', $program->line());
            $program->kill(SIGUSR1);
        }
        equal("ready\n6 0 0", $program->output());
        $simulator->expectAccepted(array_map('token', range(0, 5999)));
    });
}

test('A signal that comes behind the last wait of send() is handled before send() returns', function () {
    $simulator = Simulator::with(SCRIPT);
    $push = push($simulator, 'http2');
    $push->setLogger(new class implements ApnsPHP_Log_Interface {
        public function log($sMessage)
        {
            if (strpos($sMessage, 'ERROR') === 0) {
                posix_kill(getmypid(), SIGUSR1);
            }
        }
    });
    $push->connect();
    $push->add(message(token(9, 'bad0')));
    $came = 0;
    $wasAsync = pcntl_async_signals(true);
    pcntl_signal(SIGUSR1, function () use (&$came) {
        $came++;
    });
    try {
        $push->send();
        equal(1, $came);
    } finally {
        pcntl_signal(SIGUSR1, SIG_DFL);
        pcntl_async_signals($wasAsync);
    }
});

test('A child has to open a provider of its own', function () {
    $simulator = Simulator::with();
    $provider = new Provider($simulator->options('http2'));
    equal(1, $provider->submit(notifications(1)));
    equal(true, $provider->flush(5));
    inChild(function () use ($provider, $simulator) {
        foreach (array('read', 'counts', 'report', 'fd') as $call) {
            equal(Provider::EFORKED, raises(Ferry\Exception::class, 'parent', array($provider, $call))->getCode());
        }
        $own = new Provider($simulator->options('http2'));
        equal(1, $own->submit(array(array('token' => token(5), 'payload' => '{}'))));
        equal(0, $own->drain(5));
        equal(1, count($own->read()));
        $provider->free();
    });
    equal(0, $provider->drain(5));
    equal(1, count($provider->read()));
    $simulator->expectAccepted(array(token(0), token(5)));
});

test('ApnsPHP_Push opens again in a child, and the parent goes on', function () {
    $simulator = Simulator::with(SCRIPT);
    $push = push($simulator, 'http2');
    $push->connect();
    $push->add(message(token(1)));
    $push->add(message(token(9, 'bad0')));
    $push->send();
    for ($i = 2; $i < 5; $i++) {
        inChild(function () use ($push, $i) {
            $push->add(message(token($i)));
            $push->add(message(token($i, 'bad0')));
            $push->send();
            // The child has a copy of an error of the parent that was known before the fork, as in the original.
            $errors = $push->getErrors();
            equal('id of ' . token($i, 'bad0'), end($errors)['MESSAGE']->getCustomIdentifier());
        });
    }
    $push->add(message(token(6)));
    $push->send();
    equal(1, count($push->getErrors()));
    $simulator->expectAccepted(array_map('token', array(1, 2, 3, 4, 6)));
});

foreach (array(
    'exit' => array('exit(3);', 3),
    'an exception' => array('throw new Exception("x");', 255),
    'a fatal error' => array('ini_set("memory_limit", "8M"); str_repeat("x", 1 << 30);', 255),
    'its last line' => array('', 0),
) as $name => list($end, $status)) {
    test("What was taken is sent when the program ends with $name", function () use ($end, $status) {
        $simulator = Simulator::with();
        $program = Program::php('
            require "' . __DIR__ . '/support.php";
            restore_error_handler();
            $provider = new Ferry\Provider(json_decode(getenv("OPTIONS"), true));
            $provider->submitTo(["payload" => "{}"], array_map("token", range(0, 1999)), 0);
            ' . $end, array('OPTIONS' => json_encode($simulator->options('http2', array('atExit' => 10)))));
        equal($status, $program->end()[1]);
        $simulator->expectAccepted(array_map('token', range(0, 1999)));
    });
}

test('A program that ends after send() logs what was refused', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.3) + SCRIPT['http2']));
    $program = Program::php('
        require "' . __DIR__ . '/support.php";
        $push = new ApnsPHP_Push(0, getenv("CERT"));
        $push->setSocketSelectTimeout(0);
        $push->connect();
        $push->add(new ApnsPHP_Message(token(1)));
        $push->add(new ApnsPHP_Message(token(2, "bad0")));
        $push->send();
    ', array('FERRY_CONFIG' => $simulator->config('http2'), 'CERT' => Simulator::certificate()));
    holds(strpos($program->output(), 'ERROR: Unable to send message ID 2 [custom identifier: unset]: Invalid token (8).') !== false,
        'a line for the error');
    $simulator->expectAccepted(array(token(1)));
});

test('What waits in the server when the program ends is sent, by its own process only', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.05)));
    $more = array('queueLimit' => 20);
    $program = Program::php('
        require "' . __DIR__ . '/support.php";
        $server = new class(0, getenv("CERT")) extends ApnsPHP_Push_Server {
            public function onShutdown() { echo "own\n"; parent::onShutdown(); }
            public function onChildExited() { echo "never\n"; }
        };
        $server->start();
        for ($i = 0; $i < 300; $i++) {
            $server->add(new ApnsPHP_Message(token($i)));
        }
        if (pcntl_fork() === 0) {
            exit;
        }
        echo count($server->getQueue(false)) > 0 ? "waiting\n" : "none\n";
    ', array('FERRY_CONFIG' => $simulator->config('http2', $more), 'CERT' => Simulator::certificate()));
    $output = $program->output();
    equal(2, substr_count($output, "own\n"));
    holds(strpos($output, "waiting\n") !== false, 'messages that wait: ' . $output);
    holds(strpos($output, 'WARNING: No effect over Ferry: onChildExited.') !== false, 'a warning');
    $simulator->expectAccepted(array_map('token', range(0, 299)));
});

test('With the option "wait" a process may die right after send()', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.3) + SCRIPT['http2']));
    $program = Program::php('
        require "' . __DIR__ . '/support.php";
        $push = new ApnsPHP_Push(0, getenv("CERT"));
        $push->setLogger(new ApnsPHP_Log_Silent());
        $push->connect();
        for ($i = 0; $i < 2000; $i++) {
            $push->add(new ApnsPHP_Message(token($i)));
        }
        $push->send();
        posix_kill(getmypid(), SIGKILL);
    ', array('FERRY_CONFIG' => $simulator->config('http2', array('wait' => true)), 'CERT' => Simulator::certificate()));
    equal(-SIGKILL, $program->end()[1]);
    $simulator->expectAccepted(array_map('token', range(0, 1999)));
});

test('A handler that exits in the middle of send() loses nothing that was taken', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.02)));
    $program = Program::php('
        require "' . __DIR__ . '/support.php";
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, function () use (&$push) {
            echo count($push->getQueue(false));
            exit(7);
        });
        $push = new ApnsPHP_Push(0, getenv("CERT"));
        $push->setLogger(new ApnsPHP_Log_Silent());
        $push->connect();
        for ($i = 0; $i < 20000; $i++) {
            $push->add(new ApnsPHP_Message(token($i)));
        }
        echo "ready\n";
        $push->send();
    ', array('FERRY_CONFIG' => $simulator->config('http2', array('queueLimit' => 500)), 'CERT' => Simulator::certificate()));
    equal('ready', $program->line());
    untilItWaits($program);
    $program->kill(SIGTERM);
    list($left, $status) = $program->end();
    equal(7, $status);
    holds($left > 0 && $left < 20000, "some left, $left");
    $simulator->expectAccepted(array_map('token', range(0, 19999 - $left)));
});
