<?php
// ApnsPHP_Push, ApnsPHP_Push_Server and ApnsPHP_Feedback in this process.

/** A script for simulators that refuse bad0… in both protocols, and whose devices 909e… are gone. */
const SCRIPT = array(
    'rules' => array(array('prefix' => 'bad0', 'status' => 8)),
    'http2' => array('rules' => array(
        array('prefix' => 'bad0', 'status' => 400, 'reason' => 'BadDeviceToken'),
        array('prefix' => '909e', 'status' => 410),
        array('prefix' => '7000', 'status' => 400, 'reason' => 'TopicDisallowed'),
    )),
);

/** A push object whose FERRY_CONFIG names a simulator. */
function push(Simulator $simulator, string $backend, array $more = array(), string $class = 'ApnsPHP_Push'): ApnsPHP_Push
{
    putenv('FERRY_CONFIG=' . $simulator->config($backend, $more));
    $push = new $class(ApnsPHP_Abstract::ENVIRONMENT_SANDBOX, Simulator::certificate());
    $push->setLogger(new Lines());
    return $push;
}

function message(string $token, string $text = 'Hello'): ApnsPHP_Message
{
    $message = new ApnsPHP_Message($token);
    $message->setText($text);
    $message->setCustomIdentifier("id of $token");
    return $message;
}

foreach (array('http2', 'binary') as $backend) {
    test("Errors have the structure of ApnsPHP, over $backend", function () use ($backend) {
        $simulator = Simulator::with(SCRIPT);
        $push = push($simulator, $backend);
        $push->connect();
        $tokens = array();
        for ($i = 1; $i <= 10; $i++) {
            $tokens[] = token($i, $i === 5 ? 'bad0' : '00');
            $push->add(message(end($tokens)));
        }
        equal(10, count($push->getQueue(false)));
        $push->send();
        equal(array(), $push->getQueue());
        equal(true, $push->disconnect());
        $errors = $push->getErrors();
        equal(array(5), array_keys($errors));
        $error = $errors[5];
        equal(array('MESSAGE', 'BINARY_NOTIFICATION', 'ERRORS'), array_keys($error));
        equal("id of $tokens[4]", $error['MESSAGE']->getCustomIdentifier());
        equal(1, count($error['ERRORS']));
        holds(abs($error['ERRORS'][0]['time'] - time()) < 60, 'the time');
        unset($error['ERRORS'][0]['time']);
        equal(array('command' => 8, 'statusCode' => 8, 'identifier' => 5, 'statusMessage' => 'Invalid token',
            'outcome' => 'rejected'), $error['ERRORS'][0]);
        equal(array(), $push->getErrors());
        unset($tokens[4]);
        $simulator->expectAccepted(array_values($tokens));
        $log = implode("\n", $push->getLogger()->lines);
        holds(strpos($log, 'ERROR: Unable to send message ID 5 ') !== false, 'a line for the error');
    });
}

test('A message for many devices has an entry for each of its errors', function () {
    $push = push(Simulator::with(SCRIPT), 'http2');
    $push->connect();
    $message = message(token(1));
    $message->addRecipient(token(2, 'bad0'));
    $message->addRecipient(token(3));
    $message->setExpiry(30);
    $push->add($message);
    $push->send();
    $errors = $push->getErrors();
    equal(array(2), array_keys($errors));
    $frame = unpack('Ccommand/Nidentifier/Nexpiration/nlength/H64token/npayload', $errors[2]['BINARY_NOTIFICATION']);
    equal(array(1, 2, 32, token(2, 'bad0')), array($frame['command'], $frame['identifier'], $frame['length'], $frame['token']));
    holds(abs($frame['expiration'] - time() - 30) < 5, 'the expiration');
    equal($message->getPayload(), substr($errors[2]['BINARY_NOTIFICATION'], 45));
    $accepted = Simulator::with(SCRIPT)->expectAccepted(array(token(1), token(3)));
    equal($frame['expiration'], $accepted[0]['expiration']);
    equal(array('aps' => array('alert' => 'Hello')), $accepted[0]['payload']);
});

