# AnyEvent::APNS.

use 5.010;
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/lib";
use Simulator;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'AnyEvent is not installed' unless eval { require AnyEvent };
require AnyEvent::APNS;

plan skip_all => 'there is no command ferry' unless Simulator->is_there;
my $simulator = Simulator->new(http2 => { %{ $Simulator::SCRIPT{http2} }, answerDelaySeconds => 0.05 });
$ENV{FERRY_CONFIG} = $simulator->config('http2');
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my %files = (certificate => $simulator->cert, private_key => $simulator->key);

sub token { pack 'H*', $_[0] }

# Waits for a condition variable, for at most 10 s.
sub received {
    my ($done) = @_;
    my $guard = AnyEvent->timer(after => 10, cb => sub { $done->croak('nothing came') });
    return $done->recv;
}

# Runs the event loop for a while.
sub run_loop {
    my ($seconds) = @_;
    my $done = AnyEvent->condvar;
    my $timer = AnyEvent->timer(after => $seconds, cb => $done);
    $done->recv;
}

# As in the synopsis.
{
    my $cv = AnyEvent->condvar;
    my @calls;
    my $apns; $apns = AnyEvent::APNS->new(
        %files,
        sandbox    => 1,
        on_error   => sub { push @calls, "error $_[2]" },
        on_connect => sub {
            push @calls, 'connect';
            push @calls, 'sent ' . $apns->send(token('00ff') => { aps => { alert => '☺', badge => '3' } });
        },
    );
    ok !$apns->connected, 'a new object is not connected';
    is $apns->handler, undef, 'and has no handler';
    is $apns->connect, $apns, 'connect returns the object';
    ok $apns->connected, 'then it is connected';
    $apns->handler->on_drain(sub {
        push @calls, 'drain';
        undef $_[0];
        $cv->send;
    });
    received($cv);
    is_deeply \@calls, ['connect', 'sent 1', 'drain'], 'the callbacks come in order';
    my ($line) = $simulator->accepted(1);
    is_deeply $line->{payload}, { aps => { alert => '☺', badge => 3 } }, 'the payload arrives';
    cmp_ok abs($line->{expiration} - time - 24 * 3600), '<', 60, 'and is valid for a day';
    $apns->connect;
    like "@{[splice @warnings]}", qr/a connection already/, 'a second connect is warned of';
}

# Error responses.
{
    my $done = AnyEvent->condvar;
    my @responses;
    my $apns = AnyEvent::APNS->new(
        certificate => \Simulator::read_file($simulator->cert),
        private_key => \Simulator::read_file($simulator->key),
        on_error_response => sub { push @responses, "@_"; $done->send if @responses == 3 },
    );
    $apns->connect;
    $apns->last_identifier(4_294_967_293);
    is_deeply [map { $apns->send(token($_), { aps => {} }, 0) } qw(00fe bad0 bad0 909e), 'ab' x 101],
        [4_294_967_294, 4_294_967_295, 0, 1, 2], 'identifiers have 32 bits';
    received($done);
    is_deeply [sort @responses], ['0 8', '2 5', '4294967295 8'], 'error responses have identifier and status';
}

# A long text.
{
    my $apns = AnyEvent::APNS->new(%files);
    $apns->connect;
    my $drained = AnyEvent->condvar;
    my $payload = { aps => { alert => '☺' x 500 } };
    $apns->send(token('00aa'), $payload);
    $apns->handler->on_drain(sub { $drained->send });
    received($drained);
    my ($line) = grep { $_->{token} eq '00aa' } $simulator->accepted(3);
    is $line->{payload}{aps}{alert}, '☺' x 78, 'the text of a long payload is cut at 256 bytes';
    is length $payload->{aps}{alert}, 500, 'but not in the hash of the program';
}

# Text, with and without a coder of the program.
{
    my $apns = AnyEvent::APNS->new(%files);
    $apns->connect;
    $apns->send(token('00ba'), { aps => { alert => 'Grüße' } });
    $apns->json_driver(JSON::PP->new);
    $apns->send(token('00bb'), { aps => { alert => 'Grüße' } });
    $apns->json_driver(JSON::PP->new->utf8);
    $apns->send(token('00bc'), { aps => { alert => 'Grüße ☺' } });
    my $drained = AnyEvent->condvar;
    $apns->handler->on_drain(sub { $drained->send });
    received($drained);
    my %alert = map { $_->{token} => $_->{payload}{aps}{alert} } $simulator->accepted(6);
    is_deeply [@alert{qw(00ba 00bb 00bc)}], ['Grüße', 'Grüße', 'Grüße ☺'], 'text arrives as it was';
}

