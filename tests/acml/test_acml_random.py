"""Random numbers: published sequences, streams that skip, distributions, the same on every device, and ACML's names."""

import numpy as np
import pytest

pytest.importorskip("scipy")
from scipy import special, stats

from headwater import acml
from headwater.acml.random import NAMES, Generator
from headwater.acml.random.distributions import table
from headwater.acml.random.generators import Base
from headwater.errors import UsageError


@pytest.mark.parametrize("seed", [0, 7, 2**100 + 5])
def test_philox_is_numpys(seed):
    numpy = np.random.Generator(np.random.Philox(key=seed))
    ours = Generator("philox", seed)
    assert (
        np.concatenate([ours.random(5), ours.random((7, 3)).ravel(), ours.random(1000)]) == numpy.random(1026)
    ).all()
    single = Generator("philox", seed, dtype=np.float32).random(1001)
    assert (single == np.random.Generator(np.random.Philox(key=seed)).random(1001, dtype=np.float32)).all()


def test_philox_gives_the_known_answers_of_its_authors():
    ours = Generator("philox")
    ours.base = Base("philox", (2**64 - 1,) * 4 + (0, 0))  # the counter before the one of zeros
    words = (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)
    assert ours.random(4).tolist() == [(word >> 11) * 2.0**-53 for word in words]


@pytest.mark.parametrize("seed", [1, 5489, [0x123, 0x234, 0x345, 0x456]])
def test_mersenne_twister_is_numpys_and_its_authors(seed):
    ours, numpy = Generator("mt19937", seed), np.random.RandomState(seed)
    assert (np.concatenate([ours.random(1), ours.random(1500), ours.random(3)]) == numpy.random(1504)).all()
    if isinstance(seed, list):
        words = 1067595299, 955945823, 477289528, 4107218783
        single = Generator("mt19937", seed, dtype=np.float32).random(4)
        assert single.tolist() == [(word >> 8) * 2.0**-24 for word in words]


def test_mrg32k3a_gives_its_authors_numbers():
    wanted = [0.12701112204657714, 0.3185275653967945, 0.3091860155832701, 0.8258468629271136, 0.2216299157820229]
    assert Generator("mrg32k3a", 12345).random(5).tolist() == wanted


def test_combined_congruential_generators_follow_their_papers():
    x, y, z, wanted = 11, 22, 33, []
    for _ in range(100):
        x, y, z = 171 * x % 30269, 172 * y % 30307, 170 * z % 30323
        wanted.append((x / 30269 + y / 30307 + z / 30323) % 1.0)
    assert Generator("wichmann_hill", [11, 22, 33]).random(100).tolist() == wanted
    x, y, wanted = 12345, 67890, []
    for _ in range(100):
        x, y = 40014 * x % 2147483563, 40692 * y % 2147483399
        wanted.append((x - y if x > y else x - y + 2147483562) * 4.656613e-10)
    assert Generator("ecuyer", [12345, 67890]).random(100).tolist() == wanted
    x, wanted = 2 * 7 + 1, []
    for _ in range(100):
        x = 13**13 * x % 2**59
        wanted.append((x >> 6) * 2.0**-53)
    assert Generator("nag", 7).random(100).tolist() == wanted


