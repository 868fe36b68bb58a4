package Ferry::Push;

# Ferry->push: one call, from device tokens to answers.

use 5.010;
use strict;
use warnings;

use Carp qw(croak);
use JSON::PP ();
use List::Util qw(min);
use Scalar::Util qw(looks_like_number);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our $VERSION = '0.1.0';
our @CARP_NOT = qw(Ferry);

# In seconds: how long after its submission a notification may still be written, unless the options say so; and how long
# beyond that the last answers may take.
use constant { DEADLINE => 30, LAST => 15, BAD_DEVICE_TOKEN => 2 };

my @FIELDS = qw(collapse_id expiration priority push_type);
my %TRUTHS = (1 => 1, true => 1, 0 => 0, false => 0);
my $json = JSON::PP->new->utf8->canonical->allow_nonref;

# A declaration would make each `push` of Perl in that file ambiguous.
{
    no warnings 'once';
    *Ferry::push = sub {
        my ($class, $tokens, $payload, @options) = @_;
        croak 'Ferry: options are pairs of names and values' if @options % 2;
        my @answers = _answers($class, ref $tokens ? $tokens : [$tokens], $payload, @options);
        return ref $tokens ? @answers : $answers[0];
    };
}

sub _answers {
    my ($class, $tokens, $payload, %options) = @_;
    my %fields = map { exists $options{$_} ? ($_ => delete $options{$_}) : () } @FIELDS;
    $fields{payload} = ref $payload ? $json->encode($payload) : $payload;
    $fields{push_type} = _push_type($fields{push_type}) if defined $fields{push_type};
    my $options = _completed(%options);
    my $ferry = _provider($class, $options);
    my (@notifications, %words);
    for my $tag (0 .. $#$tokens) {
        (my $digits = $tokens->[$tag] // '') =~ tr/ \t\r\n<>//d;
        if ($digits =~ /\A(?:[0-9a-fA-F]{2}){1,100}\z/) {
            push @notifications, { %fields, tag => $tag, token => pack 'H*', $digits };
        } else {
            $words{$tag} = _made($ferry, Ferry::FERRY_REJECTED(), Ferry::FERRY_ORIGIN_FERRY(), BAD_DEVICE_TOKEN);
        }
    }
    _settle($ferry, \@notifications, \%words, scalar @$tokens, ($options->{deadline} // DEADLINE) + LAST);
    my $late = _made($ferry, Ferry::FERRY_UNDELIVERED(), Ferry::FERRY_CAUSE_DEADLINE());
    return map { Ferry::Answer->_new($tokens->[$_], $words{$_} // $late) } 0 .. $#$tokens;
}

# Adds the outcome of each notification in words, by its tag.
sub _settle {
    my ($ferry, $notifications, $words, $count, $patience) = @_;
    my $now = sub { clock_gettime(CLOCK_MONOTONIC) };
    my $read = sub {
        my @outcomes = $ferry->read;
        $words->{ $_->tag } = $ferry->words($_) for @outcomes;
        return scalar @outcomes;
    };
    my $submitted = 0;
    my $end = $now->() + $patience;
    while (keys %$words < $count && $now->() < $end) {
        my $last = min($submitted + Ferry::MOST(), scalar @$notifications) - 1;
        my $taken = $ferry->submit([@$notifications[$submitted .. $last]]);
        $submitted += $taken;
        $ferry->wait(1);
        $end = $now->() + $patience if $read->() + $taken > 0;
    }
    $ferry->close(0);
    1 while $read->();
    return;
}

sub _made {
    my ($ferry, $outcome, $detail, $reason) = @_;
    my $bytes = pack 'Q< C2 v2 C2 q< x16', 0, $outcome, $detail, 0, $reason // 0, 0, 0, 0;
    return $ferry->words(\$bytes);
}

sub _provider {
    my ($class, $options) = @_;
    my $shared = 'push ' . $json->encode($options);
    # Options that are wrong, or more shared providers than a process may have: only the former die again.
    my $ferry = eval { $class->new(shared => $shared, %$options) };
    return $ferry // $class->new(%$options);
}

# The options by their names in Docs/begin/c.md, with those that the environment has.
sub _completed {
    my (%given) = @_;
    my %options;
    for my $name (keys %given) {
        (my $camel = $name) =~ s/_([a-z])/\u$1/g;
        $options{$camel} = $given{$name};
    }
    for my $group (@Ferry::Numbers::ENVIRONMENT) {
        next if grep { defined $options{$_} } keys %$group;
        for my $name (keys %$group) {
            my $text = $ENV{ $group->{$name} };
            next unless defined $text && length $text;
            # Every other word is true in Perl.
            $text = $TRUTHS{ lc $text } // croak "Ferry: The option 'production' takes true or false."
                if $name eq 'production';
            $options{$name} = $text;
        }
    }
    $options{backend} //= 'http2';
    $options{deadline} //= DEADLINE if $options{backend} =~ /\A(?:auto|binary|http2)\z/;
    return \%options;
}

sub _push_type {
    my ($type) = @_;
    return $type if looks_like_number($type);
    for my $name (grep { /\AFERRY_PUSH_/ } keys %Ferry::Numbers::NUMBER) {
        (my $word = lc substr $name, length 'FERRY_PUSH_') =~ tr/_//d;
        return $Ferry::Numbers::NUMBER{$name} if $word eq $type;
    }
    croak "Ferry: '$type' is no push type, such as 'alert' or 'background'";
}

# ---- One answer ----

package Ferry::Answer;

use overload '""' => sub { $_[0]{sentence} }, bool => sub { 1 }, fallback => 1;

sub _new {
    my ($class, $token, $words) = @_;
    my %answer = (token => $token);
    @answer{qw(outcome reason status apns_id timestamp sentence)}
        = @$words{qw(outcome reason status apnsId timestamp sentence)};
    return bless \%answer, $class;
}

sub token     { return $_[0]{token} }
sub outcome   { return $_[0]{outcome} }
sub accepted  { return $_[0]{outcome} eq 'accepted' }
sub reason    { return $_[0]{reason} }
sub status    { return $_[0]{status} }
sub apns_id   { return $_[0]{apns_id} }
sub timestamp { return $_[0]{timestamp} }
sub sentence  { return $_[0]{sentence} }

1;
