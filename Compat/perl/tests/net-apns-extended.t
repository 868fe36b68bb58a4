# Net::APNs::Extended and its Feedback.

use 5.010;
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/lib";
use File::Temp ();
use Net::APNs::Extended qw(:constants);
use Net::APNs::Extended::Feedback;
use Simulator;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'there is no command ferry' unless Simulator->is_there;
my $simulator = Simulator->new(http2 => { %{ $Simulator::SCRIPT{http2} }, answerDelaySeconds => 0.05 });
$ENV{FERRY_CONFIG} = $simulator->config('http2');
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

is_deeply [
    NO_ERRORS, PROCESSING_ERROR, MISSING_DEVICE_TOKEN, MISSING_TOPIC, MISSING_PAYLOAD, INVALID_TOKEN_SIZE,
    INVALID_TOPIC_SIZE, INVALID_PAYLOAD_SIZE, INVALID_TOKEN, SHUTDOWN, UNKNOWN_ERROR,
], [0 .. 8, 10, 255], 'the constants have their numbers';

my $apns = Net::APNs::Extended->new(is_sandbox => 1, cert_file => $simulator->both);
is $apns->hostname, 'gateway.sandbox.push.apple.com', 'is_sandbox names the host';
is $apns->read_timeout, 3, 'read_timeout is 3 seconds';

sub token { pack 'H*', $_[0] }

my %payload = (aps => { alert => 'Hello, APNs!', badge => '1', sound => 'default' }, foo => [qw(bar baz)]);
is $apns->send(token('00ff'), \%payload), 1, 'send returns true';
is $payload{aps}{badge}, '1', 'and leaves the payload as it was';
my $start = time;
is $apns->retrieve_error, undef, 'there is no error';
cmp_ok time - $start, '<', 2, 'which is known when everything has its answer';
is_deeply [$apns->retrieve_error], [], 'and that is an empty list';
my ($line) = $simulator->accepted(1);
is_deeply $line->{payload}, { aps => { alert => 'Hello, APNs!', badge => 1, sound => 'default' },
    foo => [qw(bar baz)] }, 'the payload arrives';
is $line->{expiration}, 0, 'an expiry that was not given is 0, as it was';

$apns->send(token('bad0'), { aps => {} }, { identifier => 77, expiry => 1_900_000_000 });
is_deeply $apns->retrieve_error, { command => 8, status => INVALID_TOKEN, identifier => 77 },
    'an error has all its fields';
is $apns->retrieve_error, undef, 'and is told once';
is $apns->send_multi([map { [token($_), { aps => {} }] } qw(00ff bad0 00fe), '', 'ff' x 101]), 1, 'send_multi sends';
my @errors;
while (my $error = $apns->retrieve_error) { push @errors, $error }
is_deeply [map { "$_->{identifier} $_->{status}" } sort { $a->{identifier} <=> $b->{identifier} } @errors],
    ['1 ' . INVALID_TOKEN, '3 ' . MISSING_DEVICE_TOKEN, '4 ' . INVALID_TOKEN_SIZE], 'each error is told for its place';
$apns->send(token('bad0'), { aps => {} }, { identifier => $_ }) for 4_294_967_295, 4_294_967_297, 5, 5;
is_deeply [sort { $a <=> $b } map { $apns->retrieve_error->{identifier} } 1 .. 4], [1, 5, 5, 4_294_967_295],
    'identifiers have 32 bits, and may repeat';

# Long texts.
$apns->send(token('00aa'), { aps => { alert => '☺' x 500 } });
$apns->send(token('00ab'), { aps => { alert => { body => 'a"' x 300, 'loc-key' => 'b' } } });
my %long = map { $_->{token} => $_->{payload}{aps}{alert} } $simulator->accepted(5);
is $long{'00aa'}, '☺' x 78, 'the text of a long payload is cut at 256 bytes';
is length $long{'00ab'}{body}, 142, 'and the body of an alert';
eval { $apns->send(token('00ff'), { aps => {}, foo => 'a' x 300 }) };
like $@, qr/\Aover the payload size \(current:\d{3} > max:256\) at /, 'what cannot be cut is refused';
is $apns->max_payload_size(4096), 4096, 'the limit can be raised';
is $apns->send(token('00ac'), { aps => {}, foo => 'a' x 300 }), 1, 'and then it is sent';