def test_blum_blum_shub_gives_published_bits():
    state, words = np.zeros(72, np.int32), np.zeros(2, np.int32)
    assert acml.drandinitializebbs(1, 1, [11], 1, [23], 1, [3], state, 72) == 0
    assert acml.drandblumblumshub(2, state, words) == 0
    # squares 9, 81, 236, 36, 31, 202 (Wikipedia, Blum Blum Shub), whose parities are the first bits
    assert [int(words[0]) >> i & 1 for i in range(6)] == [1, 1, 0, 0, 1, 0]
    x, bits = 3, []
    for _ in range(48 // 4):
        x = x * x % 253
        bits += [x >> i & 1 for i in range(4)]
    four = Generator("blum_blum_shub", [11, 23, 3, 4]).random(1)
    assert (
        four[0]
        == sum(bit << i for i, bit in enumerate(bits[:24])) / 2**24
        + sum(bit << i for i, bit in enumerate(bits[24:])) / 2**48
    )
    x = np.zeros(3)
    assert acml.drandskipahead(3, state) == acml.dranduniform(3, 0.0, 1.0, state, x) == 0
    assert (x == Generator("blum_blum_shub", [11, 23, 3, 1]).random(7)[4:]).all()


def test_blum_blum_shub_refuses_what_makes_no_sequence():
    state = np.zeros(72, np.int32)
    begin = acml.drandinitializebbs
    assert begin(1, 26, [11], 1, [23], 1, [3], state, 72) == -2
    assert begin(1, 1, [13], 1, [23], 1, [3], state, 72) == -3  # 1 modulo 4
    assert begin(1, 1, [11], 1, [2**24], 1, [3], state, 72) == begin(1, 1, [11], 1, [27], 1, [3], state, 72) == -5
    assert begin(1, 1, [11], 1, [11], 1, [3], state, 72) == -5
    assert (
        begin(1, 1, [1024651], 1, [23], 1, [3], state, 72) == -3
    )  # 19 * 199 * 271, which Fermat's test takes for a prime
    assert begin(1, 1, [11], 1, [23], 1, [22], state, 72) == begin(1, 1, [11], 1, [23], 1, [1], state, 72) == -7
    assert begin(1, 1, [11], 1, [23], 1, [3], state, 71) == -9
    assert not state.any()
    assert acml.drandblumblumshub(1, state, np.zeros(1, np.int32)) == -2
    assert begin(99, 1, [11], 1, [23], 1, [3], state, 72) == 0  # as 15 bits
    state[7:70] = 0
    assert acml.drandblumblumshub(1, state, np.zeros(1, np.int32)) == -2
    with pytest.raises(UsageError, match="blum_blum_shub: 16 bits of each square"):
        Generator("blum_blum_shub", [11, 23, 3, 16])
    with pytest.raises(UsageError, match="blum_blum_shub: p is 13"):
        Generator("blum_blum_shub", [13, 23, 3])
    with pytest.raises(UsageError, match="takes one seed; p, q and s"):
        Generator("blum_blum_shub", [11, 23])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_streams_skip_and_leap(name, dtype):
    def fresh():
        return Generator(name, 4242, dtype=dtype)

    numbers = fresh().random(2000)
    assert ((numbers >= 0) & (numbers < 1)).all()
    for count in (0, 1, 4, 623, 624, 1500):
        assert (fresh().skip(count).random(50) == numbers[count : count + 50]).all()
    for k in (0, 2, 6):
        frog = fresh().leapfrog(k, 7)
        assert (np.concatenate([frog.random(11), frog.random(60)]) == numbers[k::7][:71]).all()
    again = fresh().leapfrog(1, 3).leapfrog(2, 5)
    assert (again.random(40) == numbers[1::3][2::5][:40]).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "mt19937"])
def test_long_skips_are_short_ones_in_a_row(name):
    there = Generator(name, 9).skip(2**70 + 12345)
    steps = Generator(name, 9).skip(2**69).skip(12345).skip(2**69)
    assert (there.random(100) == steps.random(100)).all()


