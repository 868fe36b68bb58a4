<?php
// The module against simulated servers.

use Ferry\Feedback;
use Ferry\Provider;

/** Submits everything, reads outcomes while there is no room, and returns the outcomes by tag. */
function sendAll(Provider $provider, array $notifications): array
{
    $outcomes = array();
    while ($notifications || $provider->counts()['unsettled'] > 0) {
        $notifications = array_slice($notifications, $provider->submit($notifications));
        $provider->wait(1);
        foreach ($provider->read() as $outcome) {
            holds(!isset($outcomes[$outcome['tag']]), 'one outcome for each');
            $outcomes[$outcome['tag']] = $outcome;
        }
    }
    while ($last = $provider->read()) {
        $outcomes += array_column($last, null, 'tag');
    }
    return $outcomes;
}

function notifications(int $count, array $more = array()): array
{
    return array_map(function ($i) use ($more) {
        return $more + array('tag' => $i, 'token' => token($i), 'payload' => '{"aps":{"alert":"x"}}');
    }, range(0, $count - 1));
}

foreach (array('http2', 'binary') as $backend) {
    test("20,000 notifications go over $backend through a small queue, each once", function () use ($backend) {
        $simulator = Simulator::with();
        $notifications = notifications(20000);
        $provider = new Provider($simulator->options($backend, array('queueLimit' => 1000)));
        $outcomes = sendAll($provider, $notifications);
        equal(20000, count($outcomes));
        equal(array(Provider::ACCEPTED), array_values(array_unique(array_column($outcomes, 'outcome'))));
        $accepted = $simulator->expectAccepted(array_column($notifications, 'token'));
        foreach ($accepted as $line) {
            equal(isset($line['apnsId']) ? $line['apnsId'] : null, $outcomes[hexdec(substr($line['token'], -8))]['apnsId']);
        }
    });
}

test('Everything in a record reaches the server, and everything in its answer comes back', function () {
    $simulator = Simulator::with(array('http2' => array('rules' => array(
        array('prefix' => '909e', 'status' => 410, 'timestamp' => 1700000000123),
    ))));
    $provider = new Provider($simulator->options('http2'));
    $id = '0a0b0c0d-1111-2222-8333-444455556666';
    $outcomes = sendAll($provider, array(
        array('tag' => 1, 'token' => token(1), 'payload' => array('aps' => array('content-available' => 1)),
            'expiration' => 1900000000, 'priority' => 5, 'pushType' => Provider::PUSH_BACKGROUND, 'collapseId' => 'c',
            'apnsId' => $id),
        array('tag' => 2, 'token' => token(2, '909e'), 'payload' => '{}'),
    ));
    $accepted = $simulator->expectAccepted(array(token(1)))[0];
    equal(array($id, 'background', 1900000000, 5, 'c'), array(
        $accepted['apnsId'], $accepted['pushType'], $accepted['expiration'], $accepted['priority'], $accepted['collapseId'],
    ));
    equal($id, $outcomes[1]['apnsId']);
    equal(array(410, 'Unregistered', 0, 1700000000123), array(
        $outcomes[2]['status'], $outcomes[2]['reason'], $outcomes[2]['legacy'], $outcomes[2]['timestamp'],
    ));
});

test('flush() returns when everything was written, before its outcome', function () {
    $simulator = Simulator::with(array('http2' => array('answerDelaySeconds' => 1)));
    $provider = new Provider($simulator->options('http2'));
    equal(1, $provider->submit(notifications(1)));
    $start = microtime(true);
    equal(true, $provider->flush(5));
    holds(microtime(true) - $start < 0.7, 'less than the time of an answer');
    equal(1, $provider->counts()['unsettled']);
    equal(1, $provider->drain(0.1));
    equal(0, $provider->drain(5));
});

test('Events come as arrays', function () {
    $provider = new Provider(Simulator::with()->options('http2', array('events' => 100)));
    sendAll($provider, notifications(1));
    $events = array_column($provider->events(), 'event');
    holds(in_array('connected', $events, true), 'an event "connected"');
    equal(array(), $provider->events());
    Simulator::with()->expectAccepted(array(token(0)));
});

test('The share of a migration changes while it runs', function () {
    $simulator = Simulator::with();
    $sides = array('http2' => $simulator->options('http2'), 'binary' => $simulator->options('binary'));
    unset($sides['http2']['backend'], $sides['binary']['backend']);
    $provider = new Provider(array('backend' => 'migrate', 'share' => 0) + $sides);
    sendAll($provider, notifications(20));
    equal(20, count(array_filter(array_column($simulator->expectAccepted(array_column(notifications(20), 'token')), 'command'))));
    $provider->set(array('share' => 100));
    sendAll($provider, notifications(20));
    equal(20, count(array_column($simulator->expectAccepted(array_column(notifications(20), 'token')), 'apnsId')));
});

test('A provider that is dropped sends what it took', function () {
    $simulator = Simulator::with();
    (function () use ($simulator) {
        equal(500, (new Provider($simulator->options('http2')))->submit(notifications(500)));
    })();
    $simulator->expectAccepted(array_column(notifications(500), 'token'));
});

test('A feedback list is read to its end, of a service and of a file', function () {
    $simulator = Simulator::with(array(
        'feedback' => array('tuples' => array(
            array('token' => token(1), 'time' => 1600000000), array('token' => 'ff', 'time' => 4294967295),
        )),
        'http2' => array('rules' => array(array('prefix' => '909e', 'status' => 410, 'timestamp' => 1700000000000))),
    ));
    $options = $simulator->options('binary');
    unset($options['port']);
    $options['config'] = newFile(json_encode(array('feedbackPort' => $simulator->ports['feedback'])));
    $feedback = new Feedback(array('backend' => 'auto') + $options);
    equal(array(array('time' => 1600000000, 'token' => token(1)), array('time' => 4294967295, 'token' => 'ff')), $feedback->read());
    equal(array(), $feedback->read());

    $file = scratch() . '/gone';
    sendAll(new Provider($simulator->options('http2', array('feedback' => $file))), array(
        array('tag' => 1, 'token' => token(1, '909e'), 'payload' => '{}'),
        array('tag' => 2, 'token' => token(2), 'payload' => '{}'),
    ));
    $options = array('backend' => 'auto', 'host' => 'gateway.push.apple.com', 'feedback' => $file);
    $feedback = new Feedback($options + array('cert' => Simulator::certificate()));
    equal(array(array('time' => 1700000000, 'token' => token(1, '909e'))), $feedback->read());
    equal(array(), $feedback->read());
    $feedback->free();
    holds(!file_exists($file), 'the file is gone');
});

test('A feedback list that cannot be read to its end raises after its last tuple', function () {
    $simulator = Simulator::with(array('feedback' => array(
        'tuples' => array(array('token' => 'aa', 'time' => 1), array('token' => 'bb', 'time' => 2)), 'fault' => 'truncates',
    )));
    $options = $simulator->options('binary', array('feedbackPort' => $simulator->ports['feedback']));
    $feedback = new Feedback($options);
    equal(array(array('time' => 1, 'token' => 'aa')), $feedback->read());
    $error = raises(Ferry\Exception::class, '', array($feedback, 'read'));
    equal(Provider::EPEER, $error->getCode());
    holds(strlen($error->getMessage()) > 10, 'a sentence');
});
