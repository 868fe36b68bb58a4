# Net::APNS.

use 5.010;
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/lib";
use Net::APNS;
use Simulator;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'there is no command ferry' unless Simulator->is_there;
my $simulator = Simulator->new(http2 => { %{ $Simulator::SCRIPT{http2} }, answerDelaySeconds => 0.05 });
$ENV{FERRY_CONFIG} = $simulator->config('http2');
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };

my $apns = Net::APNS->new;
isa_ok $apns, 'Net::APNS';
my $notifier = $apns->notify({ cert => $simulator->cert, key => $simulator->key, passwd => undef });
isa_ok $notifier, 'Net::APNS::Notification';

$notifier->devicetoken("00ff 00ff\n" . '00ff00ff' x 7);
is $notifier->devicetoken, '00ff' x 16, 'blanks of a token are left out';
$notifier->message('message');
$notifier->badge(4);
$notifier->sound('default');
$notifier->custom({ custom_key => 'custom_value' });
is $notifier->write, 1, 'write returns true';
is $notifier->write({ message => "Gr\xFC\xDFe", badge => 0, sound => '', custom => {}, sandbox => 1 }), 1,
    'write takes a hash';
is $notifier->host, 'gateway.sandbox.push.apple.com', 'sandbox names the host';
$notifier->message('☺');
$notifier->write;
my $bytes = '☺';
utf8::encode($bytes);
$notifier->message($bytes);
$notifier->write;
my %payload = map { $_->{payload}{aps}{alert} => $_->{payload} } $simulator->accepted(4);
is_deeply $payload{message}, { aps => { alert => 'message', badge => 4, sound => 'default' },
    custom => { custom_key => 'custom_value' } },
    'the payload has everything';
is_deeply $payload{'Grüße'}, { aps => { alert => 'Grüße', badge => 0 } }, 'what is empty is left out';
is_deeply [sort keys %payload], ['Grüße', 'message', '☺'], 'a message is text, or bytes of UTF-8';

my @failures;
Net::APNS->on_failure(sub { push @failures, @_ });
$notifier->devicetoken('bad0' x 16);
is $notifier->write, 1, 'write does not wait for the answer, as it did';
for my $bad ('', 'zz', 'abc', 'ab' x 101) {
    is $notifier->write({ devicetoken => $bad }), 0, "a token that is none sends nothing: '$bad'";
}
is scalar(grep { /not hexadecimal/ } splice @warnings), 4, 'and a warning says so';

my $start = time;
for my $number (1 .. 200) {
    my $notifier = $apns->notify({ cert => $simulator->cert, key => $simulator->key });
    $notifier->devicetoken(sprintf '00fe%060x', $number);
    $notifier->message('Hello');
    $notifier->write;
}
cmp_ok time - $start, '<', 3, '200 calls wait for no answer';
is scalar($simulator->accepted(204)), 204, 'and all arrive';
$notifier->write({ devicetoken => '00ff' });
is_deeply [map { "$_->{token} $_->{status} $_->{reason}" } @failures[0, -1]],
    [' 5 BadDeviceToken', 'bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0 8 BadDeviceToken'],
    'on_failure hears of refusals';

eval { $apns->notify({ cert => 'a' }) };
like $@, qr/key/, 'a key is required';
eval { $notifier->badge('many') };
like $@, qr/integer/, 'a badge is an integer';
eval { $notifier->custom('many') };
like $@, qr/hash/, 'custom is a hash';
eval { $apns->notify({ cert => '/none/such', key => '/none/such' })->write({ devicetoken => '00ff',
    message => 'Hello' }) };
like $@, qr/does not exist/, 'a certificate that is absent is an error';
is_deeply [$notifier->type_pem, $notifier->ssl_version, $notifier->ssl_trace_level], [1, 10, 4],
    'options of the socket have their values';
is_deeply \@warnings, [], 'nothing else is warned of';
is $notifier->ssl_version($_), $_, 'they can be set' for 3, 10;
is scalar(grep { /have no effect/ } splice @warnings), 1, 'which is warned of once';

my $refusing = Simulator->new(handshake => 'refuseClient', http2 => { handshake => 'refuseClient' });
for my $backend (qw(http2 binary)) {
    local $ENV{FERRY_CONFIG} = $refusing->config($backend);
    my $notifier = $apns->notify({ cert => $refusing->cert, key => $refusing->key });
    my $died = grep {
        eval { $notifier->write({ devicetoken => '00ff', message => 'Hello' }); 1 } ? 0
            : $@ =~ /\AFailed SSL connect: .*refused the client certificate/
    } 1 .. 3;
    is $died, 3, "refused credentials are a failed handshake over $backend";
}
{
    local $ENV{FERRY_CONFIG} = $refusing->config('http2', port => 1, connectionRetryLimit => 0);
    my $notifier = $apns->notify({ cert => $refusing->cert, key => $refusing->key });
    eval { $notifier->write({ devicetoken => '00ff', message => 'Hello' }) };
    like $@, qr/\AConnect: .*localhost:1: Connection refused/, 'a server that is not there is a failed connection';
    like $@, qr/ at \Q$0\E line/, 'with the line of the program';
}

# What the binary protocol had no status for.
my $strict = Simulator->new(http2 => { rules => [{ prefix => '00', reason => 'MissingTopic' }] });
{
    local $ENV{FERRY_CONFIG} = $strict->config('http2');
    my $notifier = $apns->notify({ cert => $strict->cert, key => $strict->key });
    eval { $notifier->write({ devicetoken => '00ff', message => 'Hello' }) };
    like $@, qr/\AAPNs refused it: MissingTopic, see the option "topic"/,
        'what APNs refuses for another reason than the device is an error';
}

done_testing;