CONTINUOUS = {
    "uniform": ((-2.0, 3.0), stats.uniform(-2, 5)),
    "gaussian": ((1.0, 4.0), stats.norm(1, 2)),
    "lognormal": ((0.5, 0.25), stats.lognorm(0.5, scale=np.exp(0.5))),
    "exponential": ((2.0,), stats.expon(scale=2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "cauchy": ((1.0, 2.0), stats.cauchy(1, 2)),
    "weibull": ((2.0, 3.0), stats.weibull_min(2, scale=3**0.5)),
    "triangular": ((0.0, 1.0, 3.0), stats.triang(1 / 3, scale=3)),
    "gamma": ((2.0, 3.0), stats.gamma(2, scale=3)),
    "beta": ((2.0, 3.0), stats.beta(2, 3)),
    "chisquared": ((3,), stats.chi2(3)),
    "f": ((4, 9), stats.f(4, 9)),
    "studentst": ((5,), stats.t(5)),
}
DISCRETE = {
    "discreteuniform": ((-2, 3), stats.randint(-2, 4)),
    "binomial": ((10, 0.3), stats.binom(10, 0.3)),
    "geometric": ((0.3,), stats.geom(0.3, loc=-1)),
    "hypergeometric": ((20, 5, 8), stats.hypergeom(20, 8, 5)),
    "negativebinomial": ((3, 0.4), stats.nbinom(3, 0.4)),
    "poisson": ((4.5,), stats.poisson(4.5)),
}


def test_lognormal_numbers_reach_both_ends_of_a_double():
    """Not only powers of two that are doubles themselves: up to infinity, and through subnormal numbers to 0."""
    for mean in (709.5, 1e5, -710.0, -740.0, -1e5, 0.0, 709.0):
        (found,) = Generator("philox", 3).draw("lognormal", 1, mean, 0.0)
        with np.errstate(over="ignore", under="ignore"):
            wanted = np.exp(mean)
        assert found == wanted or abs(found - wanted) <= max(4e-13 * wanted, 5e-324)


def test_every_distribution_is_tested():
    assert {*CONTINUOUS, *DISCRETE} == set(table())


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_continuous_distributions_are_inverses_of_uniform_numbers(name, dtype, digits):
    args, wanted = CONTINUOUS[name]
    u = Generator("philox", 3, dtype=dtype).random(3000).astype(float)
    found = Generator("philox", 3, dtype=dtype).draw(name, 3000, *args)
    assert found.dtype == dtype
    assert np.abs(wanted.cdf(found.astype(float)) - u).max() < digits


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions_are_inverses_of_uniform_numbers(name):
    args, wanted = DISCRETE[name]
    u = Generator("philox", 3).random(3000)
    found = getattr(Generator("philox", 3), name)(3000, *args)
    assert found.dtype == np.int32
    assert (wanted.cdf(found) > u - 1e-12).all()
    assert (wanted.cdf(found - 1) <= u + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "args", "mean", "deviation"),
    [
        ("binomial", (2**31 - 1, 0.5), 2.0**30, 2.0**14.5),
        ("negativebinomial", (2, 1e-6), 2e6, 2e12**0.5),
        ("hypergeometric", (2**30, 2**29, 2**29), 2.0**28, 2.0**13),
        ("poisson", (1e9,), 1e9, 1e9**0.5),
        ("discreteuniform", (-(2**31), 2**31 - 1), -0.5, 2**32 / 12**0.5),
    ],
)
def test_discrete_numbers_of_wide_distributions(name, args, mean, deviation):
    """Without a table of all results, and by distribution functions that are accurate there."""
    found = Generator("philox", 3).draw(name, 2000, *args).astype(float)
    assert abs(found.mean() - mean) < 4 * deviation / 2000**0.5
    assert 0.9 < found.std() / deviation < 1.1
    assert len(np.unique(found)) > 1900
    normal = stats.norm.cdf((found + 0.5 - mean) / deviation) - Generator("philox", 3).random(2000)
    assert np.abs(normal).max() < (1e-3 if name in ("binomial", "hypergeometric", "poisson") else 1)


def test_discrete_numbers_of_single_precision_are_those_that_there_are():
    found = Generator("philox", 3, dtype=np.float32).discreteuniform(1000, 2**30 + 1, 2**30 + 5)
    assert (np.bincount(found - 2**30) > 150).tolist() == [False, True, True, True, True, True]


def test_normal_numbers_are_accurate_in_the_tails():
    u = np.array([2.0**-55, 1e-300, 1e-10, 0.02, 0.5, 0.98, 1 - 2.0**-53])
    from headwater.acml.random.generator import _program
    from headwater.runtime.interface import resolve

    x = u.copy()
    _program("-D DISTRIBUTIONS -D GAUSSIAN", True, resolve("cpu")).distribute[64, None](x, 0.0, 1.0, 0.0, u.size)
    assert np.abs(x - special.ndtri(u)).max() < 1e-13


@pytest.mark.parametrize(
    ("device", "name", "dtype"),
    [
        ("vega64", "philox", np.float64),
        ("vega64", "mt19937", np.float32),
        ("vega64", "nag", np.float64),
        ("hd5870", "mt19937", np.float64),
        ("hd4870", "mt19937", np.float32),
    ],
)
def test_sequences_are_the_same_on_simulated_chips(device, name, dtype):
    there, here = Generator(name, 5, dtype=dtype, device=device), Generator(name, 5, dtype=dtype)
    for _ in range(2):
        found = there.random(300)
        assert found.device.name != "cpu"
        assert (found.read() == here.random(300)).all()
    if dtype == np.float64:
        assert (there.gaussian((4, 30), 1.0, 2.0).read() == here.gaussian((4, 30), 1.0, 2.0)).all()
        assert (there.poisson(50, 3.0).read() == here.poisson(50, 3.0)).all()


def test_wrong_arguments_of_generators():
    with pytest.raises(UsageError, match="no generator 'xorshift'"):
        Generator("xorshift")
    with pytest.raises(UsageError, match="gaussian: var is -1"):
        Generator().gaussian(3, 0, -1)
    with pytest.raises(UsageError, match="gaussian takes size, xmu, var"):
        Generator().gaussian(3)
    with pytest.raises(UsageError, match="float64 or float32"):
        Generator(dtype=np.int32)
    with pytest.raises(UsageError, match="the streams of 3 are 0 to 2"):
        Generator().leapfrog(3, 3)
    with pytest.raises(UsageError, match="seeds are numbers of at least 0"):
        Generator("philox", -1)
    for make, message in (
        (lambda: Generator("philox", 1.5), "a seed is a whole number, not 1.5"),
        (lambda: Generator("philox", "12"), "a seed is a whole number, not '12'"),
        (lambda: Generator("philox", [1, 2, 3]), "philox has a key of 128 bits"),
        (lambda: Generator("philox", [2**64, 0]), "philox has a key of 128 bits"),
        (lambda: Generator("mt19937", 2**32), "seeds of mt19937 have 32 bits"),
        (lambda: Generator("nag", [1, 2]), "nag takes one seed, not 2"),
        (lambda: Generator("wichmann_hill", [1, 2, 3, 4]), "wichmann_hill takes one seed or 3, not 4"),
        (lambda: Generator().random((2.7,)), "a size is a whole number, not 2.7"),
        (lambda: Generator().random(-1), "a size is at least 0, not -1"),
        (lambda: Generator().skip(0.5), "a count of numbers to skip is a whole number, not 0.5"),
        (lambda: Generator().gaussian(3, "a", 1.0), "gaussian: xmu is 'a'"),
        (lambda: Generator().uniform(3, -1.7e308, 1.7e308), "uniform: b is 1.7e\\+308"),
        (lambda: Generator().binomial(3, 2.5, 0.5), "binomial: m is 2.5"),
        (lambda: Generator().binomial(3, 2**40, 0.5), "do not fit into 32 bits"),
        (lambda: Generator().poisson(3, 1e12), "do not fit into 32 bits"),
        (lambda: Generator().geometric(3, 1e-300), "do not fit into 32 bits"),
        (lambda: Generator().negativebinomial(3, 10, 1e-308), "do not fit into 32 bits"),
        (lambda: Generator().hypergeometric(3, 10**18, 10**17, 10**17), "do not fit into 32 bits"),
        (lambda: Generator().discreteuniform(3, 0, 2**31), "discreteuniform: b is 2147483648"),
        (lambda: Generator(dtype=np.float32).discreteuniform(3, 0, 2**24), "float32 numbers have 24 bits"),
        (lambda: Generator().draw("normal", 3), "no distribution .normal."),
    ):
        with pytest.raises(UsageError, match=message):
            make()
    generator = Generator()
    with pytest.raises(UsageError, match="32 bits"):
        generator.geometric(3, 1e-300)
    assert (generator.random(3) == Generator().random(3)).all()  # where it was
    assert Generator().random(0).shape == (0,)
    assert Generator().poisson((2, 0), 1.0).dtype == np.int32


@pytest.mark.parametrize(
    ("genid", "subid", "name"),
    [
        (1, 1, "nag"),
        (2, 1, "wichmann_hill"),
        (3, 1, "mt19937"),
        (4, 1, "mrg32k3a"),
        (5, 1, "blum_blum_shub"),
        (6, 1, "philox"),
        (7, 1, "ecuyer"),
    ],
)
@pytest.mark.parametrize("kind", "ds")
def test_acmls_names_over_state_arrays(genid, subid, name, kind):
    dtype = np.float64 if kind == "d" else np.float32
    call = {
        what: getattr(acml, f"{kind}rand{what}")
        for what in ("initialize", "uniform", "gaussian", "poisson", "skipahead", "leapfrog")
    }
    lseed, lstate = np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert call["initialize"](genid, subid, np.array([99]), lseed, None, lstate) == 0  # a question about lengths
    state = np.zeros(lstate[0], np.int32)
    assert call["initialize"](genid, subid, np.array([99]), 1, state, len(state)) == 0
    x, counts, ours = np.zeros(100, dtype), np.zeros(10, np.int32), Generator(name, 99, dtype=dtype)
    saved = state.copy()
    assert call["uniform"](100, 0.0, 1.0, state, x) == 0
    assert (x == ours.random(100)).all()
    assert call["gaussian"](50, 1.0, 4.0, state, x) == 0
    assert (x[:50] == ours.gaussian(50, 1.0, 4.0)).all()
    assert call["poisson"](10, 4.0, state, counts) == 0
    assert (counts == ours.poisson(10, 4.0)).all()
    again = saved.copy()
    assert call["skipahead"](160, again) == 0
    assert (again == state).all()
    assert call["leapfrog"](5, 2, saved) == 0
    assert call["uniform"](10, 0.0, 1.0, saved, x) == 0
    assert (x[:10] == Generator(name, 99, dtype=dtype).random(100)[1::5][:10]).all()


def test_info_of_acmls_random_routines():
    state, x = np.zeros(633, np.int32), np.zeros(10)
    assert acml.drandinitialize(8, 1, [1], 1, state, 633) == -1
    assert acml.drandinitialize(2, 3, [1], 1, state, 633) == -2
    assert acml.drandinitialize(3, 1, [-1], 1, state, 633) == -3
    assert acml.drandinitialize(3, 1, [1], 1, state, 632) == -6
    assert acml.dranduniform(5, 0.0, 1.0, state, x) == -4  # no state yet
    assert acml.drandinitialize(3, 1, [1], 1, state, 633) == 0
    assert acml.dranduniform(-1, 0.0, 1.0, state, x) == -1
    assert acml.dranduniform(5, 1.0, 0.0, state, x) == -3
    assert acml.sranduniform(5, 0.0, 1.0, state, x.astype(np.float32)) == -4  # of the other precision
    with pytest.raises(UsageError, match="dranduniform: x has 10 elements, and 11 are needed"):
        acml.dranduniform(11, 0.0, 1.0, state, x)
    assert not x.any()
    assert acml.drandinitialize(6, 1, [1], 1, state, 633) == 0
    for _ in range(2):
        assert acml.drandleapfrog(2**31 - 1, 1, state) == 0
    with pytest.raises(UsageError, match="does not fit into 64 bits"):
        acml.drandleapfrog(2**31 - 1, 1, state)
    with pytest.raises(UsageError, match="drandskipahead: n is a whole number"):
        acml.drandskipahead(2.5, state)
    state.flags.writeable = False
    with pytest.raises(UsageError, match="read-only"):
        acml.dranduniform(5, 0.0, 1.0, state, x)
