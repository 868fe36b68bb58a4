# The module Ferry, without a server.

use 5.010;
use strict;
use warnings;

use Ferry qw(:constants);
use Ferry::Feedback;
use File::Temp ();
use POSIX ();
use Test::More;
use Time::HiRes qw(alarm sleep time ualarm);

sub token { pack 'H*', $_[0] }

sub fails_with {
    my ($code, $pattern, $name) = @_;
    local $@;
    eval { $code->(); 1 };
    like $@, $pattern, $name;
}

my $ferry = Ferry->new(backend => 'echo');
is $ferry->submit([]), 0, 'no notifications are taken from none';
is $ferry->submit([
    { tag => 5, token => token('bad001'), payload => '{}' },
    { tag => 18446744073709551615, token => token('00ff'), payload => { aps => { alert => "\x{263a}" } },
        topic => 'com.example.app', collapse_id => 'a', apns_id => 'eabeae54-14a8-11e5-b60b-1697f925ec7b',
        expiration => 0, priority => 5, push_type => FERRY_PUSH_ALERT },
]), 2, 'notifications are taken';
ok $ferry->flush(5), 'they are written';
is $ferry->drain(5), 0, 'they are settled';
is $ferry->wait(0), FERRY_READY_OUTCOMES | FERRY_READY_SETTLED, 'bits tell of outcomes';
my @outcomes = $ferry->read;
is_deeply [map { $_->tag } @outcomes], [5, 18446744073709551615], 'outcomes have the tags';
is_deeply [map { $outcomes[0]->$_ } qw(outcome detail status reason legacy timestamp apns_id)],
    [FERRY_REJECTED, FERRY_ORIGIN_APNS, 400, 'BadDeviceToken', 8, undef, undef], 'a refusal has all its fields';
is_deeply [map { $outcomes[1]->$_ } qw(outcome detail reason legacy)], [FERRY_ACCEPTED, FERRY_CONFIRMED, '', 0],
    'an acceptance too';
is scalar(my @none = $ferry->read), 0, 'and they are read once';
is $ferry->wait(0), 0, 'then there is nothing to wait for';

my $runner = Ferry->new(backend => 'echo');
$runner->submit_to({ payload => '{}' }, [map { token($_) } qw(0000 0000 0000 bad0 0000)], 10);
is_deeply [map { $_->[1] } $runner->read_runs(2)], [[10, 11]], 'outcomes that differ in their tags alone are a run';
my @runs = $runner->read_runs;
is_deeply [map { $_->[1] } @runs], [[12], [13], [14]], 'others are not';
is_deeply [map { $_->[0]->reason } @runs], ['', 'BadDeviceToken', ''], 'each run has its outcome';
is scalar(my @no_runs = $runner->read_runs), 0, 'and is read once';

is $ferry->submit_to({ payload => '{}' }, [map { pack 'N', $_ } 1 .. 5000], 100), 5000,
    'one notification goes to many devices';
ok $ferry->flush(5), 'and is written';
is_deeply [map { $_->tag } $ferry->read(3)], [100, 101, 102], 'outcomes are read in pieces';
1 while $ferry->read;
is $ferry->counts->{confirmed}, 5001, 'counts tell how many were accepted';
is $ferry->report->{taken}, 5002, 'and so does the report';
is_deeply [$ferry->events], [], 'there are no events';

fails_with sub { Ferry->new(backend => 'echo', colour => 1) }, qr/no option 'colour'/, 'an unknown option is named';
fails_with sub { Ferry->new('echo') }, qr/pairs/, 'options are pairs';
fails_with sub { Ferry->new({ backend => 'http2', production => 1, p8 => '/none/such', keyId => 1, teamId => 2 }) },
    qr/does not exist/,
    'a file that is absent is an error';