test('A device that is gone is no error; a reason that the gateway never had is 999', function () {
    $push = push(Simulator::with(SCRIPT), 'http2');
    $push->connect();
    foreach (array('909e', '7000', '00') as $i => $prefix) {
        $message = message(token($i, $prefix));
        $message->setExpiry(-1);
        $push->add($message);
    }
    $push->send();
    $errors = $push->getErrors();
    equal(array(2), array_keys($errors));
    equal(999, $errors[2]['ERRORS'][0]['statusCode']);
    equal('Internal error (rejected: TopicDisallowed)', $errors[2]['ERRORS'][0]['statusMessage']);
    equal(0, Simulator::with(SCRIPT)->expectAccepted(array(token(2)))[0]['expiration']);
});

test('getErrors(false) leaves the errors until the next send(), and unread ones stay', function () {
    $simulator = Simulator::with(SCRIPT);
    $push = push($simulator, 'http2');
    $push->connect();
    $send = function ($number) use ($push) {
        $push->add(message(token($number, 'bad0')));
        $push->send();
    };
    $identifiers = function (array $errors) {
        return array_map(function ($error) {
            return substr($error['MESSAGE']->getCustomIdentifier(), -1);
        }, array_values($errors));
    };
    $send(1);
    $send(2);
    $send(3);
    $errors = $push->getErrors(false);
    equal(array('1', '2', '3'), $identifiers($errors));
    equal(array(1, 2, 3), array_keys($errors));
    equal($errors, $push->getErrors(false));
    $send(4);
    equal(array('4'), $identifiers($push->getErrors()));
});

test('2,000 single calls of send() do not wait for answers', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 0.05)));
    $push = push($simulator, 'http2');
    $push->connect();
    $tokens = array();
    $start = microtime(true);
    for ($i = 0; $i < 2000; $i++) {
        $tokens[] = token($i);
        $push->add(message(token($i)));
        $push->send();
    }
    $time = microtime(true) - $start;
    holds($time < 10, "less than 10 s for $time s");
    equal(array(), $push->getErrors());
    $simulator->expectAccepted($tokens);
});

test('With the option "wait" send() returns at the outcomes', function () {
    $push = push(Simulator::with(array('http2' => array('answerDelaySeconds' => 0.3))), 'http2', array('wait' => true));
    $push->connect();
    $push->add(message(token(1)));
    $start = microtime(true);
    $push->send();
    holds(microtime(true) - $start >= 0.3, 'send() waits for the answer');
    Simulator::with(array('http2' => array('answerDelaySeconds' => 0.3)))->accepted(1);
});

test('Objects with the same options use one connection, each with its own errors', function () {
    $simulator = Simulator::with(SCRIPT);
    $one = push($simulator, 'http2');
    $config = getenv('FERRY_CONFIG');
    $other = push($simulator, 'http2');
    putenv("FERRY_CONFIG=$config");
    foreach (array($one, $other) as $i => $push) {
        $push->connect();
        $push->add(message(token($i)));
        $push->add(message(token(8 + $i, 'bad0')));
    }
    $one->send();
    $other->send();
    $connections = array_column($simulator->expectAccepted(array(token(0), token(1))), 'connection');
    equal(1, count(array_unique($connections)), 'connections');
    foreach (array($one, $other) as $i => $push) {
        $errors = $push->getErrors();
        equal(array('id of ' . token(8 + $i, 'bad0')), array_map(function ($error) {
            return $error['MESSAGE']->getCustomIdentifier();
        }, array_values($errors)));
    }
});

test('Settings without effect are kept, and the log names them', function () {
    $push = push(Simulator::with(SCRIPT), 'http2');
    $push->setWriteInterval(5);
    $push->setConnectRetryInterval(6);
    $push->setSocketSelectTimeout(7);
    $push->setSendRetryTimes(8);
    $push->setConnectTimeout(9);
    $push->setConnectRetryTimes(10);
    equal(array(5, 6, 7, 8, 9, 10), array(
        $push->getWriteInterval(), $push->getConnectRetryInterval(), $push->getSocketSelectTimeout(),
        $push->getSendRetryTimes(), $push->getConnectTimeout(), $push->getConnectRetryTimes(),
    ));
    $push->connect();
    equal('WARNING: No effect over Ferry: setWriteInterval, setConnectRetryInterval, setSendRetryTimes.',
        $push->getLogger()->lines[0]);
});

