<?php
// push(): from tokens to answers in one call.

use Ferry\Exception as FerryException;

function pushTo($tokens, array $options = array())
{
    // Tests of the drop-in set it.
    putenv('FERRY_CONFIG');
    return Ferry\push($tokens, array('aps' => array('alert' => 'Hé')), $options + array('backend' => 'echo'));
}

test('Each token has its answer, under the key of the token', function () {
    $bad = array('zz', '0', '', null, str_repeat('00', 101));
    $tokens = array_merge(array('00ff', 'bad0', '909e', 'dead', '<00bd 1234>'), $bad, array('last' => 'AABB'));
    $answers = pushTo($tokens);
    equal($tokens, array_column($answers, 'token') === array_values($tokens) ? $tokens : null);
    equal(array_keys($tokens), array_keys($answers));
    $rejected = array_fill(0, 5, 'rejected');
    equal(
        array_merge(array('accepted', 'rejected', 'rejected', 'undelivered', 'uncertain'), $rejected, array('accepted')),
        array_column($answers, 'outcome')
    );
    equal(
        array_merge(
            array(null, 'BadDeviceToken', 'Unregistered', 'noConnection', 'positionUnknown'),
            array_fill(0, 5, 'BadDeviceToken'), array(null)
        ),
        array_column($answers, 'reason')
    );
    equal(array(null, 400, 410, null), array_slice(array_column($answers, 'status'), 0, 4));
    equal(array(true, false), array($answers[0]->accepted, $answers[1]->accepted));
});

test('One token has one answer, which is a sentence', function () {
    $sentence = 'rejected: BadDeviceToken (400). The device token is invalid';
    equal($sentence, substr((string) pushTo('bad0'), 0, strlen($sentence)));
    equal('accepted (confirmed)', (string) pushTo('00ff', array('pushType' => 'liveactivity', 'priority' => 5)));
    equal(array(), pushTo(array()));
});

test('More tokens than there is room for all have answers', function () {
    $answers = pushTo(array_map('token', range(1, 1000)), array('queueLimit' => 50));
    equal(array('accepted' => 1000), array_count_values(array_column($answers, 'outcome')));
});

test('A notification that has no form of bytes raises, and so does a wrong option', function () {
    $wrong = array('pushType' => 'none', 'priority' => 256, 'expiration' => -1, 'collapseId' => str_repeat('x', 256));
    foreach ($wrong as $name => $value) {
        raises(InvalidArgumentException::class, "'$name'", function () use ($name, $value) {
            pushTo('00ff', array($name => $value));
        });
    }
    raises(FerryException::class, 'colour', function () {
        pushTo('00ff', array('colour' => 1));
    });
});

test('More sets of options than there can be shared providers are served', function () {
    for ($i = 0; $i < 70; $i++) {
        equal(true, pushTo('00ff', array('queueLimit' => 100 + $i))->accepted);
    }
});

test('Answers have the words, the identifier and the time of APNs', function () {
    $simulator = Simulator::with(array('http2' => array('requiresToken' => false, 'rules' => array(
        array('prefix' => 'bad0', 'status' => 400, 'reason' => 'BadDeviceToken'),
        array('prefix' => '909e', 'status' => 410, 'timestamp' => 1600000000000),
    ))));
    $options = $simulator->options('http2', array('topic' => 'com.example.ferry', 'priority' => 5, 'pushType' => 'background'));
    putenv('FERRY_CONFIG');
    $answers = Ferry\push(array(token(1), token(2, 'bad0'), token(3, '909e')), '{"aps":{}}', $options);
    equal(array('accepted', 36), array($answers[0]->outcome, strlen($answers[0]->apnsId)));
    equal(array('BadDeviceToken', 400), array($answers[1]->reason, $answers[1]->status));
    equal(array('Unregistered', 1600000000000), array($answers[2]->reason, $answers[2]->timestamp));
    $late = Ferry\push(token(4), '{"aps":{}}', array('port' => 1, 'deadline' => 1) + $options);
    equal(array('undelivered', 'noConnection'), array($late->outcome, $late->reason));
});

test('What is not given comes from the environment, and credentials never mix', function () {
    $simulator = Simulator::with();
    $options = $simulator->options('http2');
    $environment = array(
        'FERRY_HOST' => 'localhost', 'FERRY_PORT' => (string) $options['port'], 'FERRY_CA' => $options['ca'],
        'FERRY_TOPIC' => 'com.example.ferry', 'FERRY_P8' => dirname($options['ca']) . '/token-key.p8',
        'FERRY_KEY_ID' => 'FERRYKEY01', 'FERRY_TEAM_ID' => 'FERRYTEAM1',
    );
    $code = "echo Ferry\\push('%s', ['aps' => []]), \"\\n\", Ferry\\push('%s', ['aps' => []], ['cert' => '%s']);";
    $program = Program::php(sprintf($code, token(10), token(11), $options['cert']), $environment);
    equal("accepted (confirmed)\naccepted (confirmed)", $program->output());
});

test('The first lines of the page run', function () {
    preg_match('/## Send.*?```php\n(.*?)```/s', file_get_contents(__DIR__ . '/../README.md'), $found);
    equal(3, substr_count($found[1], "\n"));
    $code = str_replace("'vendor/autoload.php'", "'" . __DIR__ . "/../Ferry.php'", $found[1]);
    $program = new Program(array(PHP_BINARY, newFile($code, '.php')), array('FERRY_BACKEND' => 'echo'));
    equal("accepted (confirmed)\n", $program->output());
});
