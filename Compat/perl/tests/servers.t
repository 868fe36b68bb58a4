# The module Ferry, against servers.

use 5.010;
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Ferry qw(:constants);
use Ferry::Feedback;
use Simulator;
use Test::More;
use Time::HiRes qw(sleep time);

my $simulator = Simulator->new(feedback => { tuples => [{ token => '11ff', time => 1_600_000_000 }] });
my %client = (cert => $simulator->cert, key => $simulator->key);
my $payload = '{"aps":{"alert":"Hello"}}';

{
    my $ferry = Ferry->new({ $simulator->options('http2', %client) });
    $ferry->submit([
        { tag => 1, token => pack('H*', '00ff'), payload => $payload, expiration => 0, priority => 5,
            push_type => FERRY_PUSH_BACKGROUND,
            collapse_id => 'scores', apns_id => 'eabeae54-14a8-11e5-b60b-1697f925ec7b' },
        { tag => 2, token => pack('H*', 'bad0'), payload => $payload },
        { tag => 3, token => pack('H*', '909e'), payload => $payload },
    ]);
    is $ferry->drain(10), 0, 'HTTP/2 settles everything';
    my %outcome = map { $_->tag => $_ } $ferry->read;
    is_deeply [map { $outcome{1}->$_ } qw(outcome detail status legacy apns_id)],
        [FERRY_ACCEPTED, FERRY_CONFIRMED, 0, 0, 'eabeae54-14a8-11e5-b60b-1697f925ec7b'], 'an acceptance';
    is_deeply [map { $outcome{2}->$_ } qw(outcome detail status reason legacy)],
        [FERRY_REJECTED, FERRY_ORIGIN_APNS, 400, 'BadDeviceToken', 8], 'a refusal';
    is_deeply [map { $outcome{3}->$_ } qw(outcome status reason legacy timestamp)],
        [FERRY_REJECTED, 410, 'Unregistered', 0, 1_700_000_000_000], 'a device that is gone';
    $ferry->close(5);
    my ($line) = grep { $_->{apnsId} } $simulator->accepted(1);
    is_deeply [@$line{qw(token payload pushType priority expiration collapseId)}],
        ['00ff', { aps => { alert => 'Hello' } }, 'background', 5, 0, 'scores'], 'every field arrives';
}
{
    my $ferry = Ferry->new({ $simulator->options('binary', %client) });
    $ferry->submit([map { { tag => $_->[0], token => pack('H*', $_->[1]), payload => $payload,
        expiration => 1_900_000_000, priority => 5 } }
        [1, '00fe'], [2, 'bad0'], [3, '00fd']]);
    is $ferry->drain(10), 0, 'the binary protocol settles everything';
    my %outcome = map { $_->tag => $_ } $ferry->read;
    is_deeply [map { [map { $outcome{$_}->outcome } 1 .. 3] } 1], [[FERRY_ACCEPTED, FERRY_REJECTED, FERRY_ACCEPTED]],
        'each rightly';
    is_deeply [map { $outcome{2}->$_ } qw(detail status reason legacy)], [FERRY_ORIGIN_GATEWAY, 8, 'BadDeviceToken', 8],
        'a refusal';
    $ferry->close(5);
    my ($line) = grep { $_->{token} eq '00fe' } $simulator->accepted(3);
    is_deeply [@$line{qw(payload priority expiration)}], [{ aps => { alert => 'Hello' } }, 5, 1_900_000_000],
        'every field arrives';
}
{
    my $ferry = Ferry->new({ $simulator->options('binary', %client, host => 'localhost', port => 1,
        connectionRetryLimit => 0, events => 100) });
    $ferry->submit([{ tag => 1, token => 'a', payload => $payload }]);
    $ferry->drain(10);
    my ($outcome) = $ferry->read;
    is_deeply [map { $outcome->$_ } qw(outcome detail)], [FERRY_UNDELIVERED, FERRY_CAUSE_NO_CONNECTION],
        'without a server nothing is delivered';
    like $ferry->report->{lastError}, qr/localhost:1/, 'and the report says why';
    is $ferry->wait(5) & FERRY_READY_EVENT, FERRY_READY_EVENT, 'there are events';
    ok scalar(grep { ref eq 'HASH' } $ferry->events), 'which are hashes';
    is $ferry->wait(0) & FERRY_READY_EVENT, 0, 'and are read once';
}
{
    my $ferry = Ferry->new(backend => 'migrate', http2 => { $simulator->options('http2', %client, backend => undef,
        feedback => undef) },
        binary => { $simulator->options('binary', %client, backend => undef, feedbackPort => undef) }, share => '100');
    $ferry->submit([{ tag => 1, token => pack('H*', '00fc'), payload => $payload }]);
    $ferry->drain(10);
    is_deeply [map { $_->detail } $ferry->read], [FERRY_CONFIRMED], 'a migration sends its share over HTTP/2';
    $ferry->set(share => 0);
    my $end = time + 5;
    sleep 0.02 while $ferry->report->{migration}{share} && time < $end;
    is $ferry->report->{migration}{share}, 0, 'and the share can be set';
    is $ferry->report->{migration}{http2}{accepted}{confirmed}, 1, 'which it did before';
}

my @devices;
my $list = Ferry::Feedback->new({ $simulator->options('http2', %client, feedbackHost => 'localhost',
    feedbackPort => $simulator->{ports}{feedback}) });
while (my $more = $list->read(10)) { push @devices, @$more }
is_deeply [sort map { unpack('H*', $_->{token}) . " $_->{time}" } @devices], ['11ff 1600000000', '909e 1700000000'],
    'devices come from the file and from the service';

my $absent = Ferry::Feedback->new({ $simulator->options('binary', %client, feedbackPort => 1) });
eval { 1 while $absent->read(10) };
like $@, qr/localhost:1/, 'a service that is not there is named';

done_testing;