test('Mistakes raise what ApnsPHP raised', function () {
    $certificate = (function () {
        Simulator::with(SCRIPT);
        return Simulator::certificate();
    })();
    raises(ApnsPHP_Exception::class, 'environment', function () use ($certificate) {
        new ApnsPHP_Push(7, $certificate);
    });
    raises(ApnsPHP_Exception::class, 'certificate file', function () {
        new ApnsPHP_Push(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, '/nowhere.pem');
    });
    $push = push(Simulator::with(SCRIPT), 'http2');
    raises(ApnsPHP_Exception::class, 'Authority', function () use ($push) {
        $push->setRootCertificationAuthority('/nowhere.pem');
    });
    raises(ApnsPHP_Push_Exception::class, 'Not connected', array($push, 'send'));
    $push->connect();
    raises(ApnsPHP_Push_Exception::class, 'No notifications', array($push, 'send'));
    $push->disconnect();
    equal(false, $push->disconnect());
    $push->add(message(token(1)));
    raises(ApnsPHP_Push_Exception::class, 'Not connected', array($push, 'send'));
    raises(ApnsPHP_Exception::class, 'does not exist', function () use ($push) {
        $push->onNothing();
    });

    putenv('FERRY_CONFIG');
    $push = new ApnsPHP_Push(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, newFile('no certificate'));
    $push->setLogger(new ApnsPHP_Log_Silent());
    raises(ApnsPHP_Exception::class, "Unable to connect to 'tls://gateway.push.apple.com:2195'", array($push, 'connect'));
});

test('Each cause that libferry names has words', function () {
    $named = array_filter((new ReflectionClass(Ferry\Provider::class))->getConstants(), function ($name) {
        return strpos($name, 'CAUSE_') === 0 && $name !== 'CAUSE_OTHER';
    }, ARRAY_FILTER_USE_KEY);
    $words = (new ReflectionClassConstant(ApnsPHP_Push::class, 'CAUSES'))->getValue();
    equal(array(), array_keys(array_diff_key(array_flip($named), $words)));
});

test('A subclass names its own gateway; one that replaces what is not called is told', function () {
    $simulator = Simulator::with(SCRIPT);
    putenv('FERRY_CONFIG');
    $push = new class($simulator->ports['binary'], Simulator::certificate()) extends ApnsPHP_Push {
        public function __construct($port, $certificate)
        {
            parent::__construct(self::ENVIRONMENT_SANDBOX, $certificate);
            $this->_aServiceURLs[self::ENVIRONMENT_SANDBOX] = "tls://localhost:$port";
        }
    };
    $push->setLogger(new Lines());
    $push->setRootCertificationAuthority(Simulator::authority());
    $push->connect();
    $push->add(message(token(1)));
    $push->send();
    equal(array(), $push->getErrors());
    equal(2, $simulator->expectAccepted(array(token(1)))[0]['command']);
    raises(ApnsPHP_Exception::class, '_updateQueue', function () {
        new class(0, Simulator::certificate()) extends ApnsPHP_Push {
            protected function _updateQueue($aErrorMessage = null)
            {
            }
        };
    });
});

test('A server that is not there raises in send(), and the messages stay in the queue', function () {
    $simulator = Simulator::with(SCRIPT);
    $push = push($simulator, 'http2', array('port' => 1, 'connectionRetryLimit' => 0, 'deadline' => 1));
    $push->connect();
    $push->add(message(token(1)));
    $push->add(message(token(2)));
    for ($i = 0; $i < 2; $i++) {
        raises(ApnsPHP_Exception::class, "Unable to connect to 'tls://gateway.sandbox.push.apple.com:2195': ", array($push, 'send'));
        equal(array(), $push->getErrors());
        equal(array(1, 2), array_keys($push->getQueue(false)));
    }
    $push->disconnect();
    putenv('FERRY_CONFIG=' . $simulator->config('http2'));
    $push->connect();
    $push->add(message(token(3)));
    $push->send();
    equal(array(), $push->getErrors());
    $simulator->expectAccepted(array(token(1), token(2), token(3)));
});