fails_with sub { $ferry->set(share => 5) }, qr/share/, 'what cannot be set is named';
fails_with sub { $ferry->submit([{ token => 'a', payload => '{}' }, $_->[0]]) }, $_->[1],
    "a bad notification is refused: $_->[1]" for (
    [{}, qr/a token and a payload/],
    [{ token => '', payload => '{}' }, qr/1 to 100 bytes/],
    [{ token => 'a' x 101, payload => '{}' }, qr/1 to 100 bytes/],
    [{ token => 'a', payload => 'a' x 65_536 }, qr/65535 bytes/],
    [{ token => 'a', payload => '{}', topic => 'a' x 256 }, qr/255 bytes/],
    [{ token => 'a', payload => '{}', collapse_id => 'a' x 256 }, qr/255 bytes/],
    [{ token => 'a', payload => '{}', apns_id => 'a' }, qr/16 bytes/],
    [{ token => 'a', payload => '{}', expiration => -1 }, qr/32 bits/],
    [{ token => 'a', payload => '{}', expiration => 2**32 }, qr/32 bits/],
    [{ token => 'a', payload => "{\"a\":\"\x{263a}\"}" }, qr/encode text/],
    [{ token => "\x{263a}", payload => '{}' }, qr/encode text/],
    [{ token => 'a', payload => '{}', priority => 256 }, qr/'C' format/],
    [{ token => 'a', payload => '{}', tag => 'a' }, qr/isn't numeric/],
);
is $ferry->counts->{taken}, 5002, 'and nothing with it is taken';
fails_with sub { $ferry->submit_to({ payload => '{}' }, ['a', 'bb']) }, qr/same length/,
    'tokens of one call have one length';

my $long = '{"a":"' . ('b' x 5200) . '"}';
$ferry->submit([
    { token => 'a', payload => 'no JSON' }, { token => 'a', payload => '' }, { token => "\xFF\xFE", payload => $long },
]);
$ferry->flush(5);
is_deeply [map { [$_->outcome, $_->detail, $_->legacy] } $ferry->read],
    [map { [FERRY_REJECTED, FERRY_ORIGIN_FERRY, $_] } 7, 4, 7], 'what no server takes is taken and rejected';

# A queue that is full.
{
    my $ferry = Ferry->new(backend => 'echo', queueLimit => 10);
    my $taken = grep { $ferry->submit([{ tag => $_, token => 'a', payload => '{}' }]) } 1 .. 35;
    is $taken, 10, 'while outcomes are unread, no more is taken than the limit';
    is $ferry->wait(5) & FERRY_READY_ROOM, 0, 'there is no room then';
    is scalar(my @outcomes = $ferry->read(4)), 4, 'outcomes are read';
    is $ferry->wait(5) & FERRY_READY_ROOM, FERRY_READY_ROOM, 'then there is room';
    is $ferry->submit([map { { tag => $_, token => 'a', payload => '{}' } } 11 .. 14]), 4, 'and more is taken';
    1 while $ferry->read;
}

# Signals.
{
    my $ferry = Ferry->new(backend => 'echo');
    my $start = time;
    my $delay;
    local $SIG{ALRM} = sub { $delay = time - $start - 0.1 };
    alarm 0.1;
    is $ferry->wait(0.6), 0, 'a wait goes on after a signal';
    cmp_ok $delay, '<', 0.25, 'the handler ran during the wait';
    cmp_ok time - $start, '>=', 0.55, 'which took its time';
    for my $call (qw(wait drain flush)) {
        local $SIG{ALRM} = sub { die "enough\n" };
        my $waiting = Ferry->new(backend => 'binary', host => 'localhost', port => 1);
        $waiting->submit([{ token => 'a', payload => '{}' }]);
        my $start = time;
        alarm 0.1;
        fails_with sub { $waiting->$call(20) }, qr/^enough$/, "a handler that dies ends $call";
        cmp_ok time - $start, '<', 2, 'soon';
        $waiting->close(0);
        is_deeply [map { $_->outcome } $waiting->read], [FERRY_UNDELIVERED],
            'and a close gives every notification its outcome';
    }
}

# Processes.
{
    my $ferry = Ferry->new(backend => 'echo');
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        eval { $ferry->submit([{ token => 'a', payload => '{}' }]) };
        my $is_told = $@ =~ /process/i;
        my $own = Ferry->new(backend => 'echo');
        $own->submit([{ token => 'a', payload => '{}' }]);
        POSIX::_exit($is_told && $own->flush(5) && $own->read == 1 ? 0 : 1);
    }
    waitpid $pid, 0;
    is $?, 0, 'a child is told that a handle is not its own, and opens another';
    is $ferry->submit([{ token => 'a', payload => '{}' }]), 1, 'and the parent goes on';
}