# Faults of the caller.
for my $case (
    [sub { $apns->send }, qr/\AUsage: \$apns->send\(\$device_token, \\%payload \[, \\%extra \]\)/],
    [sub { $apns->send('a', 'b') }, qr/\AUsage: \$apns->send\(/],
    [sub { $apns->send('a', {}) }, qr/\Aaps parameter must be HASHREF/],
    [sub { $apns->send_multi('a') }, qr/\AUsage: \$apns->send_multi\(\\\@datum\)/],
    [sub { $apns->send_multi(['a']) }, qr/\ANet::APNs::Extended: send data must be ARRAYREF/],
    [sub { $apns->send_multi([['a']]) }, qr/\ANet::APNs::Extended: send data require \$device_token and \\%payload/],
    [sub { Net::APNs::Extended->new }, qr/\A`cert_file` or `cert` must be specify/],
    [sub { Net::APNs::Extended->new(cert => 'a', cert_file => 'b') }, qr/\Aspecifying both `cert_file` and `cert` is not allowed/],
    [sub { Net::APNs::Extended->new(cert => 'a', key => 'b', key_file => 'c') }, qr/\Aspecifying both `key_file` and `key`/],
    [sub { Net::APNs::Extended->new(cert_file => $simulator->both, command => 2)->send('a', { aps => {} }) },
        qr/\Acommand\(2\) not support/],
) {
    eval { $case->[0]->() };
    like $@, $case->[1], "a fault of the caller is an error: $case->[1]";
}
is_deeply \@warnings, [], 'nothing was warned of';
Net::APNs::Extended->new(cert_file => $simulator->both, cert_type => 2) for 1 .. 2;
is scalar(grep { /no effect/ } splice @warnings), 1, 'options without an effect are warned of once';

is Net::SSLeay::FILETYPE_PEM(), $apns->cert_type, 'the constants of Net::SSLeay are there without it';

# A certificate as text.
{
    local $ENV{TMPDIR} = my $directory = File::Temp->newdir;
    my $apns = Net::APNs::Extended->new(
        cert => Simulator::read_file($simulator->cert), key => Simulator::read_file($simulator->key),
        password => sub { '' },
    );
    $apns->send(token('bad0'), { aps => {} }, { identifier => 9 });
    is $apns->retrieve_error->{identifier}, 9, 'a certificate may be text';
    is_deeply [glob "$directory/*"], [], 'whose temporary file is gone';
}
is scalar($apns->retrieve_error), undef, 'errors of one object are not those of another';

# The end of a connection.
{
    my $refusing = Simulator->new(handshake => 'refuseClient', http2 => { handshake => 'refuseClient' });
    my $apns;
    for my $backend (qw(binary http2)) {
        local $ENV{FERRY_CONFIG} = $refusing->config($backend);
        $apns = Net::APNs::Extended->new(cert_file => $refusing->both);
        eval { $apns->send(token('00ff'), { aps => {} }) };
        like $@, qr/\ASSL error: failed ssl connect: .*refused the client certificate/,
            "refused credentials are a failed handshake over $backend";
    }
    local $ENV{FERRY_CONFIG} = $refusing->config('http2', port => 1, connectionRetryLimit => 0);
    $apns = Net::APNs::Extended->new(cert_file => $refusing->both);
    eval { $apns->send_multi([map { [token('00ff'), { aps => {} }] } 1 .. 3]) };
    like $@, qr/\Acan't connect socket: .*localhost:1: Connection refused/,
        'a server that is not there is a failed connection';
}
{
    # The server takes one and goes: two were written, and nobody knows.
    my $closing = Simulator->new(http2 => { rules => [{ prefix => '00', action => 'loseAnswer' }] });
    local $ENV{FERRY_CONFIG} = $closing->config('http2', onUnknown => 'report');
    my $apns = Net::APNs::Extended->new(cert_file => $closing->both);
    is $apns->send(token('00ff'), { aps => {} }, { identifier => 6 }), 1, 'what was written was sent';
    is_deeply $apns->retrieve_error, { command => 8, status => UNKNOWN_ERROR, identifier => 6 },
        'what may not have arrived is an unknown error';
    like "@{[splice @warnings]}", qr/may not have arrived .*: identifier 6/, 'and is warned of';
}

{
    # What the binary protocol had no status for.
    my $strict = Simulator->new(http2 => { rules => [{ prefix => '00', reason => 'BadCertificateEnvironment' }] });
    local $ENV{FERRY_CONFIG} = $strict->config('http2');
    my $apns = Net::APNs::Extended->new(cert_file => $strict->both);
    $apns->send(token('11ff'), { aps => {} });
    $apns->send_multi([map { [token($_), { aps => {} }] } qw(00ff 11ff)]);
    is_deeply $apns->retrieve_error, { command => 8, status => UNKNOWN_ERROR, identifier => 0 },
        'what APNs refuses for another reason than the device is an unknown error';
    like "@{[splice @warnings]}", qr/not delivered \(APNs refused it: BadCertificateEnvironment\): identifier 0/,
        'and is warned of';
    $apns = Net::APNs::Extended->new(cert => Simulator::read_file($strict->both));
    eval { $apns->send_multi([map { [token($_), { aps => {} }] } qw(00ff 00fe)]) };
    like $@, qr/\AAPNs refused it: BadCertificateEnvironment at \Q$0\E/, 'if nothing was delivered, the call dies';
}

{
    # More than the queue holds, and no server.
    local $ENV{FERRY_CONFIG} = $simulator->config('http2', port => 1, connectionRetryLimit => 0, queueLimit => 10);
    my $apns = Net::APNs::Extended->new(cert_file => $simulator->both);
    my $start = time;
    eval { $apns->send_multi([map { [token(sprintf '%04x', $_), { aps => {} }] } 1 .. 1000]) };
    like $@, qr/Connection refused/, 'without a server all is given up together';
    cmp_ok time - $start, '<', 5, 'and soon';
}

# A queue that is full, and an answer that takes long.
{
    my $slow = Simulator->new(http2 => { rules => [{ prefix => 'bad0', status => 400, reason => 'BadDeviceToken',
        delaySeconds => 0.5 }], maxConcurrentStreams => 1 });
    local $ENV{FERRY_CONFIG} = $slow->config('http2', queueLimit => 3);
    my $apns = Net::APNs::Extended->new(cert_file => $slow->both);
    is $apns->send_multi([map { [token(sprintf '%04x', $_), { aps => {} }] } 1 .. 100]), 1,
        'more than the queue holds is sent';
    is scalar($slow->accepted(100)), 100, 'and arrives';
    $apns->send(token('bad0'), { aps => {} }, { identifier => 3 });
    $apns->read_timeout(0.1);
    is $apns->retrieve_error, undef, 'an answer that takes longer than read_timeout is not told';
    $apns->read_timeout(3);
    is_deeply $apns->retrieve_error, { command => 8, status => INVALID_TOKEN, identifier => 3 }, 'until it has come';
}

# The list of devices that are gone.
{
    local $ENV{FERRY_CONFIG} = $simulator->config('binary');
    my $apns = Net::APNs::Extended->new(cert_file => $simulator->both);
    $apns->send(token($_), { aps => {} }) for qw(909e01 909e02);
    is $apns->retrieve_error, undef, 'a device that is gone is no error';
    my $feedback = Net::APNs::Extended::Feedback->new(is_sandbox => 1, cert_file => $simulator->both);
    is_deeply $feedback->retrieve_feedback,
        [map { { time_t => 1_700_000_000, token_bin => token($_), token_hex => $_ } } qw(909e01 909e02)],
            'the list is read';
    is_deeply $feedback->retrieve_feedback, [], 'and is then empty';
}
{
    my $failing = Simulator->new(feedback => { tuples => [map { { token => '00ff', time => $_ } } 1 .. 3],
        fault => 'truncates' });
    local $ENV{FERRY_CONFIG} = $failing->config('binary');
    my $devices = Net::APNs::Extended::Feedback->new(cert_file => $failing->both)->retrieve_feedback;
    is_deeply [map { $_->{time_t} } @$devices], [1, 2], 'what was read of a list that is cut short is not lost';
    is scalar(grep { /feedback list/ } splice @warnings), 1, 'and a warning says that it was';
}
{
    my $silent = Simulator->new(feedback => { tuples => [], handshake => 'silent' });
    local $ENV{FERRY_CONFIG} = $silent->config('binary');
    my $feedback = Net::APNs::Extended::Feedback->new(cert_file => $silent->both, read_timeout => 0.3);
    my $start = time;
    is_deeply $feedback->retrieve_feedback, [], 'a service that says nothing has no devices';
    cmp_ok time - $start, '<', 2, 'after read_timeout';
}

is_deeply \@warnings, [], 'nothing else was warned of';
done_testing;