foreach (array('http2', 'binary') as $backend) {
    test("A certificate that is refused raises what a failed handshake raised, over $backend", function () use ($backend) {
        $simulator = Simulator::with(array('handshake' => 'refuseClient', 'http2' => array('handshake' => 'refuseClient')));
        $push = push($simulator, $backend, array('deadline' => 5));
        $push->connect();
        $push->add(message(token(1)));
        raises(ApnsPHP_Exception::class, 'refused the client certificate', array($push, 'send'));
        equal(1, count($push->getQueue()));
    });
}

test('A message that the server does not take before the deadline is told as undelivered', function () {
    $script = array('http2' => array('rules' => array(array('prefix' => '5e', 'action' => 'refuseStream'))));
    $push = push(Simulator::with($script), 'http2', array('deadline' => 1));
    $push->connect();
    $push->add(message(token(1, '5e')));
    $push->send();
    $error = $push->getErrors()[1]['ERRORS'][0];
    equal(array(999, 'undelivered'), array($error['statusCode'], $error['outcome']));
    equal('Internal error (undelivered: not sent in time)', $error['statusMessage']);
});

test('A message that may have arrived is told as uncertain', function () {
    $simulator = Simulator::with(array('http2' => array('rules' => array(
        array('prefix' => '5e', 'action' => 'loseAnswer'),
    ))));
    $push = push($simulator, 'http2');
    $push->connect();
    $push->add(message(token(1, '5e')));
    $push->send();
    $error = $push->getErrors()[1]['ERRORS'][0];
    equal(array(999, 'uncertain'), array($error['statusCode'], $error['outcome']));
    equal(1, count($simulator->accepted(1)));
});

test('The server sends while the program goes on, and ends at a signal', function () {
    $simulator = Simulator::with(SCRIPT);
    $server = push($simulator, 'http2', array(), 'ApnsPHP_Push_Server');
    $server->setProcesses(2);
    $server->add(message(token(0)));
    equal(1, count($server->getQueue(false)));
    equal(false, $server->run());
    $server->start();
    $tokens = array(token(0));
    for ($i = 1; $i <= 100 && $server->run(); $i++) {
        $tokens[] = token($i);
        $server->add(message(token($i)));
    }
    $server->add(message(token(500, 'bad0')));
    $errors = array();
    eventually('an error', function () use ($server, &$errors) {
        equal(true, $server->run());
        $errors = array_merge($errors, $server->getErrors());
        return $errors !== array();
    });
    equal(array(0), array_keys($errors));
    equal(array(200000, 524288, 1000, 999), array($server::MAIN_LOOP_USLEEP, $server::SHM_SIZE,
        $server::SHM_MESSAGES_QUEUE_KEY_START, $server::SHM_ERROR_MESSAGES_QUEUE_KEY));
    $server->onChildExited();
    equal(8, $errors[0]['ERRORS'][0]['statusCode']);
    $server->add(message(token(101)));
    $tokens[] = token(101);
    posix_kill(getmypid(), SIGTERM);
    equal(false, $server->run());
    $simulator->expectAccepted($tokens);
    foreach (array(SIGTERM, SIGQUIT, SIGINT) as $signal) {
        pcntl_signal($signal, SIG_DFL);
    }
});

test('The server stops when no connection can be made, and starts again', function () {
    $more = array('port' => 1, 'connectionRetryLimit' => 0, 'deadline' => 1);
    $simulator = Simulator::with(SCRIPT);
    $server = push($simulator, 'http2', $more, 'ApnsPHP_Push_Server');
    $server->start();
    $server->add(message(token(1)));
    eventually('the end', function () use ($server) {
        return !$server->run();
    });
    equal(array(), $server->getErrors());
    equal(1, count($server->getQueue(false)));
    putenv('FERRY_CONFIG=' . $simulator->config('http2'));
    $server->disconnect();
    $server->start();
    $server->disconnect();
    equal(array(), $server->getQueue());
    $simulator->expectAccepted(array(token(1)));
    foreach (array(SIGTERM, SIGQUIT, SIGINT) as $signal) {
        pcntl_signal($signal, SIG_DFL);
    }
});

