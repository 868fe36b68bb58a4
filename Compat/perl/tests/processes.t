# The drop-ins in programs that fork, get signals, use threads, and end in every way.

use 5.010;
use strict;
use warnings;

use Config;
use FindBin;
use lib "$FindBin::Bin/lib";
use Simulator;
use Test::More;
use Time::HiRes qw(sleep time);

my $simulator = Simulator->new(http2 => { answerDelaySeconds => 0.15, rules => [
    { prefix => 'bad0', reason => 'BadDeviceToken' }, { prefix => '0000', action => 'silence' },
] });
$ENV{FERRY_CONFIG} = $simulator->config('http2');
$ENV{CERT} = $simulator->both;

my $token = 0;

# Runs a program in which $apns and send_to(count) are defined, and returns its status, standard error and time.
sub run {
    my ($program, $expected) = @_;
    my $errors = $simulator->file('');
    my $output = $simulator->file('');
    my $path = $simulator->file("use lib '$FindBin::Bin/../lib';" . <<'PROGRAM' . $program);
        use strict; use warnings; use POSIX (); use Time::HiRes qw(time sleep);
        use Net::APNs::Extended;
        my $apns = Net::APNs::Extended->new(cert_file => $ENV{CERT});
        my $token = $ENV{FIRST_TOKEN};
        sub message { my ($token) = @_; return [pack('H*', $token), { aps => { alert => 'Hello' } }] }
        sub send_to { my ($count) = @_; $apns->send_multi([map { message(sprintf '00ff%060x', $token++) } 1 .. $count]) }
PROGRAM
    my $start = time;
    local $ENV{FIRST_TOKEN} = $token += 10_000;
    system "exec '$^X' '$path' >'$output' 2>'$errors'";
    my $status = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
    return ($status, Simulator::read_file($errors), time - $start, Simulator::read_file($output));
}

# How many of the last program's notifications arrived, and how many of them twice.
my $before = 0;
sub arrived {
    my ($count) = @_;
    my @lines = $simulator->accepted($before + $count);
    my %seen;
    $seen{ $_->{token} }++ for splice @lines, $before;
    $before += $_ for values %seen;
    return scalar(keys %seen) . ' arrived, ' . grep({ $_ > 1 } values %seen) . ' twice';
}

# Ends.
for my $case (
    ['send_to(500);', 0, 'the end of the file'],
    ['send_to(500); exit 3;', 3, 'exit'],
    ['sub main { my $apns = Net::APNs::Extended->new(cert_file => $ENV{CERT}); send_to(500); exit 3 } main();', 3,
        'exit in a sub'],
    ['$SIG{TERM} = sub { exit 4 }; send_to(500); kill TERM => $$; sleep 1;', 4, 'exit in a signal handler'],
) {
    my ($status, $errors) = run($case->[0]);
    is "$status $errors", "$case->[1] ", "a program that ends by $case->[2] ends well";
    is arrived(500), '500 arrived, 0 twice', 'and nothing is lost';
}
{
    my ($status, $errors) = run('send_to(500); die "enough\n";');
    ok $status && $errors eq "enough\n", 'a program that dies ends as it did';
    is arrived(500), '500 arrived, 0 twice', 'and nothing is lost';
}
{
    local $ENV{FERRY_CONFIG} = $simulator->config('http2', wait => JSON::PP::true());
    my ($status, $errors) = run(
        '$apns->send(@{ message("bad0") }); send_to(500); print $apns->retrieve_error->{status}; POSIX::_exit(5);');
    is "$status $errors", '5 ', 'with the option wait a program may end by _exit';
    is arrived(500), '500 arrived, 0 twice', 'and nothing is lost';
}
{
    local $ENV{FERRY_CONFIG} = $simulator->config('http2', deadline => 1, attemptTimeout => 0.5, onUnknown => 'report');
    my ($status, $errors) = run('$apns->send(@{ message("0000") }, { identifier => 6 }); exit 2;');
    is $status, 2, 'a failure after the last call leaves the exit status as it is';
    like $errors, qr/\ANet::APNs::Extended: may not have arrived \(.*\): identifier 6\b.*\n\z/,
        'and is warned of in one line';
}

