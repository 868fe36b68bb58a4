# Ferry->push: from tokens to answers in one call.

use 5.010;
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Ferry;
use Simulator;
use Test::More;

my $body = { aps => { alert => "H\x{e9}" } };
my @echo = (backend => 'echo');

my @tokens = ('00ff', 'bad0', '909e', 'dead', '<00bd 1234>', 'zz', '0', '', undef, '00' x 101, 'AABB');
my @answers = Ferry->push(\@tokens, $body, @echo);
is_deeply [map { $_->token } @answers], \@tokens, 'each token has its answer in the order of the tokens';
is_deeply [map { $_->outcome } @answers],
    ['accepted', ('rejected') x 2, 'undelivered', 'uncertain', ('rejected') x 5, 'accepted'], 'with an outcome';
is_deeply [map { $_->reason } @answers],
    [undef, 'BadDeviceToken', 'Unregistered', 'noConnection', 'positionUnknown', ('BadDeviceToken') x 5, undef], 'a reason';
is_deeply [map { $_->status } @answers[0 .. 3]], [undef, 400, 410, undef], 'and a status';
is_deeply [map { $_->accepted ? 1 : 0 } @answers], [1, (0) x 9, 1], 'an answer says whether it was accepted';

like scalar(Ferry->push('bad0', $body, @echo)), qr/\Arejected: BadDeviceToken \(400\)\. The device token is invalid/,
    'an answer is a sentence';
is scalar(Ferry->push('00ff', '{"aps":{}}', @echo, push_type => 'liveactivity', priority => 5)), 'accepted (confirmed)',
    'one token has one answer';
is_deeply [Ferry->push([], $body, @echo)], [], 'no tokens have none';

my @many = Ferry->push([map { sprintf '%064x', $_ } 1 .. 1000], $body, @echo, queue_limit => 50);
is scalar(grep { $_->accepted } @many), 1000, 'more tokens than there is room for all have answers';
is scalar(grep { Ferry->push('00ff', $body, @echo, queueLimit => 100 + $_)->accepted } 1 .. 70), 70,
    'more sets of options than there can be shared providers are served';

for (
    [{ push_type => 'none' }, qr/no push type/], [{ collapse_id => 'x' x 256 }, qr/255 bytes/],
    [{ expiration => -1 }, qr/32 bits/], [{ colour => 1 }, qr/colour/],
) {
    my ($options, $pattern) = @$_;
    ok !eval { Ferry->push('00ff', $body, @echo, %$options); 1 }, 'what cannot be sent dies';
    like $@, $pattern, 'with a sentence';
}

for my $word (qw(no yes 2)) {
    local $ENV{FERRY_PRODUCTION} = $word;
    # No server is asked: without credentials nothing can be sent.
    ok !eval { Ferry->push('00ff', $body); 1 }, "FERRY_PRODUCTION=$word dies";
    like $@, qr/\AFerry: The option 'production' takes true or false\. at \Q$0\E/, 'and says what it takes';
}
for my $word (qw(0 FALSE False 1 TRUE true)) {
    local $ENV{FERRY_PRODUCTION} = $word;
    eval { Ferry->push('00ff', $body, p8 => '/nowhere', key_id => 'k', team_id => 't') };
    like $@, qr/does not exist/, "FERRY_PRODUCTION=$word is taken";
}

SKIP: {
    # Where only the package is, the command is not.
    skip 'there is no command ferry', 6 unless Simulator->is_there;
    my $simulator = Simulator->new;
    my %options = ($simulator->options('http2', topic => 'com.example.ferry', cert => $simulator->both));
    delete $options{backend};
    my ($accepted, $bad, $gone) = Ferry->push(['00' x 32, 'bad0' x 16, '909e' x 16], $body, %options, priority => 5,
        push_type => 'background', collapse_id => 'c', expiration => 0);
    is_deeply [$accepted->outcome, length $accepted->apns_id], ['accepted', 36], 'an answer has the identifier of APNs';
    is_deeply [$bad->reason, $bad->status], ['BadDeviceToken', 400], 'its words';
    is_deeply [$gone->reason, $gone->timestamp], ['Unregistered', 1_700_000_000_000], 'and its time';
    my $late = Ferry->push('01' x 32, $body, %options, port => 1, deadline => 1);
    is_deeply [$late->outcome, $late->reason], ['undelivered', 'noConnection'], 'no server is an answer in time';

    {
        local @ENV{qw(FERRY_HOST FERRY_PORT FERRY_CA FERRY_TOPIC FERRY_P8 FERRY_KEY_ID FERRY_TEAM_ID)} = (
            'localhost', @options{qw(port ca)}, 'com.example.ferry', "$simulator->{tls}/token-key.p8", 'FERRYKEY01',
            'FERRYTEAM1',
        );
        is scalar(Ferry->push('02' x 32, $body)), 'accepted (confirmed)', 'what is not given comes from the environment';
        is scalar(Ferry->push('03' x 32, $body, cert => $options{cert})), 'accepted (confirmed)', 'and credentials never mix';
    }
}

SKIP: {
    # A package has the page in another folder than its tests.
    open my $file, '<', "$FindBin::Bin/../README.md" or skip 'there is no page', 1;
    my ($code) = join('', <$file>) =~ /## Send.*?```perl\n(.*?)```/s;
    local $ENV{FERRY_BACKEND} = 'echo';
    open my $output, '-|', $^X, (map { "-I$_" } @INC), '-e', $code or die "$^X: $!\n";
    is_deeply [<$output>], ["accepted (confirmed)\n"], 'the first lines of the page run';
}

done_testing;
