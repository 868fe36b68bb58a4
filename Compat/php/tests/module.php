<?php
// The module with the backend echo, which needs no server.

use Ferry\Exception as FerryException;
use Ferry\Provider;
use Ferry\Record;

function echoProvider(array $more = array()): Provider
{
    return new Provider(array('backend' => 'echo') + $more);
}

test('The copies of the header are up to date', function () {
    if (!is_file(__DIR__ . '/../../../Sources/CFerry/include/ferry.h')) {
        throw new Skipped('the header is not here');
    }
    (new Program(array(__DIR__ . '/../../generate', '--check')))->output();
});

test('Outcomes come back with the tags, in the form that the README shows', function () {
    $provider = echoProvider();
    $taken = $provider->submit(array(
        array('tag' => PHP_INT_MAX, 'token' => '00ff', 'payload' => array('aps' => array('alert' => 'é/'))),
        array('tag' => 0, 'token' => 'bad0', 'payload' => '{}'),
        array('tag' => 0, 'token' => 'BAD0FF', 'payload' => 'no JSON'),
    ));
    equal(3, $taken);
    equal(Provider::READY_OUTCOMES | Provider::READY_SETTLED, $provider->wait(1));
    $accepted = array(
        'tag' => PHP_INT_MAX, 'outcome' => Provider::ACCEPTED, 'detail' => Provider::CONFIRMED, 'status' => 0, 'reason' => '',
        'legacy' => 0, 'timestamp' => null, 'apnsId' => null,
    );
    $rejected = array(
        'tag' => 0, 'outcome' => Provider::REJECTED, 'detail' => Provider::ORIGIN_APNS, 'status' => 400,
        'reason' => 'BadDeviceToken', 'legacy' => 8,
    ) + $accepted;
    $outcomes = $provider->read();
    $byReason = array_column($outcomes, null, 'reason');
    ksort($accepted);
    ksort($rejected);
    foreach ($byReason as &$outcome) {
        ksort($outcome);
    }
    equal($accepted, $byReason['']);
    equal($rejected, $byReason['BadDeviceToken']);
    equal(3, count($outcomes));
    $ours = array_values(array_diff_key($byReason, array('' => 1, 'BadDeviceToken' => 1)))[0];
    equal(array(Provider::REJECTED, Provider::ORIGIN_FERRY, 7), array($ours['outcome'], $ours['detail'], $ours['legacy']));
    equal(array(), $provider->read());
    $counts = $provider->counts();
    equal(array(3, 0, 1, 2), array($counts['taken'], $counts['unsettled'], $counts['confirmed'], $counts['rejected']));
    equal(3, $provider->report()['taken']);
});

test('Outcomes that differ in their tags alone are read as runs', function () {
    $provider = echoProvider();
    equal(5, $provider->submitTo(array('payload' => '{}'), array('00', '01', '02', '03', '04'), 10));
    $bytes = array("\xba\xd0", "\xba\xd1", "\xba\xd2");
    equal(3, $provider->submitTo(array('payload' => '{}'), $bytes, 20, true));
    $provider->submit(array(array('tag' => 30, 'token' => '00', 'payload' => '{}')));
    $runs = $provider->readRuns(3);
    equal(array(array(10, 11, 12)), array_column($runs, 'tags'));
    $runs = $provider->readRuns();
    equal(array(array(13, 14), array(20), array(21, 22, 30)), array_column($runs, 'tags'));
    $rejected = array('tags' => array(20), 'outcome' => Provider::REJECTED, 'detail' => Provider::ORIGIN_APNS, 'status' => 400,
        'reason' => 'BadDeviceToken', 'legacy' => 8, 'timestamp' => null);
    ksort($rejected);
    ksort($runs[1]);
    equal($rejected, $runs[1]);
    equal(array(), $provider->readRuns());
});