# on_drain comes again, and while nothing happens the loop rests.
{
    my $apns = AnyEvent::APNS->new(%files);
    $apns->connect;
    my $drains = 0;
    my $done = AnyEvent->condvar;
    $apns->handler->on_drain(sub { $drains++; $done->send });
    for (1 .. 2) {
        $done = AnyEvent->condvar;
        $apns->send(token('00ff'), { aps => {} });
        received($done);
    }
    is $drains, 2, 'on_drain comes after each write';
    run_loop(0.2);
    my $before = (times)[0] + (times)[1];
    run_loop(0.5);
    cmp_ok +(times)[0] + (times)[1] - $before, '<', 0.2, 'the loop rests afterwards';
}

# A full queue does not stop the loop.
{
    my $slow = Simulator->new(http2 => { maxConcurrentStreams => 1 });
    local $ENV{FERRY_CONFIG} = $slow->config('http2', queueLimit => 3);
    my $apns = AnyEvent::APNS->new(%files);
    $apns->connect;
    my $start = time;
    $apns->send(token(sprintf '%04x', $_), { aps => {} }) for 1 .. 200;
    cmp_ok time - $start, '<', 1, 'send does not wait for room';
    my $drained = AnyEvent->condvar;
    $apns->handler->on_drain(sub { $drained->send });
    received($drained);
    is scalar($slow->accepted(200)), 200, 'and all arrives in time';
}

# Errors.
{
    my $refusing = Simulator->new(handshake => 'refuseClient', http2 => { handshake => 'refuseClient' });
    for my $case (
        ['binary', [], qr/credentials.*refused/],
        ['http2', [port => 1, connectionRetryLimit => 0], qr/Connection refused/],
    ) {
        local $ENV{FERRY_CONFIG} = $refusing->config($case->[0], @{ $case->[1] });
        my $failed = AnyEvent->condvar;
        my $apns; $apns = AnyEvent::APNS->new(%files, on_error => sub { $failed->send(@_) },
            on_connect => sub { $apns->send(token('00ff'), { aps => {} }) });
        $apns->connect;
        my ($handle, $fatal, $message) = received($failed);
        isa_ok $handle, 'AnyEvent::APNS::Handler', 'on_error gets the handler';
        is $fatal, 1, 'and that the error is fatal';
        like $message, $case->[2], 'and what was wrong';
        like $message, qr/identifier 1\z/, 'and with which notification';
        ok !$apns->connected, 'then there is no connection';
        eval { $apns->send(token('00ff'), { aps => {} }) };
        like $@, qr/not connected/, 'and send fails';
    }
    my $failed = AnyEvent->condvar;
    my $apns = AnyEvent::APNS->new(certificate => '/none/such', private_key => '/none/such',
        on_error => sub { $failed->send(@_) });
    $apns->connect;
    like +(received($failed))[2], qr/does not exist/, 'a certificate that is absent is told to on_error';
}
{
    my $strict = Simulator->new(http2 => { rules => [{ prefix => '00', reason => 'TopicDisallowed' }] });
    local $ENV{FERRY_CONFIG} = $strict->config('http2');
    my $failed = AnyEvent->condvar;
    my $apns; $apns = AnyEvent::APNS->new(%files, on_error => sub { $failed->send(@_) });
    $apns->connect;
    $apns->send(token('00ff'), { aps => {} });
    my ($handle, $fatal, $message) = received($failed);
    is $fatal, 0, 'an error of one notification is not fatal';
    like $message, qr/TopicDisallowed.*identifier 1/, 'and is told';
    ok $apns->connected, 'and the connection stays';
}
{
    # A callback that dies keeps no other from its news.
    my @responses;
    my $done = AnyEvent->condvar;
    my $apns = AnyEvent::APNS->new(%files, on_error_response => sub {
        push @responses, @_;
        $done->send if @responses == 4;
        die "enough\n";
    });
    $apns->connect;
    $apns->send(token('bad0'), { aps => {} }) for 1 .. 2;
    eval { received($done) };
    for (1 .. 50) { eval { run_loop(0.1) } if @responses < 4 }
    is_deeply [sort { $a <=> $b } @responses], [1, 2, 8, 8], 'a callback that dies loses no response';
    splice @warnings;
}