# Threads.
SKIP: {
    skip 'this Perl has no threads', 3 unless $Config::Config{useithreads};
    require threads;
    my @threads = map { threads->create(sub {
        my $ferry = Ferry->new(backend => 'echo');
        my $sum = 0;
        for my $round (1 .. 20) {
            $ferry->submit([map { { tag => $_, token => 'a', payload => '{}' } } 1 .. 100]);
            $ferry->drain(5);
            $sum += $_->tag for $ferry->read;
        }
        return $sum;
    }) } 1 .. 3;
    is $_->join, 20 * 5050, 'a thread has a provider of its own' for @threads;
}

# The event loop.
SKIP: {
    skip 'AnyEvent is not installed', 1 unless eval { require AnyEvent };
    my $ferry = Ferry->new(backend => 'echo');
    my $done = AnyEvent->condvar;
    my @tags;
    my $watcher = $ferry->watch(sub { push @tags, map { $_->tag } $_[0]->read; $done->send if @tags == 3 });
    my $guard = AnyEvent->timer(after => 5, cb => $done);
    $ferry->submit([map { { tag => $_, token => 'a', payload => '{}' } } 1 .. 3]);
    $done->recv;
    is_deeply \@tags, [1 .. 3], 'a watcher of AnyEvent brings outcomes';
}

# The end.
$ferry->submit([{ tag => 7, token => 'a', payload => '{}' }]);
$ferry->close(5);
is_deeply [map { $_->tag } $ferry->read], [7], 'outcomes can be read after a close';
fails_with sub { $ferry->submit([{ token => 'a', payload => '{}' }]) }, qr/closed/, 'a closed provider takes nothing';
$ferry->free;
fails_with sub { $ferry->counts }, qr/no such handle/, 'a freed one is gone';
$ferry->free;

{
    my $directory = File::Temp->newdir;
    open my $file, '>', "$directory/gone" or die;
    print {$file} qq({"token":"00ff","timestamp":1700000000}\n{"token":"@{['ab' x 100]}","timestamp":5}\n);
    close $file;
    my $list = Ferry::Feedback->new(backend => 'auto', host => 'gateway.push.apple.com', feedback => "$directory/gone");
    my @devices;
    while (my $more = $list->read(5)) { push @devices, @$more }
    is_deeply \@devices, [{ time => 1_700_000_000, token => "\x00\xFF" }, { time => 5, token => "\xAB" x 100 }],
        'the list is read';
    ok !-e "$directory/gone", 'and is then empty';
    fails_with sub { Ferry::Feedback->new(backend => 'auto', host => 'gateway.push.apple.com') }, qr/feedback/,
        "Apple's service is gone, and the library says what to set";
}

# The library.
for my $case (['/none/such', qr/FERRY_LIBRARY/], ['/etc/hostname', qr/FERRY_LIBRARY/]) {
    local $ENV{FERRY_LIBRARY} = $case->[0];
    like `"$^X" "-I$INC[0]" -MFerry -e 1 2>&1`, $case->[1], 'a library that cannot be loaded is told in one sentence';
}

done_testing;