{
    my $late = Simulator->new(errorDelaySeconds => 1.5);
    local $ENV{FERRY_CONFIG} = $late->config('binary', settleTime => 0.2);
    my ($status, $errors) = run('$apns->send(@{ message("bad0") }); send_to(1); sleep 2.5;');
    like $errors, qr/\AFerry: \d notifications had counted as accepted, and were refused later\n\z/,
        'what was refused too late is told';
}

# Processes.
{
    my ($status, $errors, undef, $output) = run(<<'PROGRAM');
        $| = 1;
        send_to(20);
        $apns->send(pack('H*', 'bad0'), { aps => {} }, { identifier => 1 });
        my @children = map {
            my $pid = fork // die;
            if (!$pid) {
                $token += 1000 * $_;
                send_to(20) for 1 .. 5;
                $apns->send(pack('H*', 'bad0'), { aps => {} }, { identifier => 10 * $_ });
                while (my $error = $apns->retrieve_error) { print "$error->{identifier}\n" }
                exit 0;
            }
            $pid;
        } 1 .. 4;
        for (@children) { waitpid $_, 0; die $? if $? }
        send_to(20);
        while (my $error = $apns->retrieve_error) { print "$error->{identifier}\n" }
PROGRAM
    is "$status $errors", '0 ', 'children send with the object of their parent';
    is arrived(440), '440 arrived, 0 twice', 'and nothing is lost';
    is join(' ', sort split /\n/, $output), '1 10 20 30 40', 'each process hears of its own errors';
}
{
    my ($status, $errors, $time) = run(<<'PROGRAM');
        send_to(500);
        my $start = time;
        my $pid = fork // die;
        exit 0 unless $pid;
        waitpid $pid, 0;
        die 'the child waited for the answers of its parent' if time - $start > 0.13;
PROGRAM
    is "$status $errors", '0 ', 'a child that sends nothing ends at once';
    is arrived(500), '500 arrived, 0 twice', 'and the parent loses nothing';
}
SKIP: {
    skip 'Parallel::ForkManager is not installed', 2 unless eval { require Parallel::ForkManager };
    my ($status, $errors) = run(<<'PROGRAM');
        use Parallel::ForkManager;
        my $manager = Parallel::ForkManager->new(3);
        for my $number (1 .. 6) {
            $manager->start and next;
            $token += 1000 * $number;
            send_to(50);
            $manager->finish;
        }
        $manager->wait_all_children;
PROGRAM
    is "$status $errors", '0 ', 'Parallel::ForkManager works';
    is arrived(300), '300 arrived, 0 twice', 'and nothing is lost';
}

# Signals.
{
    local $ENV{FERRY_CONFIG} = $simulator->config('http2', port => 1);
    my ($status, $errors, $time) = run(
        '$SIG{ALRM} = sub { die "enough\n" }; Time::HiRes::alarm(0.3); eval { send_to(1) }; warn $@; POSIX::_exit(1);');
    is $errors, "enough\n", 'a handler that dies ends a call';
    cmp_ok $time, '<', 2, 'soon';
    ($status, $errors, $time) = run('Time::HiRes::alarm(0.3); send_to(1);');
    is $status, 'signal 14', 'a signal without a handler ends the program';
}

# Threads.
SKIP: {
    skip 'this Perl has no threads', 3 unless $Config{useithreads};
    my ($status, $errors, undef, $output) = run(<<'PROGRAM');
        use threads;
        send_to(20);
        my @threads = map {
            my $number = $_;
            threads->create(sub {
                $token += 1000 * $number;
                send_to(20) for 1 .. 3;
                $apns->send(pack('H*', 'bad0'), { aps => {} }, { identifier => 10 * $number });
                return $apns->retrieve_error->{identifier};
            });
        } 1 .. 3;
        print $_->join, "\n" for @threads;
        send_to(20);
PROGRAM
    is "$status $errors", '0 ', 'threads send with the object of the program';
    is arrived(220), '220 arrived, 0 twice', 'and nothing is lost';
    is $output, "10\n20\n30\n", 'each thread hears of its own errors';
}

done_testing;