# Ends.
{
    my $apns = AnyEvent::APNS->new(%files);
    $apns->connect;
    $apns->send(token(sprintf '01%04x', $_), { aps => {} }) for 1 .. 50;
    $apns->handler->destroy;
    $apns->clear_handler;
    ok !$apns->connected, 'a handler can be destroyed';
    $apns->connect;
    $apns->send(token(sprintf '02%04x', $_), { aps => {} }) for 1 .. 50;
    undef $apns;
    run_loop(0.5);
    is scalar(grep { $_->{token} =~ /^0[12]/ } $simulator->accepted(108)), 100,
        'what was sent before arrives all the same';
}
for my $case ([certificate => sub { AnyEvent::APNS->new(private_key => 'a') }, qr/required/],
    ['send before connect' => sub { AnyEvent::APNS->new(%files)->send('a', {}) }, qr/connect first/],
    [push_write => sub { AnyEvent::APNS->new(%files)->connect->handler->push_write('a') }, qr/no push_write/]) {
    eval { $case->[1]->() };
    like $@, $case->[2], "$case->[0] is an error";
}
is_deeply \@warnings, [], 'nothing else was warned of';

# A test server of the program, without TLS.
{
    require AnyEvent::Socket;
    require AnyEvent::Handle;
    my ($received, $closed, $port, @servers) = ('', AnyEvent->condvar);
    my $guard = AnyEvent::Socket::tcp_server('127.0.0.1', undef, sub {
        push @servers, AnyEvent::Handle->new(
            fh       => $_[0],
            on_error => sub { $_[0]->destroy },
            on_eof   => sub { $closed->send },
            on_read  => sub {
                $received .= delete $_[0]{rbuf};
                $_[0]->push_write(pack 'C C N', 8, 8, 2) if length $received > 2 * 47;
            },
        );
    }, sub { $port = $_[2]; return });
    my $told = AnyEvent->condvar;
    my $apns;
    $apns = AnyEvent::APNS->new(
        certificate => 'dummy', private_key => 'dummy', debug_port => $port,
        on_error_response => sub { $told->send("@_") },
        on_connect => sub { $apns->send('d' x 32, { a => $_ }, 1234) for 1, 2 },
    );
    ok $apns->is_debug && $apns->debug_port == $port && !$apns->connected, 'debug_port is kept';
    $apns->connect;
    is received($told), '2 8', 'an error response of a test server is told';
    is_deeply [unpack 'C N N n/a* n/a* C N N n/a* n/a*', $received],
        [1, 1, 1234, 'd' x 32, '{"a":1}', 1, 2, 1234, 'd' x 32, '{"a":2}'], 'which gets frames of command 1';
    undef $apns;
    received($closed);
    my $failed = AnyEvent->condvar;
    undef $guard;
    $apns = AnyEvent::APNS->new(certificate => 'a', private_key => 'b', debug_port => $port,
        on_error => sub { $failed->send($_[1]) });
    $apns->connect;
    is received($failed), 1, 'a test server that is not there is a fatal error';
    my $eof = AnyEvent->condvar;
    my $hasty = AnyEvent::Socket::tcp_server('127.0.0.1', undef, sub { close $_[0] }, sub { $port = $_[2]; return });
    $apns = AnyEvent::APNS->new(certificate => 'a', private_key => 'b', debug_port => $port,
        on_eof => sub { $eof->send('closed') }, on_error => sub { $eof->send("error: $_[2]") });
    $apns->connect;
    is received($eof), 'closed', 'on_eof is called';
    ok !$apns->connected, 'and the handler is gone';
    is_deeply \@warnings, [], 'without a warning';
}

# At the end of the program.
my $path = $simulator->file(<<'PROGRAM');
    use AnyEvent::APNS;
    my $apns = AnyEvent::APNS->new(certificate => $ENV{CERT}, private_key => $ENV{CERT});
    $apns->connect;
    $apns->send(pack('H*', sprintf '03%04x', $_), { aps => {} }) for 1 .. 50;
    exit 3;
PROGRAM
$ENV{CERT} = $simulator->both;
is system($^X, (map { "-I$_" } @INC), $path) >> 8, 3, 'a program ends as it wants';
is scalar(grep { $_->{token} =~ /^03/ } $simulator->accepted(158)), 50, 'and nothing is lost';

done_testing;
