# The examples, with 300 devices of which nine are refused and one is gone, over HTTP/2 and the binary protocol.

use 5.010;
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Simulator;
use Test::More;

my $json = JSON::PP->new->canonical;
my @bad = map { sprintf 'bad0%060x', $_ } 1 .. 9;
my @gone = ('909e' . '0' x 60);
my @good = map { sprintf '00ff%060x', $_ } 1 .. 290;
# The bad ones lie among the good ones.
my @tokens = (map { (@good[30 * $_ .. 30 * $_ + 29], $bad[$_]) } 0 .. 8);
push @tokens, @gone, @good[270 .. 289];

sub lines_of {
    my ($example, @arguments) = @_;
    open my $output, '-|', $^X, "-I$FindBin::Bin/../lib", "$FindBin::Bin/../examples/$example.pl",
        @arguments or die "$example: $!\n";
    my @lines = map { $json->decode($_) } <$output>;
    close $output;
    is $?, 0, "$example @arguments ends well";
    return @lines;
}

for my $example (qw(net-apns net-apns-extended anyevent-apns ferry)) {
    for my $backend (qw(http2 binary)) {
        my $simulator = Simulator->new;
        local $ENV{FERRY_CONFIG} = $simulator->config($backend);
        local $ENV{CERT} = $simulator->both;
        local $ENV{TOKENS} = $simulator->file(join '', map { "$_\n" } @tokens);
        my @lines = lines_of($example);
        my @expected = $example eq 'net-apns' ? () : map { { token => $_, status => 8 } } @bad;
        is_deeply [sort { $a->{token} cmp $b->{token} } @lines], \@expected,
            "$example over $backend tells each refusal once";
        my @accepted = map { $_->{token} } $simulator->accepted($backend eq 'http2' ? 290 : 291);
        is_deeply [sort @accepted], [sort @good, $backend eq 'http2' ? () : @gone], 'nothing is lost or doubled';
        is_deeply [lines_of($example, 'feedback')], [{ token => $gone[0], time => 1_700_000_000 }],
            'and the list names the device that is gone';
    }
}

done_testing;