test('ApnsPHP_Feedback reads the file of those who are gone, and a service', function () {
    $script = SCRIPT + array('feedback' => array('tuples' => array(array('token' => token(7), 'time' => 1600000000))));
    $simulator = Simulator::with($script);
    $file = scratch() . '/gone-for-feedback';
    $push = push($simulator, 'http2', array('feedback' => $file));
    $push->connect();
    $push->add(message(token(1, '909e')));
    $push->send();
    $push->disconnect();
    equal(array(), $push->getErrors());
    $receive = function () {
        $feedback = new ApnsPHP_Feedback(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, Simulator::certificate());
        $feedback->setLogger(new Lines());
        raises(ApnsPHP_Exception::class, 'Not connected', array($feedback, 'receive'));
        $feedback->connect();
        $tuples = $feedback->receive();
        equal(true, $feedback->disconnect());
        return $tuples;
    };
    $tuples = $receive();
    equal(array(token(1, '909e'), 32), array($tuples[0]['deviceToken'], $tuples[0]['tokenLength']));
    holds(abs($tuples[0]['timestamp'] - time()) < 60, 'the time');
    equal(1, count($tuples));
    equal(array(), $receive());
    putenv('FERRY_CONFIG=' . $simulator->config('binary'));
    equal(array(array('timestamp' => 1600000000, 'tokenLength' => 32, 'deviceToken' => token(7))), $receive());
    putenv('FERRY_CONFIG=' . $simulator->config('binary', array('feedbackPort' => 1)));
    raises(ApnsPHP_Exception::class, 'Unable to connect', $receive);
    putenv('FERRY_CONFIG');
    raises(ApnsPHP_Exception::class, 'feedback', $receive);
});

test('FERRY_CONFIG may say that only failures are read', function () {
    $simulator = Simulator::with(SCRIPT);
    $push = push($simulator, 'http2', array('outcomes' => 'failures'));
    $push->setSocketSelectTimeout(100000);
    $push->connect();
    $push->add(message(token(1)));
    $push->add(message(token(2, 'bad0')));
    $push->send();
    equal(array(2), array_keys($push->getErrors()));
    $push->add(message(token(3)));
    $push->send();
    equal(array(), $push->getErrors());
    $simulator->expectAccepted(array(token(1), token(3)));
});

test('A key with a passphrase opens, and the authority of setRootCertificationAuthority() decides', function () {
    $simulator = Simulator::with(SCRIPT);
    $key = scratch() . '/tls/client-key.pem';
    openssl_pkey_export(openssl_pkey_get_private("file://$key"), $encrypted, 'secret');
    $certificate = newFile(file_get_contents(scratch() . '/tls/client.pem') . $encrypted, '.pem');
    $options = $simulator->options('http2');
    unset($options['cert'], $options['ca']);
    putenv('FERRY_CONFIG=' . newFile(json_encode($options)));
    $push = function ($passphrase, $authority) use ($certificate) {
        $push = new ApnsPHP_Push(ApnsPHP_Abstract::ENVIRONMENT_SANDBOX, $certificate);
        $push->setLogger(new Lines());
        $push->setProviderCertificatePassphrase($passphrase);
        $push->setRootCertificationAuthority($authority);
        $push->connect();
        $push->add(message(token(1)));
        $push->send();
        return $push;
    };
    raises(ApnsPHP_Exception::class, 'Unable to connect', function () use ($push) {
        $push('wrong', Simulator::authority());
    });
    raises(ApnsPHP_Exception::class, 'Unable to connect', function () use ($push) {
        $push('secret', scratch() . '/tls/client.pem');
    });
    equal(Simulator::authority(), $push('secret', Simulator::authority())->getCertificateAuthority());
    $simulator->expectAccepted(array(token(1)));
});

test('The standard logger writes to standard output', function () {
    ob_start();
    (new ApnsPHP_Log_Embedded())->log(" INFO: x \n");
    $line = ob_get_clean();
    holds((bool) preg_match('/^\w+, .* ApnsPHP\[' . getmypid() . '\]: INFO: x\n$/', $line), $line);
});