test('A record has the layout of ferry.h', function () {
    $record = Record::pack(array(
        'tag' => 0x0102030405060708, 'token' => 'aaBB', 'payload' => '{"a":1}', 'expiration' => 0x11223344, 'priority' => 5,
        'pushType' => Provider::PUSH_VOIP, 'topic' => 'com.x', 'collapseId' => 'cc',
        'apnsId' => '00112233-4455-6677-8899-AABBCCDDEEFF',
    ));
    $body = '7b2261223a317d' . bin2hex('com.x') . bin2hex('cc') . '00112233445566778899aabbccddeeff';
    equal('38000000' . '0807060504030201' . '44332211' . '03' . '05' . '04' . '02' . '0700' . '05' . '02' . 'aabb' . $body,
        bin2hex($record));
    // No expiration is not the same as 0.
    equal(0, ord(Record::pack(array('token' => '00', 'payload' => '{}'))[16]));
    equal(1, ord(Record::pack(array('token' => '00', 'payload' => '{}', 'expiration' => 0))[16]));
});

test('Values that no record can hold are refused, and nothing is taken', function () {
    $provider = echoProvider();
    $good = array('token' => '00ff', 'payload' => '{}');
    $bad = array(
        array('token' => ''), array('token' => 'abc'), array('token' => 'zz'), array('token' => str_repeat('ab', 101)),
        array('token' => array()), array('token' => null), array('payload' => str_repeat('x', 65536)), array('payload' => 5),
        array('topic' => str_repeat('x', 256)), array('collapseId' => str_repeat('x', 256)), array('tag' => -1),
        array('tag' => '1'), array('tag' => 1.5), array('expiration' => -1), array('expiration' => 1 << 32),
        array('priority' => 256), array('pushType' => 'alert'), array('apnsId' => 'x'), array('apnsId' => '0011'),
        array('apnsId' => str_repeat('0', 40)), array('badge' => 1), array(1),
    );
    foreach ($bad as $fields) {
        raises(InvalidArgumentException::class, "'", function () use ($provider, $good, $fields) {
            $provider->submit(array($good, $fields + $good, $good));
        });
    }
    raises(JsonException::class, 'UTF-8', function () use ($provider) {
        $provider->submit(array(array('token' => '00', 'payload' => array("\xff"))));
    });
    raises(TypeError::class, 'array', function () use ($provider) {
        $provider->submit(array('no array'));
    });
    equal(0, $provider->counts()['taken']);
    // The good ones far before it are taken first.
    $notifications = array_fill(0, 2000, $good);
    $notifications[1500] = array('token' => 'x') + $good;
    $taken = $provider->submit($notifications);
    holds($taken > 500 && $taken <= 1500, "some taken: $taken");
    raises(InvalidArgumentException::class, 'token', function () use ($provider, $notifications) {
        $provider->submit(array_slice($notifications, 1400));
    });
    equal($taken, $provider->counts()['taken']);
    equal(0, $provider->submit(array()));
    equal(1, $provider->submit(array(array('token' => str_repeat('ab', 100), 'payload' => str_repeat('x', 65535)) + $good)));
});

test('One notification goes to many devices', function () {
    $provider = echoProvider();
    $tokens = array();
    for ($i = 0; $i < 5000; $i++) {
        $tokens[] = token($i, $i % 10 === 0 ? 'bad0' : '00');
    }
    equal(5000, $provider->submitTo(array('payload' => array('aps' => array('alert' => 'x'))), $tokens, 7));
    equal(0, $provider->submitTo(array('payload' => '{}'), array(), 0));
    $tags = array();
    while ($outcomes = $provider->read(1000)) {
        foreach ($outcomes as $outcome) {
            equal($outcome['tag'] % 10 === 7, $outcome['outcome'] === Provider::REJECTED);
            $tags[] = $outcome['tag'];
        }
    }
    sort($tags);
    equal(range(7, 5006), $tags);
    foreach (array(array('00', '0000'), array('00', 'zz'), array('00', ''), array('0')) as $bad) {
        raises(InvalidArgumentException::class, 'token', function () use ($provider, $bad) {
            $provider->submitTo(array('payload' => '{}'), $bad, 0);
        });
    }
});

test('A full provider takes nothing, and tells when there is room', function () {
    $provider = echoProvider(array('queueLimit' => 10));
    $batch = array_fill(0, 25, array('token' => '00', 'payload' => '{}'));
    // The backend echo looks at its limit before a call.
    equal(25, $provider->submit($batch));
    equal(0, $provider->submit($batch));
    equal(0, $provider->wait(0) & Provider::READY_ROOM);
    equal(10, count($provider->read(10)));
    equal(0, $provider->submitTo(array('payload' => '{}'), array('00'), 0));
    equal(15, count($provider->read()));
    equal(Provider::READY_ROOM, $provider->wait(1) & Provider::READY_ROOM);
    equal(25, $provider->submit($batch));
});

test('Options that are wrong raise the sentence of the library', function () {
    $error = raises(FerryException::class, "'colour'", function () {
        echoProvider(array('colour' => 1));
    });
    equal(Provider::EOPTIONS, $error->getCode());
    raises(FerryException::class, 'backend', function () {
        new Provider(array());
    });
    raises(FerryException::class, 'share', function () {
        echoProvider()->set(array('share' => 1));
    });
    raises(JsonException::class, 'UTF-8', function () {
        echoProvider(array('host' => "\xff"));
    });
});

test('Calls after the end raise', function () {
    $provider = echoProvider();
    $provider->submit(array(array('token' => '00', 'payload' => '{}')));
    $provider->close(1);
    equal(Provider::ECLOSED, raises(FerryException::class, 'closed', function () use ($provider) {
        $provider->submit(array(array('token' => '00', 'payload' => '{}')));
    })->getCode());
    equal(1, count($provider->read()));
    $provider->free();
    $calls = array('read', 'counts', 'report', 'events', 'fd', 'stream');
    foreach ($calls as $call) {
        equal(Provider::EHANDLE, raises(FerryException::class, 'handle', array($provider, $call))->getCode(), $call);
    }
    foreach (array('wait', 'flush', 'drain', 'close') as $call) {
        raises(FerryException::class, 'handle', function () use ($provider, $call) {
            $provider->$call(0.0);
        });
    }
    $provider->free();
});

test('Waiting ends with its time', function () {
    $provider = echoProvider();
    $start = microtime(true);
    equal(0, $provider->wait(0.25));
    $time = microtime(true) - $start;
    holds($time > 0.24 && $time < 0.6, "0.25 s for $time s");
    equal(0, $provider->wait(-1));
    equal(0, $provider->wait(0));
    equal(0, $provider->drain(0));
    equal(true, $provider->flush(0));
});

test('The descriptor is a stream for event loops', function () {
    $provider = echoProvider();
    $stream = $provider->stream();
    $ready = function () use ($stream) {
        list($read, $write, $except) = array(array($stream), null, null);
        return stream_select($read, $write, $except, 0, 0);
    };
    equal(0, $ready());
    $provider->submit(array(array('token' => '00', 'payload' => '{}')));
    equal(1, $ready());
    while ($provider->wait(0) !== 0) {
        $provider->read();
    }
    equal(0, $ready());
    holds($provider->fd() > 2, 'a descriptor');
});

test('A library that is missing is one sentence', function () {
    $program = Program::php(
        'try { new Ferry\Provider([]); } catch (Ferry\Exception $error) { echo $error->getMessage(); }',
        array('FERRY_LIBRARY' => '/nowhere/libferry.so.0')
    );
    holds(strpos($program->output(), 'Install libferry') === 0, 'the sentence');
});

test('An old library is one sentence', function () {
    $program = Program::php(
        'try { new Ferry\Provider([]); } catch (Ferry\Exception $error) { echo $error->getMessage(); }',
        array('FERRY_LIBRARY' => 'libc.so.6')
    );
    holds(strpos($program->output(), 'libferry is older than this module') === 0, 'the sentence');
});
